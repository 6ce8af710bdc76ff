// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
)

// propose writes a proposal. What could not be done now is refused, as far as one person can find
// out: it is decided without being written.
func (s *service) propose(ctx context.Context, in *pb.Lane, m *pb.Propose) (*pb.WriteResponse, error) {
	proposed := func(adj mechanism.Adjacency) (ledger.Propose, error) {
		v, err := wire.To[ledger.Propose]("propose", adj, m)
		v.Lifetime, v.Person = passage(ctx).ApproveWithin(), passage(ctx).Person(principal(ctx))
		return v, err
	}
	_, err := s.decide(ctx, in, true, func(adj mechanism.Adjacency) (ledger.Action, ledger.Digest, error) {
		v, err := proposed(adj)
		return digested(v.Action, err)
	})
	if err != nil && !errors.Is(err, ledger.ErrReused) { // the same number: it is sent again, or wrong
		return nil, err
	}
	return s.write(ctx, in, false, func(adj mechanism.Adjacency) (ledger.Action, ledger.Digest, error) {
		return digested(proposed(adj))
	})
}

// approving is the lane of an approval with what its proposal says.
type approving struct {
	*pb.Lane
	by     ledger.Approval
	lapsed string
}

// approve does what was proposed, as an entry of its own kind that says whose proposal it was.
func (s *service) approve(ctx context.Context, lane *pb.Lane, m *pb.Approve) (*pb.WriteResponse, error) {
	if err := wire.CheckApprove(m); err != nil {
		return nil, err
	}
	in := &approving{Lane: lane}
	return s.write(ctx, in, false, func(mechanism.Adjacency) (_ ledger.Action, _ ledger.Digest, err error) {
		records, err := s.store.Records(lane.GetLedger(), m.GetProposal(), 1)
		if err != nil {
			return digested(nil, err)
		}
		if len(records) == 0 {
			return digested(nil, notProposed(m.GetProposal()))
		}
		e := records[0].Entry
		v, ok := e.Action.(ledger.Propose)
		if !ok {
			return digested(nil, notProposed(m.GetProposal()))
		}
		me := passage(ctx).Person(principal(ctx))
		if me == passage(ctx).Person(e.Writer.Principal) {
			return digested(nil, fmt.Errorf("%w: you are %s, who proposed %d as %s; allowed: another person",
				ledger.ErrApproval, principal(ctx), e.Position, e.Writer.Principal))
		}
		in.by = ledger.Approval{Proposal: e.Position, Proposer: e.Writer.Principal, Person: me,
			Comment: m.GetComment()}
		if in.lapsed, err = s.lapsed(ctx, lane.GetLedger(), e, v); err != nil {
			return digested(nil, err)
		}
		return v.Action, record.DigestOf(v.Action, &in.by), nil
	})
}

// lapsed says why the proposal in an entry cannot be approved any more, as far as the ledger cannot decide that by
// itself: a clock may have gone back since, and rights are those of now.
func (s *service) lapsed(ctx context.Context, name string, e ledger.Entry, v ledger.Propose) (string, error) {
	if !passage(ctx).MayPropose(e.Writer.Principal) {
		return fmt.Sprintf("was made by %s, who by the access policy of now may not propose it",
			e.Writer.Principal), nil
	}
	sum, err := s.keeper.Summary(ctx, name)
	if err != nil {
		return "", err
	}
	newest, err := s.store.Records(name, sum.Head.Position, 1)
	if err != nil || len(newest) == 0 {
		return "", err
	}
	deadline, at := e.Time.Add(v.Lifetime), newest[0].Entry.Time
	if !at.After(deadline) {
		return "", nil
	}
	return fmt.Sprintf("could be approved until %s, and the ledger has an entry of %s", spelled(deadline),
		spelled(at)), nil
}

func spelled(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func notProposed(position uint64) error {
	return fmt.Errorf("%w: proposal: %d; allowed: the position of an entry that proposes something",
		ledger.ErrApproval, position)
}
