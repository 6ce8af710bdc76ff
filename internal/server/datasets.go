// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// CreateDataset implements the API.
func (s *service) CreateDataset(ctx context.Context, req *pb.CreateDatasetRequest) (*pb.CreateDatasetResponse, error) {
	asked, err := s.guardedDataset(ctx, req.GetSpec())
	if err != nil {
		return nil, err
	}
	spec, err := wire.ToDataset(asked)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckAssertion(req.GetIndependentOfOutputs(), req.GetReason()); err != nil {
		return nil, err
	}
	r := keeper.Registration{Genesis: ledger.Genesis{Spec: spec, Principal: principal(ctx),
		Policy: passage(ctx).Policy()}, Independent: req.GetIndependentOfOutputs(), Reason: req.GetReason()}
	if req.GetPropose() {
		spec.Dataset.ToConfirm = true
		r.Confirm = &ledger.Propose{Action: ledger.AmendDataset{Confirm: true, Reason: "the dataset is registered"},
			Lifetime: passage(ctx).ApproveWithin(), Person: passage(ctx).Person(principal(ctx))}
		if r.Writer, err = wire.ToWriter(principal(ctx), "request/registered"); err != nil {
			return nil, err
		}
	}
	_, created, adopted, err := s.keeper.Register(ctx, r)
	if err != nil {
		return nil, wire.InSpec(err)
	}
	v, err := s.keeper.View(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	s.metrics.budgets.found(v.Summary)
	answer := &pb.CreateDatasetResponse{Ledger: wire.FromView(v), Created: created, Adopted: adopted}
	if created && req.GetPropose() {
		answer.Proposal = v.Head.Position // it is the last entry of the registration
	}
	return answer, nil
}

// stateDataset is GetStatement of a dataset, over all its ledgers.
func (s *service) stateDataset(ctx context.Context, asked ledger.View, deltas []float64) (*pb.Statement, error) {
	v, of := asked, asked.Dataset.BudgetOf
	if of != "" {
		var err error
		if v, err = s.keeper.View(ctx, of); err != nil {
			return nil, err
		}
		if !passage(ctx).States(asked.Genesis.Spec) {
			return nil, fmt.Errorf("%w: dataset %q shares the budget of a dataset on which you are no viewer; "+
				"allowed: the statements of its ledgers (accountctl statement)", gate.ErrDenied,
				asked.Genesis.Spec.DatasetID)
		}
	}
	about := questions.Statement{Of: asked}
	v, released, err := s.released(ctx, v, func(l ledger.View, share float64) {
		about.Ledgers = append(about.Ledgers, wire.FromDatasetLedger(l, share))
	})
	if err != nil {
		return nil, err
	}
	if about.Notes, err = s.independence(ctx, v.Genesis.Spec.Name); err != nil {
		return nil, err
	}
	if g := v.Genesis; g.Spec.Dataset.ToConfirm {
		about.Notes = append([]string{fmt.Sprintf("Dataset %q was registered by %s at %s%s.", g.Spec.DatasetID,
			g.Principal, g.Time.UTC().Format(time.RFC3339), approved(v))}, about.Notes...)
	}
	sub, err := subject.Of(v)
	if err != nil {
		return nil, err
	}
	if len(released.Parts) > questions.MaxStatementParts {
		released = v.Charged // by which each ledger counts with its whole share
		about.Notes = append(about.Notes, "What was charged so far counts each open ledger with its whole share, "+
			"because they have too many different mechanisms for one answer.")
	}
	sub.Charged, sub.Apart = released, true
	return s.state(ctx, sub, about, deltas)
}

// released is what was charged to a dataset's ledgers so far, and for those that are lost. The view that it
// returns also rests on what those ledgers rest on. It calls each for every ledger, with its share of the budget.
func (s *service) released(ctx context.Context, v ledger.View,
	each func(l ledger.View, share float64)) (ledger.View, mechanism.Composition, error) {
	shares, err := s.keeper.Shares(ctx, v.Genesis.Spec.Name)
	if err != nil {
		return v, mechanism.Composition{}, err
	}
	if len(shares) > wire.MaxDatasetLedgers {
		return v, mechanism.Composition{}, fmt.Errorf("%w: ledgers: %d; allowed: at most %d in a statement",
			ledger.ErrOutOfRange, len(shares), wire.MaxDatasetLedgers)
	}
	all := []mechanism.Composition{besideShares(v, shares)}
	for _, share := range shares {
		l, err := s.keeper.View(ctx, share.Ledger)
		if err != nil {
			return v, mechanism.Composition{}, err
		}
		each(l, v.Share(share.Parts))
		all, v = append(all, l.Charged), v.With(l)
	}
	released, err := accountant.Join(all...)
	return v, released, err
}

// datasetSubject is what the overview says of a dataset: what its statement does.
func (s *service) datasetSubject(ctx context.Context, v ledger.View) (subject.Subject, error) {
	v, released, err := s.released(ctx, v, func(ledger.View, float64) {})
	if err != nil {
		return subject.Subject{}, err
	}
	sub, err := subject.Of(v)
	sub.Charged, sub.Apart = released, true
	return sub, err
}

// besideShares is what was charged in a dataset's record itself, as for ledgers that a restore has
// lost, and not as the share of a ledger that is there.
func besideShares(v ledger.View, shares []share.Share) mechanism.Composition {
	held := map[mechanism.Mechanism]uint64{}
	for _, share := range shares {
		for _, p := range share.Parts {
			held[p.Mechanism] += p.Count
		}
	}
	out := mechanism.Composition{Adjacency: v.Charged.Adjacency}
	for _, p := range v.Charged.Parts {
		if p.Count > held[p.Mechanism] {
			out.Parts = append(out.Parts, mechanism.Part{Mechanism: p.Mechanism, Count: p.Count - held[p.Mechanism]})
		}
	}
	return out
}

// approved says who has approved the registration of a dataset that was proposed.
func approved(v ledger.View) string {
	if v.Dataset.Waits() {
		return "; nobody has approved it yet, and ledgers can take nothing from its budget until somebody does"
	}
	c := v.Dataset.Confirmation
	return fmt.Sprintf("; %s approved it at %s", c.By, c.Time.UTC().Format(time.RFC3339))
}

// maxIndependence bounds the assertions that a statement lists.
const maxIndependence = 100

// independence returns what has been asserted of the independence of this budget and
// others, one assertion each.
func (s *service) independence(ctx context.Context, dataset string) (notes []string, err error) {
	hidden := false
	for other, err := range ledger.All(s.store, ledger.DatasetsPrefix, "") {
		if err != nil || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		g := other.Genesis
		if g.Spec.Dataset == nil || g.Spec.Dataset.Independence == "" {
			continue
		}
		if !passage(ctx).Shows(g.Spec) {
			if !hidden {
				notes = append(notes, "Datasets that you may not see have budgets of their own: that nobody's data is "+
					"both in one of them and in a dataset that was registered before was asserted when they were "+
					"registered.")
			}
			hidden = true
			continue
		}
		if len(notes) == maxIndependence {
			return append(notes, "Further datasets were asserted to be independent of this one or to have been when "+
				"they were registered; dataset list names them."), nil
		}
		by := ""
		if g.Spec.Dataset.ToConfirm {
			v, err := s.keeper.View(ctx, g.Spec.Name)
			if err != nil {
				return nil, err
			}
			by = approved(v)
		}
		notes = append(notes, fmt.Sprintf("Dataset %q has a budget of its own: that nobody's data is both in it and "+
			"in a dataset that was registered before was asserted by %s at %s (reason given: %s)%s.",
			g.Spec.DatasetID, g.Principal, g.Time.UTC().Format(time.RFC3339), g.Spec.Dataset.Independence, by))
	}
	return notes, nil
}

// datasetNotes says whose budget a ledger spends, for its statement.
func (s *service) datasetNotes(ctx context.Context, v ledger.View) (notes []string, err error) {
	id := v.Genesis.Spec.DatasetID
	if id == "" {
		return []string{questions.OtherLedgers("The ledger names no dataset")}, nil
	}
	budget, err := s.keeper.BudgetOf(id)
	if err != nil {
		return nil, err
	}
	if budget == "" {
		return []string{questions.OtherLedgers(fmt.Sprintf("Dataset %q is not registered", id))}, nil
	}
	notes = []string{fmt.Sprintf("All ledgers of dataset %q spend one budget; accountctl dataset statement has what "+
		"holds for them together.", id)}
	more, err := s.independence(ctx, budget)
	return append(notes, more...), err
}
