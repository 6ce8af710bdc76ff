package overview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/pages"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// row returns the row of a ledger or of a dataset's record, of which left are to come. What cannot be found in
// its part of the time, and what is damaged, is said in the row. The error ends the page.
func (h *Handlers) row(ctx context.Context, s ledger.Summary, delta *float64, left int) (*pb.OverviewRow, error) {
	key := rowKey{name: s.Genesis.Spec.Name}
	if delta != nil {
		key.delta = *delta
	}
	dataset := s.Genesis.Spec.Dataset != nil
	if r, ok := h.rows.Get(key); ok && !dataset && r.head == s.Head {
		return r.row, nil
	}
	out := fromSummary(s)
	part, cancel := within(ctx, left)
	defer cancel()
	head, err := h.complete(part, out, delta)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		if !dataset {
			h.rows.Add(key, &row{head, out})
		}
	case errors.Is(err, ledger.ErrDamaged):
		out.Problem = err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, accountant.ErrStopped):
		out.Problem = "its numbers were not found in time: ask again, or give the call more time"
	default:
		return nil, err
	}
	return out, nil
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

// complete adds what the ledger's summary does not tell, and returns the head of which it is.
func (h *Handlers) complete(ctx context.Context, out *pb.OverviewRow, delta *float64) (ledger.Head, error) {
	v, err := h.Ledgers.View(ctx, out.GetName())
	if err != nil {
		return ledger.Head{}, err
	}
	out.State, out.Position = pages.StateOf(v.Summary), v.Head.Position
	out.Flags = flags(v)
	if share, held, of, ok := largestShare(v); ok {
		out.Share, out.ReservedShare, out.ShareOf = &share, &held, of
	}
	if v.Head.Position > 0 {
		newest, err := h.Store.Records(out.GetName(), v.Head.Position, 1)
		if err != nil {
			return v.Head, err
		}
		if len(newest) > 0 {
			out.LastTime = timestamppb.New(newest[0].Entry.Time)
		}
	}
	if v.Dataset != nil {
		return v.Head, h.completeDataset(ctx, out, v, delta)
	}
	out.Delta = deltaOf(v, delta)
	answer, on, err := h.Ask(ctx, out.GetName(), accountant.AtDelta(out.GetDelta()))
	if err != nil {
		return v.Head, err
	}
	running := answer.Epsilon
	if on.Running != nil {
		running = on.Running.Epsilon
	}
	out.Epsilon, out.EpsilonSpent = &answer.Epsilon, &running
	out.Guarantee, out.GuaranteeText = on.Guarantee, questions.GuaranteeText(on.Guarantee)
	return v.Head, nil
}

// completeDataset adds a dataset's numbers, as its statement has them.
func (h *Handlers) completeDataset(ctx context.Context, out *pb.OverviewRow, v ledger.View, delta *float64) error {
	if v.Dataset.BudgetOf != "" {
		out.Problem = "it shares the budget of " + v.Dataset.BudgetOf + ", in whose row the numbers are"
		if !h.Passage(ctx).States(v.Genesis.Spec) {
			out.Problem = "it shares the budget of a dataset that you may not see"
		}
		return nil
	}
	sub, err := h.Dataset(ctx, v)
	if err != nil {
		return err
	}
	out.Delta = deltaOf(v, delta)
	if err := h.InTime.Admit(ctx); err != nil {
		return err
	}
	type both struct{ stated, spent accountant.Answer }
	found, err := turns.Beside(ctx, h.InTime, turns.NothingYet, func(t *turns.Turn) (b both, err error) {
		q := accountant.AtDelta(out.GetDelta())
		q.Stop = t.Share(2)
		if b.stated, err = sub.Ask(q); err == nil {
			q.Stop = t.Stop
			b.spent, err = accountant.Ask(sub.Charged, q)
		}
		return b, err
	})
	if err != nil {
		return err
	}
	out.Epsilon, out.EpsilonSpent = &found.stated.Epsilon, &found.spent.Epsilon
	out.Guarantee = sub.Standing.Guarantee
	out.GuaranteeText = questions.GuaranteeText(out.GetGuarantee())
	return nil
}

// deltaOf is the δ that was asked for, or a ledger's own.
func deltaOf(v ledger.View, asked *float64) float64 {
	if asked != nil {
		return *asked
	}
	budgets := v.Genesis.Spec.Budgets
	for i, b := range v.Balance.Budgets {
		if i == 0 {
			budgets = nil
		}
		budgets = append(slices.Clip(budgets), b.Budget)
	}
	return questions.OwnDelta(budgets)
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

// largestShare is how much is used of the budget of which most is, and what of that is reserved.
func largestShare(v ledger.View) (used, held float64, of string, ok bool) {
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
