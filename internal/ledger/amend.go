package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// MaxAmendments bounds the refunds, raises and freed reservations of one ledger, which
// every answer lists; a restore, and what first reconciles it, count but are always taken.
const MaxAmendments = 1000

// Refund gives back all that one entry charged: it asserts that nothing computed for
// it was, or will be, released. Later answers list it and are descriptive.
type Refund struct {
	Position uint64            // of a charge, a commit or an expiry that was not refunded
	Events   []mechanism.Event // what that entry charged; not part of what is asked
	Reason   string
}

// Raise makes budgets, or the plan, larger; they are enforced from then on. Once
// something was charged or set aside, the decision to raise may depend on outputs,
// which no guard allows: later answers list it, and are descriptive unless
// Independent is asserted.
type Raise struct {
	Budgets     []accountant.Budget // all of them, none smaller; of Planned maybe none: those there are
	Plan        Workload            // of Planned: the whole new plan, no count smaller
	Independent bool                // asserts that the decision did not depend on outputs
	Reason      string

	Resolution Resolution // what they come to (see State.Raising); not part of what is asked
	Late       bool       // something had been charged or set aside; set by the decision
}

func (Refund) action() {}
func (Raise) action()  {}

// Assumption is something that people have asserted, on which answers rest.
type Assumption struct {
	Position    uint64 // of the entry that recorded it
	Kind        string // "refund", "freed", "raise", "restored", "reconciled" or "loss"
	Text        string // what is assumed, with the reason that was given
	Descriptive bool   // whether it makes the guarantee descriptive
}

// amendments are what the entries that amend a ledger have made of it. A value never
// changes: with returns the next.
type amendments struct {
	budgets     []accountant.Budget // in force
	resolution  Resolution          // in force
	refunded    []uint64            // positions, as they came
	assumptions []Assumption
	raises      int
	freed       int // reservations

	restored     []origin // by position
	reconciled   int
	unreconciled bool
}

func (a amendments) number() int {
	return len(a.refunded) + a.raises + a.freed + len(a.restored) + a.reconciled
}

// assuming adds an assumption.
func (a amendments) assuming(added Assumption) amendments {
	a.assumptions = append(slices.Clip(a.assumptions), added)
	return a
}

// with adds an entry that amends the ledger; others change nothing.
func (a amendments) with(position uint64, v Action) amendments {
	switch v := v.(type) {
	case Refund:
		a.refunded = append(slices.Clip(a.refunded), v.Position)
		a.assumptions = append(slices.Clip(a.assumptions), Assumption{position, "refund", fmt.Sprintf(
			"entry %d, of %s, is not counted: nothing computed for it was, or will be, released (reason given: %s)",
			v.Position, listed(v.Events), v.Reason), true})
	case Raise:
		a.raises++
		if len(v.Budgets) > 0 {
			a.budgets = v.Budgets
		}
		a.resolution = v.Resolution
		if v.Late {
			what, how := "the plan was", "which may have depended on outputs"
			if len(v.Plan.Events) == 0 {
				what = "budgets were"
			}
			if v.Independent {
				how = "which did not depend on outputs"
			}
			a.assumptions = append(slices.Clip(a.assumptions), Assumption{position, "raise", fmt.Sprintf(
				"%s made larger by entry %d, after something was charged or set aside, by a decision %s (reason given: %s)",
				what, position, how, v.Reason), !v.Independent})
		}
	case Free:
		return a.withFreed(position, v)
	case Restored:
		return a.withRestored(position, v)
	case Reconcile:
		return a.withReconciled(position, v)
	}
	return a
}

// listed describes events, the first few of many.
func listed(events []mechanism.Event) string {
	text := ""
	for i, e := range events {
		if i == maxListed {
			return text + fmt.Sprintf(" and %d more", len(events)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d × %v", e.Count, e.Mechanism)
	}
	return text
}

// refund gives back what an entry charged.
func (b *Batch) refund(v Refund, position uint64, checkOnly bool) error {
	spec := b.state.summary.Genesis.Spec
	switch {
	case spec.Parent != "":
		return refuse(ErrRefund, "ledger: %s has a parent, which its charges are settled with; allowed: a ledger without", spec.Name)
	case v.Position == 0 || v.Position >= position || len(v.Events) == 0:
		return refuse(ErrRefund, "position: %d; allowed: that of an earlier charge, commit or expiry", v.Position)
	case slices.Contains(b.amended.refunded, v.Position):
		return refuse(ErrRefund, "position: %d was refunded; allowed: an entry that was not", v.Position)
	}
	if err := b.amendable(); err != nil {
		return err
	}
	parts := merged(v.Events)
	for _, p := range parts {
		if n := b.counted(p.Mechanism); n < p.Count {
			return refuse(ErrRefund, "position: %d: %d × %v; allowed: at most %d, what is charged", v.Position, p.Count, p.Mechanism, n)
		}
	}
	if checkOnly {
		return nil
	}
	for _, p := range parts {
		b.uncount(p.Mechanism, p.Count)
		if b.draft != nil {
			b.draft.give(b.draft.line(p.Mechanism), p.Count)
		}
	}
	b.amended = b.amended.with(position, v)
	return nil
}

func (b *Batch) amendable() error {
	if n := b.amended.number(); n >= MaxAmendments {
		return refuse(ErrOutOfRange, "refunds, raises and freed reservations: %d; allowed: at most %d in one ledger", n+1, MaxAmendments)
	}
	return nil
}

// raise makes budgets larger and returns the action as it is recorded.
func (b *Batch) raise(v Raise, position uint64, checkOnly bool) (Raise, error) {
	if err := b.amendable(); err != nil {
		return v, err
	}
	if _, err := b.state.raised(b.amended, v); err != nil {
		return v, err
	}
	if err := grown(b.amended.resolution, v.Resolution); err != nil {
		return v, err
	}
	v.Late = b.total > 0 || b.held.total > 0 || len(b.amended.refunded)+len(b.amended.restored)+b.amended.freed > 0
	if checkOnly {
		return v, nil
	}
	b.amended = b.amended.with(position, v)
	// All costs are shares of limits: they are found anew.
	b.draft = newAccount(b.state.summary.Genesis.Spec, b.amended, b.parts(), b.held.parted(), b.found).draft()
	return v, nil
}

// raised is the spec with what a raise asks for instead, or why it is no raise of
// what is in force.
func (s *State) raised(now amendments, v Raise) (Spec, error) {
	spec := s.summary.Genesis.Spec
	switch {
	case spec.Policy == Descriptive:
		return spec, refuse(ErrRaise, "ledger: %s has no budget; allowed: a ledger with the policy PLAN or FILTER", spec.Name)
	case spec.Parent != "":
		return spec, refuse(ErrRaise, "ledger: %s has a parent, which has set aside what it may spend; allowed: a ledger without, or a new child of the parent", spec.Name)
	case spec.Policy == Planned && len(v.Plan.Events) == 0:
		return spec, refuse(ErrRaise, "plan: missing; allowed: the whole new plan with the policy PLAN")
	case spec.Policy == Filtered && !v.Plan.IsZero():
		return spec, refuse(ErrRaise, "plan: given; allowed: budgets only with the policy FILTER")
	case len(v.Budgets) != len(now.budgets) && !(spec.Policy == Planned && len(v.Budgets) == 0):
		return spec, refuse(ErrRaise, "budgets: %d; allowed: %d, all of them in their order", len(v.Budgets), len(now.budgets))
	}
	spec.Budgets = now.budgets
	if len(v.Budgets) > 0 {
		spec.Budgets = slices.Clone(v.Budgets)
		for i, b := range v.Budgets {
			was := now.budgets[i]
			if i < len(now.resolution.Limits) { // orders stay as they were chosen
				was.Order = now.resolution.Limits[i].Order
				b.Order = cmp.Or(b.Order, was.Order)
			}
			if err := b.Grown(was); err != nil {
				return spec, refuse(ErrRaise, "%v", mechanism.AtIndex(err, "budgets", i))
			}
			spec.Budgets[i] = b
		}
	}
	if spec.Policy == Planned {
		spec.Plan = v.Plan
	}
	return spec, nil
}

// Raising is what a State knows of a raise: what is needed to resolve it.
type Raising struct {
	spec       Spec
	now        Resolution
	mechanisms []mechanism.Mechanism // charged or reserved
	err        error
}

// Raising takes from s what v is to be resolved with.
func (s *State) Raising(v Raise) Raising {
	spec, err := s.raised(s.amended, v)
	r := Raising{spec: spec, now: s.amended.resolution, err: err}
	for _, parts := range [][]mechanism.Part{s.parts, s.Reserved()} {
		for _, p := range parts {
			r.mechanisms = append(r.mechanisms, p.Mechanism)
		}
	}
	return r
}

// Prices are to be found before the raise is decided: all costs are shares of limits.
func (r Raising) Prices(to Resolution) *Prices {
	if len(to.Limits) == 0 {
		return nil
	}
	return &Prices{from: newPrices(to.Limits, r.spec.Adjacency), missing: r.mechanisms}
}

// Resolve finds what the raise comes to. Like ledger.Resolve it can take long; the
// State may have moved on when the raise is decided. Limits never become smaller:
// what keeps within the old one of a budget keeps within every larger budget.
func (r Raising) Resolve(stop func() bool) (Resolution, error) {
	if r.err != nil {
		return Resolution{}, r.err
	}
	out, err := Resolve(r.spec, stop)
	if err != nil {
		return Resolution{}, err
	}
	for i, l := range r.now.Limits {
		out.Limits[i].Value = max(out.Limits[i].Value, l.Value)
		out.Limits[i].Delta = max(out.Limits[i].Delta, l.Delta)
	}
	return out, nil
}

// grown checks that a resolution covers the one before, and is another.
func grown(old, now Resolution) error {
	if len(now.Limits) != len(old.Limits) || len(now.Plan) < len(old.Plan) {
		return refuse(ErrRaise, "plan: %d mechanisms; allowed: at least the %d before", len(now.Plan), len(old.Plan))
	}
	for i, l := range now.Limits {
		if was := old.Limits[i]; l.Guard != was.Guard || l.Order != was.Order || l.Value < was.Value || l.Delta < was.Delta {
			return refuse(ErrRaise, "budgets[%d]: %+v; allowed: at least %+v, as before", i, l, was)
		}
	}
	counts := make(map[mechanism.Mechanism]uint64, len(now.Plan))
	for _, p := range now.Plan {
		counts[p.Mechanism] = p.Count
	}
	for _, p := range old.Plan {
		if n := counts[p.Mechanism]; n < p.Count {
			return refuse(ErrRaise, "plan: %d × %v; allowed: at least %d, as before", n, p.Mechanism, p.Count)
		}
	}
	if now.Equal(old) {
		return refuse(ErrRaise, "budgets: as before; allowed: a larger one, or a larger plan")
	}
	return nil
}
