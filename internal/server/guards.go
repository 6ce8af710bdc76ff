// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/guards"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire"
)

// guarded gives a guard to each budget of a new ledger that was given without one: that of the ledger that is there
// under its name with the same budgets, so that a creation can be repeated, or else the one under which most fits.
func (s *service) guarded(ctx context.Context, asked *pb.LedgerSpec) (*pb.LedgerSpec, error) {
	if !guards.Missing(asked) {
		return asked, nil
	}
	asked = proto.CloneOf(asked)
	if s.has(ctx, asked.GetName(), asked.GetBudgets()) {
		return asked, nil
	}
	payer, err := s.payer(ctx, asked)
	if err != nil {
		return nil, err
	}
	return asked, s.choosing(ctx, func(stop func() bool) error { return guards.Choose(asked, payer, stop) })
}

// guardedDataset gives a guard, and an order, to each budget of a new dataset that was given without one, as guarded
// does for a ledger.
func (s *service) guardedDataset(ctx context.Context, asked *pb.DatasetSpec) (*pb.DatasetSpec, error) {
	if !guards.MissingOfDataset(asked) {
		return asked, nil
	}
	asked = proto.CloneOf(asked)
	if s.has(ctx, ledger.DatasetName(asked.GetId()), asked.GetBudgets()) {
		return asked, nil
	}
	return asked, s.choosing(ctx, func(stop func() bool) error { return guards.ForDataset(asked, stop) })
}

// has gives budgets the guards of the ledger that is there under a name, and reports whether they are the same
// otherwise.
func (s *service) has(ctx context.Context, name string, budgets []*pb.Budget) bool {
	there, err := s.keeper.Summary(ctx, name)
	return err == nil && guards.Take(budgets, wire.FromSpec(there.Genesis.Spec).GetBudgets())
}

// choosing has guards chosen when it is the caller's turn.
func (s *service) choosing(ctx context.Context, choose func(stop func() bool) error) error {
	if err := s.inTime.Admit(ctx); err != nil {
		return err
	}
	_, err := turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) (struct{}, error) {
		return struct{}{}, choose(t.Stop)
	})
	if wrong := (*wire.InvalidError)(nil); errors.As(err, &wrong) {
		return wire.Under("spec", err)
	}
	return err
}

// payer is the specification, with budgets as they are now, of what a new ledger takes its own budget from: its parent,
// or its dataset if that is registered; nil if nothing does.
func (s *service) payer(ctx context.Context, asked *pb.LedgerSpec) (*pb.LedgerSpec, error) {
	name := asked.GetParent()
	if name == "" {
		var err error
		if name, err = s.keeper.BudgetOf(asked.GetDatasetId()); err != nil || name == "" {
			return nil, err
		}
	}
	v, err := s.keeper.View(ctx, name)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil // the creation says so, if it has to be there
	}
	if err != nil {
		return nil, err
	}
	return guards.Now(wire.FromView(v)), nil
}
