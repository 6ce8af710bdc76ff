package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

// maxLabels is how many values of a label have a line of their own, and maxMoments how
// many points a line has.
const (
	maxLabels  = 6
	maxMoments = 400
	maxAnswers = 40 // ε is computed at so many moments
)

const (
	everything = "" // no label's value
	unlabelled = "(without)"
)

// budgetFigure is what was spent of a ledger over time, all of it first and then by
// the label's values.
func budgetFigure(ctx context.Context, p *cli.Program, daemon *client.Client, name, label string,
	delta float64) (*figure.Figure, error) {
	answer, err := daemon.GetLedger(ctx, name)
	if err != nil {
		return nil, err
	}
	l := answer.GetLedger()
	answers.WarnOf(p, l.GetAssumptions())
	if l.GetPosition() == 0 {
		return nil, cli.BadFile(name, errors.New("nothing was charged yet; allowed: a ledger with entries"))
	}
	m, err := newMeter(ctx, l, delta)
	if err != nil {
		return nil, err
	}
	s := &spending{key: label, labels: map[uint64]string{}, open: map[uint64]*holding{},
		spent: map[string]map[mechanism.Mechanism]int64{}}
	moments := maxMoments
	if m.slow {
		moments = maxAnswers
	}
	h := &history{meter: m, start: seconds(l.GetCreateTime().AsTime().UnixNano()), lines: map[string]*figure.Line{}}
	every := (l.GetPosition() + uint64(moments) - 1) / uint64(moments)
	for e, err := range daemon.Entries(ctx, name,
		client.EntriesOptions{PageSize: pages.MaxSize, End: l.GetPosition()}) {
		if err == nil {
			err = s.add(e)
		}
		if err == nil && (e.GetPosition()%every == 0 || e.GetPosition() == l.GetPosition()) {
			err = h.add(seconds(e.GetTime().AsTime().UnixNano()), s)
		}
		if err != nil {
			return nil, err
		}
	}
	return h.figure(l, label, time.Now()), nil
}

// history is what was charged and reserved at some moments.
type history struct {
	meter    meter
	start    float64
	lines    map[string]*figure.Line // by the label's value
	reserved figure.Area
	last     float64
}

// add measures what is spent and held at a moment.
func (h *history) add(at float64, s *spending) error {
	h.last = at
	total := 0.0
	for value, spent := range s.spent {
		y, err := h.meter.measure(spent)
		if err != nil {
			return err
		}
		if value == everything {
			total = y
		}
		if h.lines[value] == nil {
			h.lines[value] = &figure.Line{Name: value, Steps: true}
			h.lines[value].Add(h.start, 0)
		}
		h.lines[value].Add(at, y)
	}
	top := total
	if len(s.open) > 0 {
		var err error
		if top, err = h.meter.measure(s.withHeld()); err != nil {
			return err
		}
	}
	h.reserved.Low = append(h.reserved.Low, figure.Point{X: at, Y: total})
	h.reserved.High = append(h.reserved.High, figure.Point{X: at, Y: max(top, total)})
	return nil
}

// figure draws everything first, and then the largest values of the label. It goes on to now,
// unless the ledger is closed.
func (h *history) figure(l *accountantv1.Ledger, label string, now time.Time) *figure.Figure {
	f := &figure.Figure{Title: "Privacy budget of " + l.GetName(), Subtitle: h.meter.title,
		X: figure.Axis{Name: "time (UTC)", Kind: figure.Times}, Y: figure.Axis{Name: h.meter.unit, Kind: h.meter.kind},
		Limit: h.meter.limit, Empty: "Nothing was charged yet."}
	end := max(h.last, seconds(now.UnixNano()))
	text := "now, "
	if l.GetClosed() {
		end, text = h.last, "closed, "
	}
	f.Now = &figure.Mark{At: end, Text: text + time.Unix(int64(end), 0).UTC().Format("2 Jan 15:04")}
	all := h.lines[everything]
	if all == nil { // only reservations
		all = &figure.Line{Steps: true, Points: []figure.Point{{X: h.start}, {X: h.last}}}
	}
	held := last(h.reserved.High) - last(h.reserved.Low)
	all.Add(end, last(all.Points))
	all.Name = "charged: " + h.meter.show(last(all.Points))
	f.Areas = []figure.Area{{Low: charts.Level(all.Points, 0), High: all.Points, Steps: true}}
	f.Lines = []figure.Line{*all}
	if slices.ContainsFunc(h.reserved.High, func(p figure.Point) bool { return p.Y > 0 }) &&
		!slices.Equal(h.reserved.High, h.reserved.Low) {
		h.reserved.Low = append(h.reserved.Low, figure.Point{X: end, Y: last(h.reserved.Low)})
		h.reserved.High = append(h.reserved.High, figure.Point{X: end, Y: last(h.reserved.High)})
		h.reserved.Name, h.reserved.Steps, h.reserved.Hatched = "reserved: "+h.meter.show(held), true, true
		f.Areas = append(f.Areas, h.reserved)
	}
	delete(h.lines, everything)
	var rest []figure.Line
	for value, line := range h.lines {
		line.Add(end, last(line.Points))
		line.Name = label + "=" + value
		rest = append(rest, *line)
	}
	slices.SortFunc(rest, func(a, b figure.Line) int {
		return cmp.Or(cmp.Compare(last(b.Points), last(a.Points)), cmp.Compare(a.Name, b.Name))
	})
	if len(rest) > maxLabels {
		f.Subtitle += fmt.Sprintf(" Of %d values of %s the largest %d have a line.", len(rest), label, maxLabels)
		rest = rest[:maxLabels]
	}
	f.Lines = append(f.Lines, rest...)
	return f
}

// last is where a line ends.
func last(points []figure.Point) float64 { return points[len(points)-1].Y }

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }

// spending is what entries have charged, by mechanism: of everything, and by the
// values of a label.
type spending struct {
	key    string
	labels map[uint64]string // values by position, for refunds
	open   map[uint64]*holding
	spent  map[string]map[mechanism.Mechanism]int64
}

// holding is what is left of a reservation.
type holding struct {
	value string
	rest  map[mechanism.Mechanism]int64
}

// add takes the next entry.
func (s *spending) add(e *accountantv1.Entry) error {
	d := spelling.ActionOf(e)
	counts := map[mechanism.Mechanism]int64{}
	for _, event := range d.Events {
		m, err := wire.ToMechanism(event.GetMechanism())
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.GetPosition(), err)
		}
		counts[m] += int64(event.GetCount())
	}
	value := d.Labels[s.key]
	switch d.Name {
	case "reserve":
		s.open[e.GetPosition()] = &holding{value, counts}
		return nil
	case "release", "free":
		delete(s.open, d.Of)
		return nil
	case "close", "restored": // what is reserved is charged
		for position, held := range s.open {
			s.count(held.value, held.rest)
			delete(s.open, position)
		}
		return nil
	case "commit", "expire":
		held := s.open[d.Of]
		if held == nil {
			return fmt.Errorf("entry %d: of reservation %d, which is not open", e.GetPosition(), d.Of)
		}
		if value == "" {
			value = held.value
		}
		if d.Name == "expire" {
			counts = held.rest
			delete(s.open, d.Of)
		} else {
			for m, n := range counts {
				held.rest[m] -= n
			}
		}
	case "refund":
		value = s.labels[d.Of]
		for m := range counts {
			counts[m] = -counts[m]
		}
	}
	if s.key != "" {
		s.labels[e.GetPosition()] = value
	}
	s.count(value, counts)
	return nil
}

// withHeld is everything that was spent, and what reservations hold.
func (s *spending) withHeld() map[mechanism.Mechanism]int64 {
	sum := maps.Clone(s.spent[everything])
	if sum == nil {
		sum = map[mechanism.Mechanism]int64{}
	}
	for _, held := range s.open {
		for m, n := range held.rest {
			sum[m] += n
		}
	}
	return sum
}

// count adds to everything, and to what has the value of the label.
func (s *spending) count(value string, counts map[mechanism.Mechanism]int64) {
	lines := []string{everything}
	if s.key != "" {
		lines = append(lines, cmp.Or(value, unlabelled))
	}
	for _, line := range lines {
		if s.spent[line] == nil && len(counts) > 0 {
			s.spent[line] = map[mechanism.Mechanism]int64{}
		}
		for m, n := range counts {
			s.spent[line][m] += n
		}
	}
}

// meter says how much something spent is.
type meter struct {
	title, unit string
	kind        figure.AxisKind
	limit       *figure.Mark
	slow        bool
	measure     func(map[mechanism.Mechanism]int64) (float64, error)
}

// newMeter measures as the ledger's budgets do: in shares of the first one, rounded
// up as the guard does; in applications of the plan; without either by ε at delta.
func newMeter(ctx context.Context, l *accountantv1.Ledger, delta float64) (meter, error) {
	adjacency, err := wire.ToAdjacency("adjacency", l.GetSpec().GetAdjacency())
	if err != nil {
		return meter{}, err
	}
	if len(l.GetBudgets()) > 0 {
		return budgetMeter(l, adjacency)
	}
	planned := 0.0
	for _, b := range l.GetPlan() {
		planned += float64(b.GetPlanned())
	}
	if planned > 0 {
		return meter{"What was charged of the plan.", "share of the planned applications", figure.Percents,
			&figure.Mark{At: 100, Text: "the plan"}, false, func(spent map[mechanism.Mechanism]int64) (float64, error) {
				n := int64(0)
				for _, count := range spent {
					n += count
				}
				return 100 * float64(n) / planned, nil
			}}, nil
	}
	return meter{fmt.Sprintf("What was charged. This %s.", spelling.Guarantees["descriptive"]),
		fmt.Sprintf("privacy loss ε at δ = %s", spelling.Exact(delta)), figure.Numbers, nil, true,
		func(spent map[mechanism.Mechanism]int64) (float64, error) {
			c := mechanism.Composition{Adjacency: adjacency}
			for m, n := range spent {
				if n > 0 {
					c.Parts = append(c.Parts, mechanism.Part{Mechanism: m, Count: uint64(n)})
				}
			}
			if len(c.Parts) == 0 {
				return 0, nil
			}
			// Of a map: in an order that does not change the last digits from run to run.
			slices.SortFunc(c.Parts, func(a, b mechanism.Part) int {
				return map[bool]int{true: -1, false: 1}[a.Mechanism.String() < b.Mechanism.String()]
			})
			gap := 1e-3 // a drawing shows no more
			a, err := accountant.Ask(c,
				accountant.Question{Delta: &delta, MaxGap: &gap, Stop: func() bool { return ctx.Err() != nil }})
			if err == nil {
				err = ctx.Err()
			}
			if math.IsInf(a.Epsilon, 1) {
				return 0, fmt.Errorf("ε at δ = %g is infinite; allowed: a larger --delta", delta)
			}
			return a.Epsilon, err
		}}, nil
}

// show rounds a measure up.
func (m meter) show(y float64) string {
	if m.kind == figure.Percents {
		return num.FormatReadUp(math.Round(1e9*y)/1e9, 3) + " %"
	}
	return "ε ≤ " + num.FormatUp(y, 3)
}

// limitText is a budget in words.
func limitText(b *accountantv1.Budget) string {
	var parts []string
	for _, x := range []struct {
		name  string
		value *float64
	}{{"ε", b.Epsilon}, {"ρ", b.Rho}, {"μ", b.Mu}, {"δ", b.Delta}} {
		if x.value != nil {
			parts = append(parts, x.name+" = "+spelling.Exact(*x.value))
		}
	}
	return strings.Join(parts, " at ")
}

func budgetMeter(l *accountantv1.Ledger, adjacency mechanism.Adjacency) (meter, error) {
	budget := l.GetBudgets()[0].GetBudget()
	spec, err := wire.ToSpec(&accountantv1.LedgerSpec{Name: l.GetName(), Adjacency: l.GetSpec().GetAdjacency(),
		Policy: accountantv1.LedgerSpec_FILTER, Budgets: []*accountantv1.Budget{budget}})
	if err != nil {
		return meter{}, err
	}
	limit, err := spec.Budgets[0].Resolve(mechanism.Composition{})
	if err != nil {
		return meter{}, err
	}
	costs := map[mechanism.Mechanism]float64{}
	title := fmt.Sprintf("What the guard %s has counted. The whole budget is guaranteed.",
		spelling.Guard(budget.GetGuard()))
	return meter{title, "share of the budget", figure.Percents,
		&figure.Mark{At: 100, Text: "the limit: " + limitText(budget)}, false,
		func(spent map[mechanism.Mechanism]int64) (float64, error) {
			shares := 0.0
			for m, n := range spent {
				cost, known := costs[m]
				if !known {
					of, reason := limit.Cost(m, adjacency)
					if reason != "" {
						return 0, errors.New(reason)
					}
					cost = float64(of.Value) / float64(accountant.Whole)
					costs[m] = cost
				}
				shares += float64(n) * cost
			}
			return 100 * shares, nil
		}}, nil
}
