// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// How entries are grouped.
var groupings = map[pb.QuerySpendingRequest_By]history.By{
	pb.QuerySpendingRequest_PRINCIPAL: history.ByPrincipal,
	pb.QuerySpendingRequest_LABEL:     history.ByLabel,
	pb.QuerySpendingRequest_MECHANISM: history.ByMechanism,
	pb.QuerySpendingRequest_MONTH:     history.ByMonth,
}

// QuerySpending implements the API.
func (h *Handlers) QuerySpending(ctx context.Context,
	req *pb.QuerySpendingRequest) (*pb.QuerySpendingResponse, error) {
	limit, err := questions.ToSpendingQuery(req)
	if err != nil {
		return nil, err
	}
	v, err := h.Ledgers.View(ctx, req.GetLedger())
	if err != nil {
		return nil, err
	}
	key := groupsKey{name: req.GetLedger(), by: groupings[req.GetBy()], label: req.GetLabelKey()}
	if req.GetProgress() {
		reading, err := soon(ctx, h, h.groups, key, v.Head.Position, func(ctx context.Context) error {
			_, err := grouping(ctx, h, key, v,
				func(grouped, *turns.Turn) (struct{}, error) { return struct{}{}, nil })
			return err
		})
		if err != nil || reading != nil {
			return &pb.QuerySpendingResponse{Delta: deltaOf(v, req.Delta), Reading: reading}, err
		}
	}
	about := func(groups grouped, t *turns.Turn) (*pb.QuerySpendingResponse, error) {
		answer := &pb.QuerySpendingResponse{Delta: deltaOf(v, req.Delta), Position: groups.Position(),
			SharesAddUp: v.Genesis.Spec.Policy != ledger.Descriptive, Warnings: questions.NotCounted(v.Assumptions)}
		answer.Text = questions.SpendingText(answer.GetSharesAddUp())
		return answer, h.spending(answer, v, groups.Groups, limit, t)
	}
	answer, err := grouping(ctx, h, key, v, about)
	if err == nil {
		follow(h, h.groups, key, key.name)
	}
	return answer, err
}

// Sharing returns what a ledger has charged alone, and together with others: see history.Groups.Sharing.
func (h *Handlers) Sharing(ctx context.Context, v ledger.View) (list []history.Share, whole bool, err error) {
	key := groupsKey{name: v.Genesis.Spec.Name, by: history.BySet}
	list, err = grouping(ctx, h, key, v, func(g grouped, _ *turns.Turn) (list []history.Share, err error) {
		list, whole = g.Sharing()
		return list, nil
	})
	return list, whole, err
}

// grouping answers with a ledger's groups, once they have read up to its head.
func grouping[A any](ctx context.Context, h *Handlers, key groupsKey, v ledger.View,
	answer func(grouped, *turns.Turn) (A, error)) (none A, err error) {
	g, err := h.groups.begin(ctx, h.InTime, key, func() grouped {
		return grouped{history.NewGroups(h.Store, key.name, key.by, key.label), new(atomic.Uint64)}
	})
	if err != nil {
		return none, err
	}
	return run(ctx, h.InTime, g, func(t *turns.Turn) (A, error) {
		if err := g.value.readOn(max(v.Head.Position, g.value.Position()), t.Stop); err != nil {
			return none, err
		}
		return answer(g.value, t)
	})
}

// grouped is what was read of a ledger's entries, by group.
type grouped struct {
	*history.Groups
	at *atomic.Uint64 // what was read, for those who ask meanwhile
}

// Read is Position for those who do not have the groups.
func (g grouped) Read() uint64 { return g.at.Load() }

// readOn reads on to a position.
func (g grouped) readOn(to uint64, stop func() bool) error {
	stopped, err := g.ReadOn(to, func() bool {
		g.at.Store(g.Position())
		return stop()
	})
	if err == nil && stopped {
		err = late(g.Position(), to)
	}
	return err
}

// spending finds the shares and the ε of the largest groups.
func (h *Handlers) spending(answer *pb.QuerySpendingResponse, v ledger.View, groups *history.Groups, limit int,
	t *turns.Turn) (err error) {
	gauge := gaugeOf(v)
	in := num.NewInterrupt(t.Stop)
	var list []history.Spent
	var others, total history.Spent
	more := 0
	if !in.Try(func() { list, others, total, more = groups.Largest(limit, v.Charged.Adjacency, gauge, in) }) {
		return errCosts
	}
	b := subjectBook{share: t.Share, begin: newSession, ask: newSession(), delta: answer.GetDelta(),
		left: len(list) + 2}
	if answer.Total, err = b.group(total); err != nil {
		return err
	}
	if answer.OtherGroups = uint32(more); more > 0 {
		if answer.Others, err = b.group(others); err != nil {
			return err
		}
	}
	for _, s := range list {
		group, err := b.group(s)
		if err != nil {
			return err
		}
		answer.Groups = append(answer.Groups, group)
	}
	return nil
}

// errCosts means that a question's time was over before its groups' shares were found.
var errCosts = fmt.Errorf("%w: what the mechanisms cost was not found in time", accountant.ErrStopped)

// gaugeOf measures shares of a ledger's budgets, or of its plan.
func gaugeOf(v ledger.View) *budget.Gauge {
	return budget.NewGauge(budget.Terms{Adjacency: v.Charged.Adjacency, Limits: v.Resolution.Limits,
		Planned: v.Genesis.Spec.Policy == ledger.Planned, Plan: v.Resolution.Plan})
}

// ask asks about a composition, in one session.
type ask func(mechanism.Composition, accountant.Question) (accountant.Answer, error)

// newSession begins a session.
func newSession() ask { return new(accountant.Session).Ask }

// subjectBook asks about groups, of which many have the same composition, in one turn.
type subjectBook struct {
	share func(of int) (stop func() bool) // of the time that is left: one part of so many
	begin func() ask                      // in a new session
	ask   ask
	delta float64
	left  int
	known []known
}

type known struct {
	of      history.Spent
	epsilon float64
}

func (b *subjectBook) group(s history.Spent) (*pb.SpendingGroup, error) {
	out := &pb.SpendingGroup{Name: s.Name, Unnamed: s.Unnamed, Charged: s.Applied, Reserved: s.Reserved,
		Shares: s.Shares, Entries: s.Entries}
	if !s.Last.IsZero() {
		out.LastTime = timestamppb.New(s.Last)
	}
	if s.Mechanism != nil {
		out.Mechanism = wire.FromMechanism(s.Mechanism)
	}
	epsilon, err := b.epsilon(s)
	out.Epsilon = epsilon
	return out, err
}

func (b *subjectBook) epsilon(s history.Spent) (float64, error) {
	b.left = max(b.left-1, 1)
	for _, k := range b.known {
		if slices.Equal(s.Charged.Parts, k.of.Charged.Parts) {
			return k.epsilon, nil
		}
	}
	q := accountant.AtDelta(b.delta)
	q.Stop = b.share(b.left)
	a, err := b.ask(s.Charged, q)
	if errors.Is(err, accountant.ErrStopped) {
		// Nothing was proven in the group's part of the time. Others may need less, so it may take all that is left.
		// What the session keeps may be half done.
		q.Stop, b.ask = b.share(1), b.begin()
		a, err = b.ask(s.Charged, q)
	}
	if err != nil {
		return math.Inf(1), err
	}
	b.known = append(b.known, known{s, a.Epsilon})
	return a.Epsilon, nil
}
