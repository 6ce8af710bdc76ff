// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/statement"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// GetStatement implements the API: of one committed position, or of a dataset.
func (s *service) GetStatement(ctx context.Context, req *pb.GetStatementRequest) (*pb.GetStatementResponse, error) {
	if err := questions.CheckStated("name", req.GetName()); err != nil {
		return nil, err
	}
	if err := questions.CheckDeltas(req.GetDeltas()); err != nil {
		return nil, err
	}
	v, err := s.view(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	state := s.stateLedger
	if v.Dataset != nil {
		state = s.stateDataset
	}
	stated, err := state(ctx, v, req.GetDeltas())
	if err != nil {
		return nil, err
	}
	stated.Markdown = statement.Markdown(stated)
	return &pb.GetStatementResponse{Statement: stated}, nil
}

func (s *service) stateLedger(ctx context.Context, v ledger.View, deltas []float64) (*pb.Statement, error) {
	notes, err := s.datasetNotes(ctx, v)
	if err != nil {
		return nil, err
	}
	sub, err := subject.Of(v)
	if err != nil {
		return nil, err
	}
	return s.state(ctx, sub, questions.Statement{Of: v, Notes: notes}, deltas)
}

// state completes a statement, which has notes on whose budget it is.
func (s *service) state(ctx context.Context, sub subject.Subject, stated questions.Statement,
	deltas []float64) (*pb.Statement, error) {
	if n := len(sub.Stated.Parts); n > questions.MaxStatementParts {
		return nil, fmt.Errorf("%w: distinct mechanisms: %d; allowed: at most %d in a statement", ledger.ErrOutOfRange,
			n, questions.MaxStatementParts)
	}
	stated.View, stated.Stated, stated.Version, stated.Time = sub.View, sub.Stated.Parts, s.version,
		time.Now()
	stated.Access = passage(ctx).Trusted()
	if sub.Filter() || sub.Apart { // its numbers are of the budgets
		stated.Stated = sub.Charged.Parts
	}
	budgets := subject.Budgets(sub.View)
	stated.Own = questions.OwnDelta(budgets)
	if err := s.inTime.Admit(ctx); err != nil {
		return nil, err
	}
	numbers, err := turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) (subject.Stated, error) {
		return sub.State(questions.StatementDeltas(deltas, budgets), stated.Own, t)
	})
	if err != nil {
		return nil, err
	}
	stated.Privacy, stated.Advantage = numbers.Privacy, numbers.Advantage
	stated.Rho, stated.Mu, stated.Stopped = numbers.Rho, numbers.Mu, numbers.Stopped
	stated.TradeOff, stated.Groups, stated.Observed = numbers.TradeOff, numbers.Groups, numbers.Observed
	return questions.FromStatement(stated), nil
}
