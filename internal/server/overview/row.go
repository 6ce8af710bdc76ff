// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/pages"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// row returns the row of a ledger or of a dataset's record, of which left are to come. Its ε may be still to be
// found. What cannot be read in its part of the time, and what is damaged, is said in the row. The error ends the page.
func (h *Handlers) row(ctx context.Context, s ledger.Summary, page pages.Overview, left int) (*row, error) {
	r := &row{key: rowKey{name: s.Genesis.Spec.Name}}
	if page.Delta != nil {
		r.key.delta = *page.Delta
	}
	kept, ok := h.rows.Get(r.key)
	if ok && kept.head == s.Head && (kept.row.Epsilon != nil || !page.Has(kept.row)) {
		return kept, nil
	}
	r.row = fromSummary(s)
	part, cancel := within(ctx, left)
	defer cancel()
	if err := h.complete(part, r, page.Delta); err != nil && ctx.Err() == nil {
		return r, r.fail(err)
	}
	return r, ctx.Err()
}

// fail says in the row why it has no numbers, or returns an error that ends the page.
func (r *row) fail(err error) error {
	switch {
	case errors.Is(err, ledger.ErrDamaged), errors.Is(err, ledger.ErrAway):
		r.row.Problem = err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, accountant.ErrStopped):
		r.row.Problem = "its numbers were not found in time: ask again, or give the call more time"
	default:
		return err
	}
	return nil
}

// keep keeps a ledger's row, with or without ε, for as long as its head stays. The row must not change any more.
func (h *Handlers) keep(r *row) {
	if r.row.GetProblem() == "" && !ledger.IsDataset(r.key.name) {
		h.rows.Add(r.key, &row{key: r.key, head: r.head, row: r.row})
	}
}

// numbers finds the ε that a page still lacks, all in one turn. Those that are not found in time are said to be so.
func (h *Handlers) numbers(ctx context.Context, page []*row) error {
	var open []*row
	for _, r := range page {
		if r.subject != nil {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := h.InTime.Admit(ctx); err != nil {
		return err
	}
	var soFar atomic.Pointer[[]found]
	list, err := turns.Beside(ctx, h.InTime, soFar.Load, func(t *turns.Turn) ([]found, error) {
		var list []found
		for i, r := range open {
			q := accountant.AtDelta(r.row.GetDelta())
			q.Stop = t.Share(max(2, min(len(open)-i, 4)))
			list = append(list, h.find(*r.subject, q))
			now := list // which is never changed below its length
			soFar.Store(&now)
		}
		return list, nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, r := range open {
		f := found{err: err}
		switch {
		case i < len(list):
			f = list[i]
		case err == nil:
			f.err = accountant.ErrStopped
		}
		if f.err != nil {
			if err := r.fail(f.err); err != nil {
				return err
			}
			continue
		}
		r.row.EpsilonSpent, r.row.Epsilon = &f.spent.Epsilon, &f.stated.Epsilon
		r.row.Guarantee = r.subject.Standing.Guarantee
		r.row.GuaranteeText = questions.GuaranteeText(r.row.GetGuarantee())
		if !f.spent.Stopped && !f.stated.Stopped { // with more time they would be tighter
			h.keep(r)
		}
	}
	return nil
}

// found is what was found about a row.
type found struct {
	spent, stated accountant.Answer
	err           error
}

// find answers about what was charged, and under the guarantee.
func (h *Handlers) find(sub subject.Subject, q accountant.Question) (f found) {
	spec := sub.View.Genesis.Spec
	if sub.Apart {
		f.spent, f.err = accountant.Ask(sub.Charged, q)
	} else {
		f.spent, f.err = h.Spent.Now(spec.Name, sub.Charged, sub.View.Head, q)
	}
	switch {
	case f.err != nil:
	case sub.Prefix():
		f.stated = f.spent
	case sub.Standing.Guarantee == ledger.GuaranteePlan && !sub.Apart:
		// Of a plan, the number of raises stands for the position.
		head := ledger.Head{Position: uint64(sub.View.Raises)}
		f.stated, f.err = h.Plans.Now(spec.Name, sub.Stated, head, q)
	default:
		f.stated, f.err = sub.Ask(q)
	}
	return f
}

// within gives one of several rows that are to come its part of the time.
func within(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(max(2, min(left, 4))))
}

func fromSummary(s ledger.Summary) *pb.OverviewRow {
	spec := s.Genesis.Spec
	out := &pb.OverviewRow{Name: spec.Name, DatasetId: spec.DatasetID, State: pages.StateOf(s),
		Position: s.Head.Position, CreateTime: timestamppb.New(s.Genesis.Time)}
	if spec.Owner != "" {
		out.Owners = []string{spec.Owner}
	}
	if spec.Dataset != nil {
		out.Owners = spec.Dataset.Owners
	}
	return out
}

// complete adds what the ledger's summary does not tell, but for ε.
func (h *Handlers) complete(ctx context.Context, r *row, delta *float64) error {
	out := r.row
	v, err := h.Ledgers.View(ctx, r.key.name)
	if err != nil {
		return err
	}
	r.head = v.Head
	out.State, out.Position = pages.StateOf(v.Summary), v.Head.Position
	out.Flags, out.Warnings = flags(v), questions.NotCounted(v.Assumptions)
	if share, held, of, ok := LargestShare(v); ok {
		out.Share, out.ReservedShare, out.ShareOf = &share, &held, of
	}
	if v.Head.Position > 0 {
		newest, err := h.Store.Records(r.key.name, v.Head.Position, 1)
		if err != nil {
			return err
		}
		if len(newest) > 0 {
			out.LastTime = timestamppb.New(newest[0].Entry.Time)
		}
	}
	of := subject.Of
	if v.Dataset != nil {
		if v.Dataset.BudgetOf != "" {
			out.Problem = "it shares the budget of " + v.Dataset.BudgetOf + ", in whose row the numbers are"
			if !h.Passage(ctx).States(v.Genesis.Spec) {
				out.Problem = "it shares the budget of a dataset that you may not see"
			}
			return nil
		}
		of = func(v ledger.View) (subject.Subject, error) { return h.Dataset(ctx, v) }
	}
	sub, err := of(v)
	if err != nil {
		return err
	}
	r.subject = &sub
	out.Delta = deltaOf(v, delta)
	return nil
}

// deltaOf is the δ that was asked for, or a ledger's own.
func deltaOf(v ledger.View, asked *float64) float64 {
	if asked != nil {
		return *asked
	}
	return questions.OwnDelta(subject.Budgets(v))
}

// flags are what happened to a ledger, in the order of pages.Flags.
func flags(v ledger.View) (list []string) {
	assumed := func(kind string) bool {
		return slices.ContainsFunc(v.Assumptions, func(a ledger.Assumption) bool { return a.Kind == kind })
	}
	has := map[string]bool{
		"refunded": assumed("refund"), "freed": assumed("freed"),
		"raised":   !v.Resolution.Equal(v.Genesis.Resolution),
		"restored": assumed("restored"), "unreconciled": v.Unreconciled, "loss accepted": assumed("loss"),
		"adopted": assumed("adopted") || v.Dataset == nil && v.Parent != v.Genesis.Spec.Parent,
		"reserved": slices.ContainsFunc(v.Reservations, func(r ledger.Reservation) bool {
			return r.Child == ""
		}),
		"proposed": len(v.Proposals) > 0,
	}
	for _, f := range pages.Flags {
		if has[f] {
			list = append(list, f)
		}
	}
	return list
}

// LargestShare is how much is used of the budget of which most is, and what of that is reserved.
func LargestShare(v ledger.View) (used, held float64, of string, ok bool) {
	shares, reserved := sharesOf(v)
	for i, share := range shares {
		if !ok || share > used {
			used, held, of, ok = share, reserved[i], budgetText(v, i), true
		}
	}
	return used, held, of, ok
}

// sharesOf are the used shares of the budgets, or of the plan, with what of them is reserved.
func sharesOf(v ledger.View) (used, held []float64) {
	for _, b := range v.Balance.Budgets {
		used = append(used, max(b.Value.Used, b.Delta.Used))
		held = append(held, max(b.Value.Held, b.Delta.Held))
	}
	if v.Genesis.Spec.Policy != ledger.Planned {
		return used, held
	}
	var spent, reserved, planned uint64 // below 2^63 each
	for _, p := range v.Balance.Plan {
		reserved += p.Reserved
		planned += p.Planned
	}
	for _, p := range v.Charged.Parts { // also what was lost, and is not planned
		spent += p.Count
	}
	for _, r := range v.Reservations {
		if r.Child != "" { // counted as charged
			spent -= r.Total()
		}
	}
	return []float64{budget.OfPlan(spent+reserved, planned)}, []float64{budget.OfPlan(reserved, planned)}
}

// budgetText is a budget in words; of a plan there is one.
func budgetText(v ledger.View, i int) string {
	if v.Genesis.Spec.Policy == ledger.Planned {
		return "the plan, in applications"
	}
	return fmt.Sprint(v.Balance.Budgets[i].Budget)
}
