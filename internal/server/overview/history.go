// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// QueryHistory implements the API.
func (h *Handlers) QueryHistory(ctx context.Context, req *pb.QueryHistoryRequest) (*pb.QueryHistoryResponse, error) {
	q, err := questions.ToHistoryQuery(req)
	if err != nil {
		return nil, err
	}
	v, err := h.Ledgers.View(ctx, q.Ledger)
	if err != nil {
		return nil, err
	}
	delta := deltaOf(v, q.Delta)
	answer := &pb.QueryHistoryResponse{Delta: delta, Position: v.Head.Position, Text: questions.SpentText,
		Warnings: questions.NotCounted(v.Assumptions)}
	if shares, _ := sharesOf(v); shares != nil {
		for i := range shares {
			answer.Budgets = append(answer.Budgets, budgetText(v, i))
		}
	}
	if len(q.Positions)+len(q.Times) > 0 {
		answer.Points, err = h.at(ctx, v, q, delta)
		return answer, err
	}
	key, err := h.bounds(ctx, v, q, delta)
	if err != nil {
		return nil, err
	}
	if q.Progress {
		if reading, err := h.reading(ctx, v, key); err != nil || reading != nil {
			return &pb.QueryHistoryResponse{Delta: delta, Reading: reading}, err
		}
	}
	points, err := h.past(ctx, v, key, q.Points)
	if err != nil {
		return nil, err
	}
	for _, x := range points {
		answer.Points = append(answer.Points, fromPoint(x))
	}
	answer.Position = points[len(points)-1].position
	return answer, nil
}

// reading returns how far a part of a history is read, if that takes more than a moment, and has it read on.
func (h *Handlers) reading(ctx context.Context, v ledger.View, key pastKey) (*pb.Reading, error) {
	end := key.to
	if key.open {
		end = v.Head.Position
	}
	return soon(ctx, h, h.pasts, key, end, func(ctx context.Context) error {
		_, err := h.past(ctx, v, key, 2)
		return err
	})
}

// past returns about n points of a part of a history. If that is open, the newest is that of the ledger's head or of a
// later entry.
func (h *Handlers) past(ctx context.Context, v ledger.View, key pastKey, n int) ([]point, error) {
	p, err := h.pasts.begin(ctx, h.InTime, key, func() *past { return key.begin(h.Store, v.Genesis) })
	if err != nil {
		return nil, err
	}
	list, err := run(ctx, h.InTime, p, func(t *turns.Turn) (_ []point, err error) {
		if key.open {
			err = p.value.upTo(h.Store, v, t.Stop)
		} else {
			err = p.value.advance(key.to, t.Stop)
		}
		if err != nil {
			return nil, err
		}
		return p.value.evenly(n), nil
	})
	if err == nil && key.open {
		follow(h, h.pasts, key, key.name)
	}
	return list, err
}

// at returns the points at the positions or the times that were asked for, read anew.
func (h *Handlers) at(ctx context.Context, v ledger.View, q questions.HistoryQuery,
	delta float64) ([]*pb.HistoryPoint, error) {
	if err := h.InTime.Admit(ctx); err != nil {
		return nil, err
	}
	return turns.Beside(ctx, h.InTime, turns.NothingYet, func(t *turns.Turn) (list []*pb.HistoryPoint, err error) {
		positions := q.Positions
		var of []uint64 // each time's
		if q.Times != nil {
			if of, err = lastAt(h.Store, v.Genesis.Spec.Name, q.Times, v.Head.Position, t.Stop); err != nil {
				return nil, err
			}
			positions = slices.Compact(slices.Sorted(slices.Values(of)))
		}
		r, found := newReader(h.Store, v.Genesis, delta, q.MaxGap), map[uint64]point{}
		for _, position := range positions {
			if position > v.Head.Position {
				return nil, questions.PastTheEnd(position, v.Head.Position)
			}
			if err := r.to(position, t.Stop); err != nil {
				return nil, err
			}
			if found[position], err = r.point(t.Stop); err != nil {
				return nil, err
			}
		}
		for _, position := range q.Positions {
			list = append(list, fromPoint(found[position]))
		}
		for i, position := range of {
			p := fromPoint(found[position])
			p.AskedTime = timestamppb.New(q.Times[i])
			list = append(list, p)
		}
		return list, nil
	})
}

func fromPoint(p point) *pb.HistoryPoint {
	return &pb.HistoryPoint{Position: p.position, Time: timestamppb.New(p.time), EpsilonSpent: p.spent,
		Epsilon: p.epsilon, Guarantee: p.guarantee, Shares: p.used, ReservedShares: p.held}
}
