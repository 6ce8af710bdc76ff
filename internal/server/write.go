// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
)

// lane is where a write goes: a pb.Lane, or what a report's fast reader has made of one.
type lane interface {
	GetLedger() string
	GetWriter() string
	GetSequence() uint64
	GetLastReceipt() *pb.Receipt
	GetCheckOnly() bool
}

// conversion converts a request's action, which must be valid under the ledger's adjacency, and makes its digest.
type conversion func(mechanism.Adjacency) (ledger.Action, ledger.Digest, error)

// digested returns an action with its digest, unless err says why there is none.
func digested(v ledger.Action, err error) (ledger.Action, ledger.Digest, error) {
	if err != nil {
		return nil, ledger.Digest{}, err
	}
	return v, record.Digest(v), nil
}

// write performs an action in its lane, counts the outcome, and answers. Refusals of what jobs do are remembered.
func (s *service) write(ctx context.Context, in lane, jobs bool, action conversion) (*pb.WriteResponse, error) {
	// A call's stack is new, and to grow it costs more than all this.
	result, err := s.decide(ctx, in, in.GetCheckOnly(), action)
	s.metrics.write(!in.GetCheckOnly(), result.Replayed, err)
	if err != nil {
		if jobs && !in.GetCheckOnly() {
			s.refusals.Add(in.GetLedger(), ledger.Writer{Principal: principal(ctx), Name: in.GetWriter()},
				in.GetSequence(), err)
		}
		return nil, err
	}
	checked := in.GetCheckOnly() && !result.Replayed
	answer := &pb.WriteResponse{Replayed: result.Replayed, CheckOnly: checked}
	if !checked {
		answer.Receipt = wire.FromReceipt(result.Receipt)
	}
	return answer, nil
}

// unaryWrite is the handler of every method that answers with a WriteResponse. Its requests have a lane and an action.
func (s *service) unaryWrite(m protoreflect.MethodDescriptor) func(any, context.Context, func(any) error,
	grpc.UnaryServerInterceptor) (any, error) {
	empty := api.NewRequest(m).ProtoReflect()
	jobs, path := api.Access(m).GetRole() == pb.Access_REPORTER, string(api.ActionField(m).Name())
	info := &grpc.UnaryServerInfo{Server: s, FullMethod: api.Path(m)}
	return func(_ any, ctx context.Context, receive func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
		in := empty.New().Interface()
		if err := receive(in); err != nil {
			return nil, err
		}
		return chain(ctx, in, info, func(ctx context.Context, request any) (any, error) {
			lane := request.(laned).GetLane()
			if !jobs { // the gate asked for a right on everything, so another name needs no other right
				if err := nameRecord(lane); err != nil {
					return nil, err
				}
			}
			if late, ok := request.(interface{ GetLate() bool }); ok && late.GetLate() {
				return s.commitLate(ctx, lane, path, api.Action(request.(proto.Message)))
			}
			return s.act(ctx, lane, jobs, path, api.Action(request.(proto.Message)))
		})
	}
}

// laned is the request of a write.
type laned interface{ GetLane() *pb.Lane }

// act performs the action of a message. Where it takes more than the message to know what is to be done, the action
// says so here: what waits for approval, and to whom reservations belong.
func (s *service) act(ctx context.Context, in *pb.Lane, jobs bool, path string,
	m proto.Message) (*pb.WriteResponse, error) {
	switch m := m.(type) {
	case *pb.Propose:
		return s.propose(ctx, in, m)
	case *pb.Approve:
		return s.approve(ctx, in, m)
	}
	if jobs && isSeveral(in) {
		return s.writeSeveral(ctx, in, path, m)
	}
	if err := checkOne(in); err != nil {
		return nil, err
	}
	var asked ledger.Action
	answer, err := s.write(ctx, in, jobs, func(adj mechanism.Adjacency) (ledger.Action, ledger.Digest, error) {
		v, err := wire.ToAction(path, adj, m)
		asked = ledger.HeldBy(v, passage(ctx).Holder())
		return digested(asked, err)
	})
	if err != nil {
		return nil, err
	}
	s.reserved(answer, asked)
	return answer, nil
}

// reserved says when the time of a reservation is over, if one was made.
func (s *service) reserved(answer *pb.WriteResponse, asked ledger.Action) {
	if r, ok := asked.(ledger.Reserve); ok && answer.GetReceipt() != nil {
		s.expiry.wake()
		answer.ExpireTime = timestamppb.New(answer.GetReceipt().GetTime().AsTime().Add(r.Lifetime))
	}
}

// checkOne refuses what a lane says about several ledgers, where it is about one.
func checkOne(in *pb.Lane) error {
	if in.GetLedgers() != nil {
		return wire.Invalid("lane.ledgers", "given", "one ledger, in lane.ledger: only charges and reservations are "+
			"made in several at once")
	}
	if in.GetContribution() != 0 {
		return wire.Invalid("lane.contribution", in.GetContribution().String(), "to leave it out: the lane names one "+
			"ledger, and not several")
	}
	return nil
}

// nameRecord spells the name of a dataset's record as it is kept, if the lane is one of a record: people may write its
// identifier in several ways.
func nameRecord(in *pb.Lane) error {
	id, ok := strings.CutPrefix(in.GetLedger(), ledger.DatasetsPrefix)
	if !ok {
		return nil
	}
	name, err := wire.DatasetName("ledger", id)
	if err == nil {
		in.Ledger = name
	}
	return err
}

// decide has an action decided in its lane, and written unless it is only to be checked.
func (s *service) decide(ctx context.Context, in lane, checkOnly bool, action conversion) (keeper.Result, error) {
	name := in.GetLedger()
	w, err := s.lane(ctx, "lane", name, in.GetWriter())
	if err != nil {
		return keeper.Result{}, err
	}
	if err := s.compareReceipt("lane.last_receipt", name, in.GetLastReceipt()); err != nil {
		return keeper.Result{}, err
	}
	adjacency, err := s.keeper.Adjacency(ctx, name)
	if err != nil {
		return keeper.Result{}, err
	}
	v, digest, err := action(adjacency)
	if err != nil {
		return keeper.Result{}, err
	}
	var approval *ledger.Approval
	lapsed := ""
	if a, ok := in.(*approving); ok {
		approval, lapsed = &a.by, a.lapsed
	}
	r, err := request(ctx, w, in.GetSequence(), v, digest)
	if err != nil {
		return keeper.Result{}, wire.Under("lane", err)
	}
	r.CheckOnly, r.Approval, r.Lapsed = checkOnly, approval, lapsed
	return s.keeper.Do(ctx, name, r)
}

// lane checks a ledger's name and makes the caller's writer. Both are in the message at path, "" for the request.
func (s *service) lane(ctx context.Context, path, name, writer string) (w ledger.Writer, err error) {
	if err = wire.CheckLedgerName("ledger", name); err == nil {
		w, err = wire.ToWriter(principal(ctx), writer)
	}
	if err != nil && path != "" {
		err = wire.Under(path, err)
	}
	return w, err
}

// request is what a caller asks of the keeper: an action with its digest, under a number of the writer's.
func request(ctx context.Context, w ledger.Writer, sequence uint64, action ledger.Action,
	digest ledger.Digest) (ledger.Request, error) {
	if err := wire.CheckSequence(w, sequence); err != nil {
		return ledger.Request{}, err
	}
	return ledger.Request{Writer: w, Sequence: sequence, Digest: digest, Action: action,
		Caller: passage(ctx).Caller(), Policy: passage(ctx).Policy()}, nil
}
