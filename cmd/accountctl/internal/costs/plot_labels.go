// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

const (
	maxLabels  = 6  // values of a label that have a line
	maxAnswers = 40 // ε is computed at so many moments
)

// addLabels adds lines for the largest values of a label to the figure of a history. Each is what
// "accountctl spending --by label" would have said at the history's points. The daemon says only how the values stand
// now, so the entries are read here.
func addLabels(ctx context.Context, daemon *client.Client, f *figure.Figure, l *accountantv1.Ledger,
	h *accountantv1.QueryHistoryResponse, label string, since time.Time) error {
	adjacency, err := wire.ToAdjacency("adjacency", l.GetSpec().GetAdjacency())
	if err != nil {
		return err
	}
	points := h.GetPoints()
	terms, err := termsOf(l, adjacency, charts.Fullest(points[len(points)-1].GetShares()))
	if err != nil {
		return err
	}
	gauge, every := budget.NewGauge(terms), 1
	if !terms.Planned && len(terms.Limits) == 0 { // ε is slow
		every = (len(points) + maxAnswers - 1) / maxAnswers
	}
	stop := func() bool { return ctx.Err() != nil }
	groups := history.NewGroups(served{ctx, daemon}, l.GetName(), history.ByLabel, label)
	lines := map[string]*figure.Line{}
	for i, point := range points {
		if i%every != 0 && i != len(points)-1 {
			continue
		}
		if _, err := groups.ReadOn(point.GetPosition(), stop); err != nil {
			return err
		}
		var list []history.Spent
		in := num.NewInterrupt(stop)
		if !in.Try(func() { list, _, _, _ = groups.Largest(math.MaxInt, adjacency, gauge, in) }) {
			return ctx.Err()
		}
		at := point.GetTime().AsTime()
		if at.Before(since) {
			at = since
		}
		for _, s := range list {
			height, err := heightOf(s, h.GetDelta(), stop)
			if err != nil {
				return err
			}
			name := s.Name
			if !s.Unnamed {
				name = label + "=" + s.Name
			}
			if lines[name] == nil {
				lines[name] = &figure.Line{Name: name, Steps: true}
			}
			lines[name].Add(charts.Seconds(at), height)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, end := f.Across()
	height := func(l figure.Line) float64 { return l.Points[len(l.Points)-1].Y }
	var all []figure.Line
	for _, line := range lines {
		line.Add(end, height(*line))
		all = append(all, *line)
	}
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

// termsOf returns the limit of which shares are drawn: the budget that the figure shows, or the plan. It is empty for a
// ledger without either.
func termsOf(l *accountantv1.Ledger, adjacency mechanism.Adjacency, which int) (budget.Terms, error) {
	terms := budget.Terms{Adjacency: adjacency, Planned: len(l.GetPlan()) > 0}
	for _, b := range l.GetPlan() {
		terms.Plan = append(terms.Plan, mechanism.Part{Count: b.GetPlanned()})
	}
	if terms.Planned || which < 0 || which >= len(l.GetBudgets()) {
		return terms, nil
	}
	spec, err := wire.ToSpec(&accountantv1.LedgerSpec{Name: l.GetName(), Adjacency: l.GetSpec().GetAdjacency(),
		Policy: accountantv1.LedgerSpec_FILTER, Budgets: []*accountantv1.Budget{l.GetBudgets()[which].GetBudget()}})
	if err != nil {
		return terms, err
	}
	limit, err := spec.Budgets[0].Resolve(mechanism.Composition{})
	terms.Limits = []accountant.Limit{limit}
	return terms, err
}

// heightOf is how high in the figure a value stands: as a share, rounded up as the guard does; otherwise by ε.
func heightOf(s history.Spent, delta float64, stop func() bool) (float64, error) {
	if len(s.Shares) > 0 {
		return 100 * s.Shares[0], nil
	}
	gap := 1e-3 // a drawing shows no more
	a, err := accountant.Ask(s.Charged, accountant.Question{Delta: &delta, MaxGap: &gap, Stop: stop})
	return a.Epsilon, err
}

// served is the log of ledgers as a daemon serves it.
type served struct {
	ctx    context.Context
	daemon *client.Client
}

// Records implements history.Log.
func (s served) Records(name string, from uint64, limit int) (list []ledger.Record, err error) {
	options := client.EntriesOptions{Start: from, End: from + uint64(limit) - 1,
		PageSize: uint32(min(limit, pages.MaxSize)), Raw: true}
	for e, err := range s.daemon.Entries(s.ctx, name, options) {
		if err != nil {
			return nil, err
		}
		entry, _, err := record.UnmarshalEntry(e.GetRaw())
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", e.GetPosition(), err)
		}
		list = append(list, ledger.Record{Entry: entry})
	}
	return list, nil
}
