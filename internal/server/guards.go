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
	if there, err := s.keeper.Summary(ctx, asked.GetName()); err == nil &&
		guards.Take(asked, wire.FromSpec(there.Genesis.Spec)) {
		return asked, nil
	}
	payer, err := s.payer(ctx, asked)
	if err != nil {
		return nil, err
	}
	if err := s.inTime.Admit(ctx); err != nil {
		return nil, err
	}
	_, err = turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) ([]guards.Choice, error) {
		return guards.Choose(asked, payer, t.Stop)
	})
	if impossible := (*guards.Impossible)(nil); errors.As(err, &impossible) {
		return nil, &wire.InvalidError{Field: "spec.budgets", Value: impossible.Error(),
			Allowed: "a budget that a guard can enforce, such as epsilon 8 at delta 1e-6"}
	}
	return asked, err
}

// payer is the specification, with budgets as they are now, of what a new ledger takes its own budget from: its parent,
// or its dataset if that is registered; nil if nothing does.
func (s *service) payer(ctx context.Context, asked *pb.LedgerSpec) (*pb.LedgerSpec, error) {
	name := asked.GetParent()
	if name == "" && asked.GetDatasetId() != "" {
		of, err := wire.DatasetName("dataset_id", asked.GetDatasetId())
		if err != nil {
			return nil, nil //nolint:nilerr // the creation says what is wrong
		}
		name = of
	}
	if name == "" {
		return nil, nil
	}
	v, err := s.keeper.View(ctx, name)
	if err == nil && v.Genesis.Spec.Dataset != nil && v.Genesis.Spec.Dataset.BudgetOf != "" {
		v, err = s.keeper.View(ctx, v.Genesis.Spec.Dataset.BudgetOf)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil // the creation says so, if it has to be there
	}
	if err != nil {
		return nil, err
	}
	return guards.Now(wire.FromView(v)), nil
}
