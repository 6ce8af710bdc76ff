package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
)

// laned is a write that travels alone in a lane.
type laned interface {
	GetLedger() string
	GetWriter() string
	GetSequence() uint64
	GetLastReceipt() *pb.Receipt
}

// write performs an action in its lane and counts the outcome.
func (s *service) write(ctx context.Context, in laned, action toAction[ledger.Action]) (keeper.Result, error) {
	result, err := s.decide(ctx, in, false, action)
	s.metrics.write(true, result.Replayed, err)
	switch in.(type) {
	case *pb.ReserveRequest, *pb.CommitRequest, *pb.ReleaseRequest: // what jobs do, besides charges
		s.remember(ctx, in, err)
	}
	return result, err
}

// remember keeps in mind why a write was not carried out, if its ledger refused it.
func (s *service) remember(ctx context.Context, in laned, err error) {
	if err != nil {
		w := ledger.Writer{Principal: principal(ctx), Name: in.GetWriter()}
		s.refused.Add(in.GetLedger(), w, in.GetSequence(), err)
	}
}

// toAction converts a request's action, which must be valid under the ledger's adjacency.
type toAction[A ledger.Action] func(mechanism.Adjacency) (A, error)

// written is the handler of every write that travels alone: it has an action written and
// answers with a message of type M, which says its receipt and whether it was replayed.
func written[M any, P interface {
	*M
	proto.Message
}, A ledger.Action](ctx context.Context, s *service, in laned, action toAction[A]) (P, error) {
	result, err := s.write(ctx, in, func(adj mechanism.Adjacency) (ledger.Action, error) { return action(adj) })
	if err != nil {
		return nil, err
	}
	answer := P(new(M))
	m := answer.ProtoReflect()
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName("receipt"), protoreflect.ValueOfMessage(wire.FromReceipt(result.Receipt).ProtoReflect()))
	m.Set(fields.ByName("replayed"), protoreflect.ValueOfBool(result.Replayed))
	return answer, nil
}

func (s *service) decide(ctx context.Context, in laned, checkOnly bool,
	action toAction[ledger.Action]) (keeper.Result, error) {
	w, err := s.lane(ctx, "ledger", in.GetLedger(), in.GetWriter())
	if err != nil {
		return keeper.Result{}, err
	}
	if err := s.compareReceipt("last_receipt", in.GetLedger(), in.GetLastReceipt()); err != nil {
		return keeper.Result{}, err
	}
	adjacency, err := s.keeper.Adjacency(ctx, in.GetLedger())
	if err != nil {
		return keeper.Result{}, err
	}
	v, err := action(adjacency)
	if err != nil {
		return keeper.Result{}, err
	}
	r, err := request(ctx, w, in.GetSequence(), v)
	if err != nil {
		return keeper.Result{}, err
	}
	r.CheckOnly = checkOnly
	if a, ok := in.(*approving); ok {
		r.Approval, r.Lapsed, r.Digest = &a.by, a.lapsed, record.DigestOf(v, &a.by)
	}
	return s.keeper.Do(ctx, in.GetLedger(), r)
}

// lane checks a ledger's name (field is its place in the request) and makes the
// caller's writer.
func (s *service) lane(ctx context.Context, field, name, writer string) (ledger.Writer, error) {
	if err := wire.CheckLedgerName(field, name); err != nil {
		return ledger.Writer{}, err
	}
	return wire.ToWriter(principal(ctx), writer)
}

func request(ctx context.Context, w ledger.Writer, sequence uint64, action ledger.Action) (ledger.Request, error) {
	if err := wire.CheckSequence(w, sequence); err != nil {
		return ledger.Request{}, err
	}
	return ledger.Request{Writer: w, Sequence: sequence, Digest: record.Digest(action), Action: action,
		Caller: passage(ctx).Caller()}, nil
}

// closing is a CloseLedgerRequest, which calls its ledger "name".
type closing struct{ *pb.CloseLedgerRequest }

func (c closing) GetLedger() string { return c.GetName() }

// CloseLedger implements the API.
func (s *service) CloseLedger(ctx context.Context, req *pb.CloseLedgerRequest) (*pb.CloseLedgerResponse, error) {
	if err := wire.CheckLedgerName("name", req.GetName()); err != nil {
		return nil, err
	}
	return written[pb.CloseLedgerResponse](ctx, s, closing{req}, func(mechanism.Adjacency) (ledger.Close, error) {
		return wire.To[ledger.Close]("", 0, &pb.Close{Reason: req.GetReason()})
	})
}

// Reserve implements the API.
func (s *service) Reserve(ctx context.Context, req *pb.ReserveRequest) (*pb.ReserveResponse, error) {
	answer, err := written[pb.ReserveResponse](ctx, s, req, func(adj mechanism.Adjacency) (ledger.Reserve, error) {
		return toReserve(ctx, adj, req.GetReserve())
	})
	if err != nil {
		return nil, err
	}
	s.expiry.wake()
	lifetime := time.Duration(req.GetReserve().GetLifetimeSeconds()) * time.Second
	answer.ExpireTime = timestamppb.New(answer.GetReceipt().GetTime().AsTime().Add(lifetime))
	return answer, nil
}

// Commit implements the API.
func (s *service) Commit(ctx context.Context, req *pb.CommitRequest) (*pb.CommitResponse, error) {
	return written[pb.CommitResponse](ctx, s, req, func(adj mechanism.Adjacency) (ledger.Commit, error) {
		return toCommit(ctx, adj, req.GetCommit())
	})
}

// Release implements the API.
func (s *service) Release(ctx context.Context, req *pb.ReleaseRequest) (*pb.ReleaseResponse, error) {
	return written[pb.ReleaseResponse](ctx, s, req, func(_ mechanism.Adjacency) (ledger.Release, error) {
		return toRelease(ctx, req.GetRelease())
	})
}

// toReserve converts a reservation, which belongs to the caller's holder.
func toReserve(ctx context.Context, adj mechanism.Adjacency, m *pb.Reserve) (ledger.Reserve, error) {
	v, err := wire.To[ledger.Reserve]("reserve", adj, m)
	v.Holder = passage(ctx).Holder()
	return v, err
}

// toCommit converts a commit by the caller's holder.
func toCommit(ctx context.Context, adj mechanism.Adjacency, m *pb.Commit) (ledger.Commit, error) {
	v, err := wire.To[ledger.Commit]("commit", adj, m)
	v.Holder = passage(ctx).Holder()
	return v, err
}

// toRelease converts a release by the caller's holder.
func toRelease(ctx context.Context, m *pb.Release) (ledger.Release, error) {
	v, err := wire.To[ledger.Release]("release", 0, m)
	v.Holder = passage(ctx).Holder()
	return v, err
}

// Expire implements the API.
func (s *service) Expire(ctx context.Context, req *pb.ExpireRequest) (*pb.ExpireResponse, error) {
	return written[pb.ExpireResponse](ctx, s, req, func(_ mechanism.Adjacency) (ledger.Expire, error) {
		return wire.To[ledger.Expire]("expire", 0, req.GetExpire())
	})
}

// Free implements the API.
func (s *service) Free(ctx context.Context, req *pb.FreeRequest) (*pb.FreeResponse, error) {
	return written[pb.FreeResponse](ctx, s, req, func(_ mechanism.Adjacency) (ledger.Free, error) {
		return wire.To[ledger.Free]("free", 0, req.GetFree())
	})
}

// Refund implements the API.
func (s *service) Refund(ctx context.Context, req *pb.RefundRequest) (*pb.RefundResponse, error) {
	return written[pb.RefundResponse](ctx, s, req, func(_ mechanism.Adjacency) (ledger.Refund, error) {
		return wire.To[ledger.Refund]("refund", 0, req.GetRefund())
	})
}

// Raise implements the API.
func (s *service) Raise(ctx context.Context, req *pb.RaiseRequest) (*pb.RaiseResponse, error) {
	return written[pb.RaiseResponse](ctx, s, req, func(adj mechanism.Adjacency) (ledger.Raise, error) {
		return wire.To[ledger.Raise]("raise", adj, req.GetRaise())
	})
}

// Acknowledge implements the API.
func (s *service) Acknowledge(ctx context.Context, req *pb.AcknowledgeRequest) (*pb.AcknowledgeResponse, error) {
	return written[pb.AcknowledgeResponse](ctx, s, req, func(_ mechanism.Adjacency) (ledger.Acknowledge, error) {
		return wire.To[ledger.Acknowledge]("acknowledge", 0, req.GetAcknowledge())
	})
}

// Reconcile implements the API.
func (s *service) Reconcile(ctx context.Context, req *pb.ReconcileRequest) (*pb.ReconcileResponse, error) {
	return written[pb.ReconcileResponse](ctx, s, req, func(adj mechanism.Adjacency) (ledger.Reconcile, error) {
		return wire.To[ledger.Reconcile]("reconcile", adj, req.GetReconcile())
	})
}
