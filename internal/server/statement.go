package server

import (
	"context"
	"fmt"
	"math"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// GetStatement implements the API: of one committed position.
func (s *service) GetStatement(ctx context.Context, req *pb.GetStatementRequest) (*pb.GetStatementResponse, error) {
	if err := wire.CheckLedgerName("name", req.GetName()); err != nil {
		return nil, err
	}
	if err := wire.CheckDeltas(req.GetDeltas()); err != nil {
		return nil, err
	}
	sub, err := s.subject(ctx, req.GetName(), mechanism.Composition{})
	if err != nil {
		return nil, err
	}
	if n := len(sub.stated.Parts); n > wire.MaxStatementParts {
		return nil, fmt.Errorf("%w: distinct mechanisms: %d; allowed: at most %d in a statement", ledger.ErrOutOfRange, n, wire.MaxStatementParts)
	}
	statement := wire.Statement{View: sub.view, Stated: sub.stated.Parts, Version: s.version, Time: time.Now()}
	if sub.filter() { // its numbers are of the budgets
		statement.Stated = sub.charged.Parts
	}
	deltas := wire.StatementDeltas(req.GetDeltas(), sub.budgets())
	var stated, charged accountant.Session
	curve := accountant.CurveQuestion{Epsilons: []float64{0}}
	for i, delta := range deltas {
		left := 2*(len(deltas)-i) + 2 // questions, with two for the curve
		q := accountant.AtDelta(delta)
		q.Stop = shareOf(ctx, time.Now(), left)
		p := wire.StatedPrivacy{}
		if p.Stated, err = sub.askIn(&stated, q); err != nil {
			return nil, err
		}
		p.Running = p.Stated
		if !sub.prefix() {
			q.Stop = shareOf(ctx, time.Now(), left-1)
			if p.Running, err = charged.Ask(sub.charged, q); err != nil {
				return nil, err
			}
		}
		statement.Privacy = append(statement.Privacy, p)
		if !math.IsInf(p.Stated.Epsilon, 1) {
			curve.Epsilons = append(curve.Epsilons, p.Stated.Epsilon)
		}
	}
	// At these ε the curve's own bound on the advantage is about as good as it gets.
	curve.Stop = shareOf(ctx, time.Now(), 1)
	c, err := sub.askCurve(curve)
	if err != nil {
		return nil, err
	}
	statement.Advantage = c.Advantage
	if sub.filter() {
		statement.Rho, statement.Mu = accountant.FilterRhoAndMu(sub.limits)
	} else {
		statement.Rho, statement.Mu = accountant.RhoAndMu(sub.stated)
	}
	return &pb.GetStatementResponse{Statement: wire.FromStatement(statement)}, nil
}

// shareOf ends a computation with the call, and after its share of the time that
// stopFor leaves, so that the questions after it have theirs.
func shareOf(ctx context.Context, now time.Time, questions int) func() bool {
	deadline, ok := ctx.Deadline()
	if !ok {
		return stopFor(ctx, now)
	}
	soon := now.Add(deadline.Sub(now) * 9 / 10 / time.Duration(questions))
	return func() bool { return ctx.Err() != nil || time.Now().After(soon) }
}
