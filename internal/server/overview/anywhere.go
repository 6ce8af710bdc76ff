// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/pages"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// maxReading bounds for how long a page reads ledgers, but for its first one, which may take half of the call's time.
const maxReading = 2 * time.Second

// QuerySpendingAnywhere implements the API. It reads the entries of every ledger that the caller may see, as nothing
// else says who has charged a ledger. What it has read is kept, as for QuerySpending.
func (h *Handlers) QuerySpendingAnywhere(ctx context.Context,
	req *pb.QuerySpendingAnywhereRequest) (*pb.QuerySpendingAnywhereResponse, error) {
	by, err := questions.CheckAnywhere(req)
	if err != nil {
		return nil, err
	}
	page, err := pages.ToAnywhere(req)
	if err != nil {
		return nil, err
	}
	answer := &pb.QuerySpendingAnywhereResponse{Text: questions.AnywhereText()}
	key := groupsKey{by: groupings[by], label: req.GetLabelKey()}
	until, first := time.Now().Add(maxReading), true
	answer.NextPageToken, err = h.walk(ctx, page, func(s ledger.Summary) (Place, error) {
		if s.Head.Position == 0 {
			return Passed, nil
		}
		if len(answer.GetRows()) == page.Limit || !first && time.Now().After(until) {
			return Later, nil
		}
		key.name = s.Genesis.Spec.Name
		row, err := h.anywhere(ctx, key, req)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return Passed, ctx.Err()
		case errors.Is(err, ledger.ErrDamaged), errors.Is(err, ledger.ErrAway):
			row = &pb.LedgerSpending{Problem: err.Error()}
		case resumable(err) && !first:
			return Later, nil // the next page has half of a call's time for it
		case resumable(err):
			row = &pb.LedgerSpending{Problem: "what the group has spent of it was not found in time: ask again, or " +
				"give the call more time"}
		default:
			return Passed, err
		}
		if first = false; row == nil {
			return Passed, nil
		}
		row.Ledger, row.DatasetId = key.name, s.Genesis.Spec.DatasetID
		answer.Rows = append(answer.Rows, row)
		return Shown, nil
	})
	return answer, err
}

// anywhere returns what a group has spent of one ledger, nil if that is nothing.
func (h *Handlers) anywhere(ctx context.Context, key groupsKey,
	req *pb.QuerySpendingAnywhereRequest) (*pb.LedgerSpending, error) {
	ctx, cancel := within(ctx, 1)
	defer cancel()
	v, err := h.Ledgers.View(ctx, key.name)
	if err != nil {
		return nil, err
	}
	return grouping(ctx, h, key, v, func(groups grouped, t *turns.Turn) (*pb.LedgerSpending, error) {
		var spent history.Spent
		in, found := num.NewInterrupt(t.Stop), false
		if !in.Try(func() { spent, found = groups.Of(req.GetName(), v.Charged.Adjacency, gaugeOf(v), in) }) {
			return nil, errCosts
		}
		if !found {
			return nil, nil
		}
		out := &pb.LedgerSpending{Position: groups.Position(), Delta: deltaOf(v, req.Delta),
			Warnings: questions.NotCounted(v.Assumptions)}
		for i := range spent.Shares {
			out.Budgets = append(out.Budgets, budgetText(v, i))
		}
		b := subjectBook{share: t.Share, begin: newSession, ask: newSession(), delta: out.GetDelta(), left: 1}
		group, err := b.group(spent)
		out.Group = group
		return out, err
	})
}
