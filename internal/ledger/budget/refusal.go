// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/variant"
	"github.com/dpaccountant/accountant/internal/num"
)

// ErrExceeded: a budget or the plan does not allow it; see Error.
var ErrExceeded = errors.New("budget exceeded")

// Error is a refusal by budgets or by the plan: nothing was written and
// nothing is used up. It is an ErrExceeded.
type Error struct {
	Broken []Shortfall      // every budget it breaks
	Fits   []mechanism.Part // how many of each of its mechanisms would still fit, alone

	// Where a mechanism is not in the plan: what the plan holds, the first of it, and of
	// each such mechanism what is nearest there.
	Plan      []PlanLeft
	Planned   int // how many mechanisms the whole plan has
	Unplanned []Unplanned
}

// PlanLeft is a mechanism of a plan: how often it is planned, and how often it may still be used.
type PlanLeft struct {
	Mechanism     mechanism.Mechanism
	Planned, Left uint64
}

// Unplanned is a mechanism that is not in the plan.
type Unplanned struct {
	Mechanism   mechanism.Mechanism
	Nearest     PlanLeft
	Differences []variant.Difference // from the nearest one
}

// describe says what is nearest to u; name tells u from others.
func (u Unplanned) describe(name bool) string {
	texts := make([]string, len(u.Differences))
	for i, d := range u.Differences {
		texts[i] = d.String()
	}
	to := ""
	if name {
		to = " to " + u.Mechanism.String()
	}
	text := fmt.Sprintf("nearest%s is %v, from which yours differs in %s", to, u.Nearest.Mechanism,
		strings.Join(texts, ", "))
	for _, p := range mechanism.Expand(u.Nearest.Mechanism) {
		if p.Mechanism != u.Nearest.Mechanism && p.Mechanism == u.Mechanism {
			return text + fmt.Sprintf(". The plan allows whole runs, and yours is one of a run's steps: report the "+
				"run as a whole, or make a ledger whose plan is of the steps, %d × %v", p.Count, p.Mechanism)
		}
	}
	return text
}

// Shortfall is what is missing of one budget, or of the plan.
type Shortfall struct {
	Index  int     // of the budget in the spec; −1 for the plan
	Budget string  // "budgets[0] (ε = 8 at δ = 1e-05 by RDP)", or "plan"
	Unit   string  // what is counted: "ε", "δ", "ρ", "μ²", "Rényi divergence at α = 12", or a mechanism
	Needed float64 // rounded up
	Left   float64 // rounded down
	Short  float64 // rounded up
	Reason string  // why the guard cannot charge it; then there are no numbers
}

func (s Shortfall) String() string {
	if s.Reason != "" {
		return fmt.Sprintf("%s: %s", s.Budget, s.Reason)
	}
	up, down := num.FormatReadUp, num.FormatReadDown
	digits := 6
	if s.Index < 0 { // counts
		digits = 20
	}
	return fmt.Sprintf("%s: needs %s of %s, %s is left, short by %s", s.Budget, up(s.Needed, digits), s.Unit,
		down(s.Left, digits), up(s.Short, digits))
}

// MaxListed bounds how many mechanisms a message lists.
const MaxListed = 8

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(ErrExceeded.Error())
	if broken := List(e.Broken); broken != "" {
		b.WriteString(": " + broken)
	}
	unplanned := map[mechanism.Mechanism]bool{}
	for _, u := range e.Unplanned {
		b.WriteString("; " + u.describe(len(e.Unplanned) > 1))
		unplanned[u.Mechanism] = true
	}
	fits := slices.DeleteFunc(slices.Clone(e.Fits), func(p mechanism.Part) bool { return unplanned[p.Mechanism] })
	texts := make([]string, 0, len(fits)+len(e.Plan))
	for _, f := range fits {
		texts = append(texts, fmt.Sprintf("%d × %v", f.Count, f.Mechanism))
	}
	for _, p := range e.Plan {
		text := fmt.Sprintf("%d × %v", p.Left, p.Mechanism)
		if !slices.Contains(texts, text) {
			texts = append(texts, fmt.Sprintf("%s (%d are planned)", text, p.Planned))
		}
	}
	more := len(texts) > MaxListed || len(e.Plan) < e.Planned
	texts = texts[:min(len(texts), MaxListed)]
	if len(texts) > 0 {
		b.WriteString("; allowed: " + strings.Join(texts, ", or "))
	}
	if more {
		b.WriteString(", and others")
	}
	return b.String()
}

// List describes shortfalls, the first few of many.
func List(list []Shortfall) string {
	var texts []string
	for i, s := range list {
		if i == MaxListed {
			texts = append(texts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		texts = append(texts, s.String())
	}
	return strings.Join(texts, "; ")
}

// Unwrap is ErrExceeded.
func (e *Error) Unwrap() error { return ErrExceeded }

// refuse makes the refusal of events that do not fit.
func (d *Draft) refuse(events []mechanism.Event) error {
	c, err := mechanism.Compose(d.Adjacency, events)
	if err != nil { // they were checked before
		return fmt.Errorf("%w: %v", ErrExceeded, err)
	}
	e := &Error{Broken: d.shortfalls(c.Parts)}
	for _, p := range c.Parts {
		e.Fits = append(e.Fits, mechanism.Part{Mechanism: p.Mechanism, Count: d.Fits(p.Mechanism)})
		if len(d.Plan) > 0 && d.plan[p.Mechanism] == 0 && len(e.Unplanned) < maxUnplanned {
			e.Unplanned = append(e.Unplanned, d.unplanned(p.Mechanism))
		}
	}
	if len(e.Unplanned) > 0 {
		e.Planned = len(d.Plan)
		for _, p := range d.Plan[:min(len(d.Plan), MaxListed)] {
			e.Plan = append(e.Plan, d.left(p))
		}
	}
	return e
}

// maxUnplanned bounds for how many mechanisms a refusal says what is nearest in the plan.
const maxUnplanned = 3

// maxCompared bounds with how much of a plan a mechanism that is not in it is compared.
const maxCompared = 1000

// unplanned finds what is nearest to m in the plan, which does not have it.
func (d *Draft) unplanned(m mechanism.Mechanism) Unplanned {
	i, differences := variant.Nearest(m, d.Plan[:min(len(d.Plan), maxCompared)])
	return Unplanned{Mechanism: m, Nearest: d.left(d.Plan[i]), Differences: differences}
}

// left is how a mechanism of the plan stands.
func (d *Draft) left(p mechanism.Part) PlanLeft {
	used := d.count(d.line(p.Mechanism))
	return PlanLeft{Mechanism: p.Mechanism, Planned: p.Count, Left: p.Count - min(used, p.Count)}
}

// Shortfalls lists what parts break on top of the account as it is.
func (a *Account) Shortfalls(parts []mechanism.Part) []Shortfall {
	return a.Draft(&Draft{}).shortfalls(parts)
}

func (d *Draft) shortfalls(parts []mechanism.Part) (list []Shortfall) {
	if d.plan != nil {
		if d.excess > 0 {
			list = append(list,
				Shortfall{Index: -1, Budget: "plan",
					Reason: "what a restore has lost was more than it allows; only a raise makes room"})
		}
		for _, p := range parts {
			l := d.line(p.Mechanism)
			left := uint64(0)
			if used := d.count(l); used < l.allowed {
				left = l.allowed - used
			}
			switch {
			case l.allowed == 0:
				list = append(list,
					Shortfall{Index: -1, Budget: "plan", Reason: p.Mechanism.String() + " is not in it"})
			case p.Count > left:
				list = append(list, Shortfall{Index: -1, Budget: "plan", Unit: p.Mechanism.String(),
					Needed: float64(p.Count), Left: float64(left), Short: float64(p.Count - left)})
			}
		}
	}
	for i, limit := range d.Limits {
		budget := fmt.Sprintf("budgets[%d] (%v)", i, d.Budgets[i])
		value, delta := new(big.Int), new(big.Int) // what is needed, in shares
		reason := ""
		for _, p := range parts {
			l := d.line(p.Mechanism)
			value, delta = l.need(i, p.Count, value, delta)
			if l.reasons != nil && reason == "" {
				reason = l.reasons[i]
			}
		}
		if reason != "" {
			list = append(list, Shortfall{Index: i, Budget: budget, Reason: reason})
			continue
		}
		for _, m := range []struct {
			unit  string
			need  *big.Int
			used  tally
			whole float64
		}{
			{unitOf(limit), value, d.used[i].value, limit.Value},
			{"δ", delta, d.used[i].delta, limit.Delta},
		} {
			left := tally{lo: m.used.left()}.big()
			short := new(big.Int)
			if m.used.over() { // by what was lost and is charged all the same
				short.Sub(m.used.big(), new(big.Int).SetUint64(accountant.Whole))
			}
			s := Shortfall{Index: i, Budget: budget, Unit: m.unit, Left: accountant.Part(m.whole, left, false)}
			switch {
			case m.need == nil:
				s.Needed, s.Short = math.Inf(1), math.Inf(1)
			case m.need.Cmp(left) <= 0 && !m.used.over():
				continue
			default:
				s.Needed = accountant.Part(m.whole, m.need, true)
				s.Short = accountant.Part(m.whole, short.Add(short, m.need).Sub(short, left), true)
			}
			list = append(list, s)
		}
	}
	return list
}

// need adds what count applications take of limit i to value and delta; value is nil
// for infinitely much.
func (l *Price) need(i int, count uint64, value, delta *big.Int) (*big.Int, *big.Int) {
	one := large{new(big.Int).SetUint64(l.costs[i].Value), new(big.Int).SetUint64(l.costs[i].Delta)}
	if l.large != nil && l.large[i].delta != nil {
		one = l.large[i]
	}
	n := new(big.Int).SetUint64(count)
	delta = new(big.Int).Add(delta, new(big.Int).Mul(n, one.delta))
	if value == nil || one.value == nil {
		return nil, delta
	}
	return new(big.Int).Add(value, n.Mul(n, one.value)), delta
}

// Fits is how many of a mechanism would still fit.
func (d *Draft) Fits(m mechanism.Mechanism) uint64 {
	l := d.line(m)
	if l.reasons != nil || d.excess > 0 {
		return 0
	}
	n := uint64(math.MaxInt64)
	if d.plan != nil {
		n = 0
		if used := d.count(l); used < l.allowed {
			n = l.allowed - used
		}
	}
	for i, c := range l.costs {
		if d.used[i].value.over() || d.used[i].delta.over() {
			return 0
		}
		n = min(n, d.used[i].value.left()/c.Value)
		if c.Delta > 0 {
			n = min(n, d.used[i].delta.left()/c.Delta)
		}
	}
	return n
}

// unitOf names what a guard adds up.
func unitOf(l accountant.Limit) string {
	switch l.Guard {
	case accountant.GuardBasic:
		return "ε"
	case accountant.GuardGDP:
		return "μ²"
	case accountant.GuardRDP:
		return fmt.Sprintf("Rényi divergence at α = %g", l.Order)
	}
	return "ρ"
}

// Unaffordable says why to refuse events with new mechanisms whose prices take so long to find that the
// ledger could hardly be read any more: before is the work without them, and instead
// says what else to do than to charge mechanisms that the ledger has.
func (d *Draft) Unaffordable(events []mechanism.Event, before int, instead string) string {
	now := d.work
	longest := events[0].Mechanism
	for _, e := range events {
		if d.line(e.Mechanism).Work > d.line(longest).Work {
			longest = e.Mechanism
		}
	}
	return fmt.Sprintf("distinct mechanisms: what each of them costs of the budgets is computed anew whenever the "+
		"ledger is read, which would take %s of a processor's time, %s of it for what is new in this request (%s for "+
		"%v); allowed: %s in one ledger, where %s are taken; charge mechanisms that the ledger has already, %s",
		seconds(now, num.FormatReadUp), seconds(now-before, num.FormatReadUp),
		seconds(d.line(longest).Work, num.FormatReadUp), longest,
		seconds(MaxPriceWork, num.FormatReadUp), seconds(before, num.FormatReadDown), instead)
}

// seconds is work in words.
func seconds(work int, format func(float64, int) string) string {
	return format(float64(work)/1e9, 3) + " s"
}
