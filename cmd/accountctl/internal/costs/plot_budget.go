package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/answers"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/figure"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
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
	start := seconds(l.GetCreateTime().AsTime().UnixNano())
	lines := map[string]*figure.Line{}
	every := (l.GetPosition() + uint64(moments) - 1) / uint64(moments)
	for e, err := range daemon.Entries(ctx, name,
		client.EntriesOptions{PageSize: pages.MaxSize, End: l.GetPosition()}) {
		if err == nil {
			err = s.add(e)
		}
		if err != nil {
			return nil, err
		}
		if e.GetPosition()%every != 0 && e.GetPosition() != l.GetPosition() {
			continue
		}
		at := seconds(e.GetTime().AsTime().UnixNano())
		for value, spent := range s.spent {
			y, err := m.measure(spent)
			if err != nil {
				return nil, err
			}
			if lines[value] == nil {
				lines[value] = &figure.Line{Name: value, Steps: true}
				lines[value].Add(start, 0)
			}
			lines[value].Add(at, y)
		}
	}
	f := &figure.Figure{Title: m.title + " of " + l.GetName(), X: figure.Axis{Name: "time (UTC)", Kind: figure.Times},
		Y: figure.Axis{Name: m.unit, Kind: m.kind}}
	var rest []figure.Line
	for value, l := range lines {
		if value == everything {
			l.Name = "all"
			f.Lines = append(f.Lines, *l)
		} else {
			rest = append(rest, *l)
		}
	}
	last := func(l figure.Line) float64 { return l.Points[len(l.Points)-1].Y }
	slices.SortFunc(rest, func(a, b figure.Line) int {
		if last(a) != last(b) {
			return map[bool]int{true: -1, false: 1}[last(a) > last(b)]
		}
		return map[bool]int{true: -1, false: 1}[a.Name < b.Name]
	})
	if len(rest) > maxLabels {
		f.Title += fmt.Sprintf(" (the largest %d of %d values)", maxLabels, len(rest))
		rest = rest[:maxLabels]
	}
	for i := range rest {
		rest[i].Name = label + "=" + rest[i].Name
	}
	f.Lines = append(f.Lines, rest...)
	return f, nil
}

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
		return meter{"Spent of the plan", "of its applications", figure.Percents, false,
			func(spent map[mechanism.Mechanism]int64) (float64, error) {
				n := int64(0)
				for _, count := range spent {
					n += count
				}
				return 100 * float64(n) / planned, nil
			}}, nil
	}
	return meter{fmt.Sprintf("ε at δ = %g of what was charged", delta), "ε", figure.Numbers, true,
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
	return meter{"Spent", "of " + spelling.Budget(budget), figure.Percents, false,
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
