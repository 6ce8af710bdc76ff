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
		return nil, fmt.Errorf("%w: distinct mechanisms: %d; allowed: at most %d in a statement", ledger.ErrOutOfRange,
			n, wire.MaxStatementParts)
	}
	statement := wire.Statement{View: sub.view, Stated: sub.stated.Parts, Version: s.version, Time: time.Now()}
	if sub.filter() { // its numbers are of the budgets
		statement.Stated = sub.charged.Parts
	}
	if err := s.inTime.analyses.admit(ctx); err != nil {
		return nil, err
	}
	numbers, err := beside(ctx, s.inTime, nothingYet, func(t *turn) (stated, error) {
		return sub.state(wire.StatementDeltas(req.GetDeltas(), sub.budgets()), t)
	})
	if err != nil {
		return nil, err
	}
	statement.Privacy, statement.Advantage = numbers.privacy, numbers.advantage
	statement.Rho, statement.Mu, statement.Stopped = numbers.rho, numbers.mu, numbers.stopped
	return &pb.GetStatementResponse{Statement: wire.FromStatement(statement)}, nil
}

// stated holds a statement's numbers.
type stated struct {
	privacy            []wire.StatedPrivacy
	advantage, rho, mu float64
	stopped            bool // before they were as tight as they get
}

// state computes the numbers, each in its share of the time.
func (s subject) state(deltas []float64, t *turn) (out stated, err error) {
	var stated, charged accountant.Session
	curve := accountant.CurveQuestion{Epsilons: []float64{0}}
	for i, delta := range deltas {
		left := 2*(len(deltas)-i) + 2 // questions, with two for the curve
		q := accountant.AtDelta(delta)
		q.Stop = t.share(left)
		p := wire.StatedPrivacy{}
		if p.Stated, err = s.askIn(&stated, q); err != nil {
			return out, err
		}
		p.Running = p.Stated
		if !s.prefix() {
			q.Stop = t.share(left - 1)
			if p.Running, err = charged.Ask(s.charged, q); err != nil {
				return out, err
			}
		}
		out.privacy = append(out.privacy, p)
		out.stopped = out.stopped || p.Stated.Stopped || p.Running.Stopped
		if !math.IsInf(p.Stated.Epsilon, 1) {
			curve.Epsilons = append(curve.Epsilons, p.Stated.Epsilon)
		}
	}
	// At these ε the curve's own bound on the advantage is about as good as it gets.
	curve.Stop = t.stop
	c, err := s.askCurve(curve)
	if err != nil {
		return out, err
	}
	out.advantage, out.stopped = c.Advantage, out.stopped || c.Stopped
	if s.filter() {
		out.rho, out.mu = accountant.FilterRhoAndMu(s.limits)
	} else {
		out.rho, out.mu = accountant.RhoAndMu(s.stated)
	}
	return out, nil
}
