// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// QueryPrivacy implements the API. For a ledger it answers under the ledger's guarantee, and
// shows beside it what was charged up to one committed position.
func (s *service) QueryPrivacy(ctx context.Context, req *pb.QueryPrivacyRequest) (*pb.QueryPrivacyResponse, error) {
	q, err := questions.ToQuestion(req)
	if err != nil {
		return nil, err
	}
	if q.Own {
		v, err := s.keeper.View(ctx, q.Ledger)
		if err != nil {
			return nil, err
		}
		own := questions.OwnDelta(subject.Budgets(v))
		q.Question.Delta = &own
	}
	start := time.Now()
	var answer accountant.Answer
	var on questions.Standing
	if q.Ledger == "" {
		on.Mechanisms = q.Workload
		answer, err = s.sessions.Cold(ctx, q.Workload, q.Question)
	} else if answer, on, err = s.ask(ctx, q.Ledger, q.Question); err == nil {
		on.Mechanisms, err = s.mechanisms(ctx, q.Ledger, on.Guarantee)
	}
	if err != nil {
		return nil, err
	}
	s.metrics.answered(answer, time.Since(start))
	return questions.FromAnswer(q.Question, answer, on), nil
}

// ask answers about a ledger. The ledger's standing is read last, so a refund or a raise that
// came meanwhile makes the answer only more careful.
func (s *service) ask(ctx context.Context, name string,
	q accountant.Question) (accountant.Answer, questions.Standing, error) {
	running, summary, err := s.sessions.Ask(ctx, name, q)
	if err != nil {
		return running, questions.Standing{}, err
	}
	st, err := s.keeper.Standing(ctx, name)
	if err != nil {
		return running, questions.Standing{}, err
	}
	on := questions.Standing{Guarantee: st.Guarantee, Position: &summary.Head.Position, Running: &running,
		Assumptions: st.Assumptions, Acknowledged: st.Acknowledged}
	answer := running
	switch st.Guarantee {
	case ledger.GuaranteeDescriptive:
		// What is reserved counts, as of one position: a reservation may have been
		// committed since what was charged was read.
		moved := st.Position != summary.Head.Position && summary.Genesis.Spec.Policy != ledger.Descriptive
		if st.Reserving || moved {
			return s.askSpent(ctx, name, q)
		}
	case ledger.GuaranteePlan:
		if answer, _, err = s.plans.Ask(ctx, name, q); err == nil &&
			slices.ContainsFunc(st.Resolution.Plan, partsByOutputs) {
			on.Notes, err = s.planNotes(ctx, name)
		}
	case ledger.GuaranteeFilter:
		answer, err = accountant.AskFilter(st.Resolution.Limits, q)
	}
	return answer, on, err
}

func partsByOutputs(p mechanism.Part) bool { return mechanism.PartsByOutputs(p.Mechanism) }

// planNotes returns warnings about budgets that a plan no longer meets.
func (s *service) planNotes(ctx context.Context, name string) (notes []string, err error) {
	v, err := s.keeper.View(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, b := range questions.PlanBudgets(v) {
		answer, _, err := s.plans.Ask(ctx, name, accountant.AtDelta(b.Delta))
		if err != nil {
			return nil, err
		}
		notes = append(notes, questions.PlanNotes(v, answer)...)
	}
	return notes, nil
}

// mechanisms are what there may be to warn about: the plan's, or those of what was
// charged.
func (s *service) mechanisms(ctx context.Context, name, guarantee string) (c mechanism.Composition, err error) {
	if guarantee == ledger.GuaranteePlan {
		c, _, err = plans{s.keeper}.Composition(ctx, name)
	} else {
		c, _, err = s.keeper.Composition(ctx, name)
	}
	return c, err
}

// askSpent answers about what was charged or is reserved.
func (s *service) askSpent(ctx context.Context, name string,
	q accountant.Question) (accountant.Answer, questions.Standing, error) {
	sub, err := s.subject(ctx, name, mechanism.Composition{})
	if err != nil {
		return accountant.Answer{}, questions.Standing{}, err
	}
	if err := s.inTime.Admit(ctx); err != nil {
		return accountant.Answer{}, sub.Standing, err
	}
	type both struct{ stated, running accountant.Answer }
	answer, err := turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) (a both, err error) {
		q.Stop = t.Share(2)
		if a.stated, err = sub.Ask(q); err == nil {
			q.Stop = t.Stop
			a.running, err = accountant.Ask(sub.Charged, q)
		}
		return a, err
	})
	sub.Standing.Running = &answer.running
	return answer.stated, sub.Standing, err
}

// plans provides the plans of ledgers to sessions about them. The number of raises stands for
// the committed position.
type plans struct{ keeper *keeper.Keeper }

// Summary implements committed.
func (p plans) Summary(ctx context.Context, name string) (ledger.Summary, error) {
	_, summary, err := p.Composition(ctx, name)
	return summary, err
}

// Composition implements committed.
func (p plans) Composition(ctx context.Context, name string) (mechanism.Composition, ledger.Summary, error) {
	st, err := p.keeper.Standing(ctx, name)
	return mechanism.Composition{Adjacency: st.Adjacency, Parts: st.Resolution.Plan},
		ledger.Summary{Head: ledger.Head{Position: uint64(st.Raises)}}, err
}

// subject reads the ledger, or takes the workload where none is named.
func (s *service) subject(ctx context.Context, name string, workload mechanism.Composition) (subject.Subject, error) {
	if name == "" {
		return subject.OfWorkload(workload), nil
	}
	v, err := s.keeper.View(ctx, name)
	if err != nil {
		return subject.Subject{}, err
	}
	return subject.Of(v)
}
