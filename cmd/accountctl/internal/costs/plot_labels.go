// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

const (
	maxLabels  = 6  // values of a label that have a line
	maxAnswers = 40 // ε is computed at so many moments
	unlabelled = "(without)"
)

// addLabels adds lines for the largest values of a label to the figure of a history. The daemon has no history of each
// value, so they are added up here from the entries, at the positions of the history's points, and no number is
// written beside them: "accountctl spending --by label" says what each value has spent.
func addLabels(ctx context.Context, daemon *client.Client, f *figure.Figure, l *accountantv1.Ledger,
	h *accountantv1.QueryHistoryResponse, label string, since time.Time) error {
	measure, slow, err := newMeasure(ctx, l, h)
	if err != nil {
		return err
	}
	points := h.GetPoints()
	last := points[len(points)-1]
	every := 1
	if slow {
		every = (len(points) + maxAnswers - 1) / maxAnswers
	}
	_, end := f.Across()
	lines, s := map[string]*figure.Line{}, newSpending(label)
	take := func(i int) error {
		if i%every != 0 && i != len(points)-1 {
			return nil
		}
		at := points[i].GetTime().AsTime()
		if at.Before(since) {
			at = since
		}
		for value, spent := range s.spent {
			y, err := measure(spent)
			if err != nil {
				return err
			}
			if lines[value] == nil {
				lines[value] = &figure.Line{Name: label + "=" + value, Steps: true}
			}
			lines[value].Add(charts.Seconds(at), y)
		}
		return nil
	}
	next := 0
	if points[0].GetPosition() == 0 {
		next = 1
	}
	for e, err := range daemon.Entries(ctx, l.GetName(), client.EntriesOptions{PageSize: pages.MaxSize,
		End: last.GetPosition()}) {
		if err == nil {
			err = s.add(e)
		}
		if err == nil && next < len(points) && points[next].GetPosition() == e.GetPosition() {
			err = take(next)
			next++
		}
		if err != nil {
			return err
		}
	}
	var all []figure.Line
	for _, line := range lines {
		line.Add(end, line.Points[len(line.Points)-1].Y)
		all = append(all, *line)
	}
	height := func(l figure.Line) float64 { return l.Points[len(l.Points)-1].Y }
	slices.SortFunc(all, func(a, b figure.Line) int {
		return cmp.Or(cmp.Compare(height(b), height(a)), cmp.Compare(a.Name, b.Name))
	})
	if len(all) > maxLabels {
		f.Subtitle += fmt.Sprintf(" Of %d values of %s the largest %d have a line.", len(all), label, maxLabels)
		all = all[:maxLabels]
	}
	f.Lines = append(f.Lines, all...)
	return nil
}

// measuring says how high in a figure something spent is.
type measuring func(map[mechanism.Mechanism]int64) (float64, error)

// newMeasure measures as the figure of a history does: in shares of the budget of which most is used, each application
// rounded up as the guard does; in applications of the plan; without either by ε, which is slow.
func newMeasure(ctx context.Context, l *accountantv1.Ledger,
	h *accountantv1.QueryHistoryResponse) (m measuring, slow bool, err error) {
	adjacency, err := wire.ToAdjacency("adjacency", l.GetSpec().GetAdjacency())
	if err != nil {
		return nil, false, err
	}
	points := h.GetPoints()
	if which := charts.Fullest(points[len(points)-1].GetShares()); which >= 0 && which < len(l.GetBudgets()) {
		m, err = inShares(l, l.GetBudgets()[which].GetBudget(), adjacency)
		return m, false, err
	}
	planned := 0.0
	for _, b := range l.GetPlan() {
		planned += float64(b.GetPlanned())
	}
	if planned > 0 {
		return func(spent map[mechanism.Mechanism]int64) (float64, error) {
			n := int64(0)
			for _, count := range spent {
				n += count
			}
			return 100 * float64(n) / planned, nil
		}, false, nil
	}
	return inEpsilon(ctx, adjacency, h.GetDelta()), true, nil
}

func inEpsilon(ctx context.Context, adjacency mechanism.Adjacency, delta float64) measuring {
	return func(spent map[mechanism.Mechanism]int64) (float64, error) {
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
			return cmp.Compare(a.Mechanism.String(), b.Mechanism.String())
		})
		gap := 1e-3 // a drawing shows no more
		a, err := accountant.Ask(c,
			accountant.Question{Delta: &delta, MaxGap: &gap, Stop: func() bool { return ctx.Err() != nil }})
		if err == nil {
			err = ctx.Err()
		}
		return a.Epsilon, err
	}
}

func inShares(l *accountantv1.Ledger, budget *accountantv1.Budget, adjacency mechanism.Adjacency) (measuring, error) {
	spec, err := wire.ToSpec(&accountantv1.LedgerSpec{Name: l.GetName(), Adjacency: l.GetSpec().GetAdjacency(),
		Policy: accountantv1.LedgerSpec_FILTER, Budgets: []*accountantv1.Budget{budget}})
	if err != nil {
		return nil, err
	}
	limit, err := spec.Budgets[0].Resolve(mechanism.Composition{})
	if err != nil {
		return nil, err
	}
	costs := map[mechanism.Mechanism]float64{}
	return func(spent map[mechanism.Mechanism]int64) (float64, error) {
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
	}, nil
}

// spending is what entries have charged, by the values of a label and by mechanism.
type spending struct {
	key    string
	labels map[uint64]string // values by position, for refunds
	open   map[uint64]*holding
	spent  map[string]map[mechanism.Mechanism]int64
}

func newSpending(key string) *spending {
	return &spending{key: key, labels: map[uint64]string{}, open: map[uint64]*holding{},
		spent: map[string]map[mechanism.Mechanism]int64{}}
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
	s.labels[e.GetPosition()] = value
	s.count(value, counts)
	return nil
}

// count adds to what has the value of the label.
func (s *spending) count(value string, counts map[mechanism.Mechanism]int64) {
	value = cmp.Or(value, unlabelled)
	if s.spent[value] == nil && len(counts) > 0 {
		s.spent[value] = map[mechanism.Mechanism]int64{}
	}
	for m, n := range counts {
		s.spent[value][m] += n
	}
}
