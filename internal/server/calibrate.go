// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// Calibrate implements the API. If a ledger is named, it calibrates on top of one committed position, and only
// returns what the ledger takes at that moment. Nothing is written.
func (s *service) Calibrate(ctx context.Context, req *pb.CalibrateRequest) (*pb.CalibrateResponse, error) {
	q, err := questions.ToCalibration(req)
	if err != nil {
		return nil, err
	}
	if q.Ledger == "" {
		found, err := s.calibrated(ctx, q.Calibration, accountant.Calibrate)
		if err != nil {
			return nil, err
		}
		return questions.FromCalibrated(q.Calibration, found, questions.Standing{}), nil
	}
	about, err := s.subject(ctx, q.Ledger, mechanism.Composition{})
	if err != nil {
		return nil, err
	}
	calibration, err := q.With(about.Stated)
	if err != nil {
		return nil, err
	}
	spec := about.View.Genesis.Spec
	if calibration.Open {
		if spec.Policy == ledger.Descriptive {
			return nil, wire.Absent("target_epsilon", "a target, since ledger "+q.Ledger+
				" has neither budgets nor a plan, which would say what fits")
		}
		calibration.Epsilon = math.Inf(1)
		if calibration.Delta == 0 {
			calibration.Delta = questions.OwnDelta(subject.Budgets(about.View))
		}
	}
	standing := about.Standing
	if standing.Guarantee == ledger.GuaranteeFilter { // a full budget has no room for more
		standing.Guarantee = ledger.GuaranteeDescriptive
	}
	takes := taking{s, ctx, q.Ledger, mechanism.EventsOf(q.Calibration.Fixed.Parts),
		ledger.Writer{Principal: principal(ctx), Name: "request/" + rand.Text()}}
	var found accountant.Calibrated
	if spec.Policy == ledger.Planned {
		found, err = takes.planned(calibration, about)
	} else {
		found, err = takes.least(calibration)
	}
	if err != nil {
		return nil, err
	}
	return questions.FromCalibrated(calibration, found, standing), nil
}

// calibrated answers a calibration in a turn.
func (s *service) calibrated(ctx context.Context, q accountant.Calibration,
	solve func(accountant.Calibration) (accountant.Calibrated, error)) (accountant.Calibrated, error) {
	if err := s.inTime.Admit(ctx); err != nil {
		return accountant.Calibrated{}, err
	}
	return turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) (accountant.Calibrated, error) {
		q.Stop = t.Stop
		return solve(q)
	})
}

// taking asks a ledger what it takes, by charges that are only checked: so the answer has every reason for which
// the ledger would refuse them.
type taking struct {
	s      *service
	ctx    context.Context
	ledger string
	beside []mechanism.Event // charged together with the event
	writer ledger.Writer
}

// refuses is an accountant.Refuses.
func (t taking) refuses(e mechanism.Event) (refusal, err error) {
	charge := ledger.Charge{Events: append(slices.Clip(t.beside), e)}
	_, err = t.s.keeper.Do(t.ctx, t.ledger, ledger.Request{Writer: t.writer, Sequence: 1, Action: charge,
		Digest: record.Digest(charge), Caller: passage(t.ctx).Caller(), CheckOnly: true})
	switch {
	case err != nil && isRefusal(err):
		return err, nil
	case errors.Is(err, keeper.ErrLate), errors.Is(err, context.DeadlineExceeded):
		return nil, accountant.ErrStopped
	}
	return nil, err
}

// least finds what meets the target, and then what the ledger takes of that. Each step may use half of the time that
// is left.
func (t taking) least(q accountant.Calibration) (accountant.Calibrated, error) {
	var target *accountant.Calibrated
	if !q.Open {
		ctx, cancel := t.within(2)
		defer cancel()
		found, err := t.s.calibrated(ctx, q, accountant.Calibrate)
		if err != nil {
			return found, err
		}
		target = &found
	}
	taken, err := t.taken(q, target)
	switch {
	case err != nil:
		return taken, err
	case target != nil && taken.Refusal == nil:
		return *target, nil
	}
	out, err := t.at(q, taken, false)
	if target != nil {
		out.TargetValue = &target.Value
	}
	return out, err
}

// taken finds what the ledger takes.
func (t taking) taken(q accountant.Calibration, target *accountant.Calibrated) (accountant.Calibrated, error) {
	ctx, cancel := t.within(2)
	defer cancel()
	t.ctx, q.Stop = ctx, func() bool { return ctx.Err() != nil }
	out, err := q.Taken(target, t.refuses)
	var broken *budget.Error
	if errors.As(err, &broken) && len(broken.Broken) > 0 { // what the last value would be allowed says nothing
		err = fmt.Errorf("%w: no value fits: %s", ledger.ErrBudget, budget.List(broken.Broken))
	}
	return out, err
}

// at completes what the ledger takes with what everything then costs. If inside, the event is part of the plan.
func (t taking) at(q accountant.Calibration, taken accountant.Calibrated, inside bool) (accountant.Calibrated, error) {
	out, err := t.s.calibrated(t.ctx, q, func(q accountant.Calibration) (accountant.Calibrated, error) {
		return q.At(taken.Value, inside)
	})
	out.Exceeding, out.Refusal = taken.Exceeding, taken.Refusal
	var broken *budget.Error
	if errors.As(taken.Refusal, &broken) && len(broken.Broken) > 0 { // what would be allowed is the answer
		out.Refusal = errors.New(budget.List(broken.Broken))
	}
	return out, err
}

// planned finds what a ledger's plan has. As long as the plan is its guarantee, what it takes costs no more than the
// plan does.
func (t taking) planned(q accountant.Calibration, about subject.Subject) (accountant.Calibrated, error) {
	inside := about.Standing.Guarantee == ledger.GuaranteePlan
	switch {
	case inside:
		q.Fixed = about.Stated
	case q.Solve == accountant.SolveCount:
		return t.least(q)
	}
	if q.Solve == accountant.SolveCount {
		taken, err := t.taken(q, nil)
		if err != nil {
			return taken, err
		}
		return t.at(q, taken, inside)
	}
	has, err := q.Planned(about.View.Resolution.Plan)
	if err != nil {
		return accountant.Calibrated{}, err
	}
	var first error
	for _, c := range has {
		refusal, err := t.refuses(c.Event)
		if err == nil && refusal == nil {
			c.Refusal = fmt.Errorf("the plan of ledger %s has it with this value", t.ledger)
			out, failed := t.at(q, c, inside)
			if failed == nil {
				return out, nil
			}
			refusal = failed
		}
		if err != nil {
			return c, err
		}
		first = cmp.Or(first, refusal)
	}
	return accountant.Calibrated{}, first
}

// within returns a context that ends when one of so many parts of the time is over.
func (t taking) within(parts int) (context.Context, context.CancelFunc) {
	deadline, ok := t.ctx.Deadline()
	if !ok {
		return context.WithCancel(t.ctx)
	}
	return context.WithTimeout(t.ctx, time.Until(deadline)/time.Duration(parts))
}
