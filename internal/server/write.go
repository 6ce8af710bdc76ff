package server

import (
	"context"

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
func (s *service) write(ctx context.Context, in laned, checkOnly bool, action func(mechanism.Adjacency) (ledger.Action, error)) (keeper.Result, error) {
	result, err := s.decide(ctx, in, checkOnly, action)
	s.metrics.write(!checkOnly, result.Replayed, err)
	return result, err
}

func (s *service) decide(ctx context.Context, in laned, checkOnly bool, action func(mechanism.Adjacency) (ledger.Action, error)) (keeper.Result, error) {
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
	return ledger.Request{Writer: w, Sequence: sequence, Digest: record.Digest(action), Action: action, Caller: holder(ctx)}, nil
}

// closing is a CloseLedgerRequest, which calls its ledger "name".
type closing struct{ *pb.CloseLedgerRequest }

func (c closing) GetLedger() string { return c.GetName() }

// CloseLedger implements the API.
func (s *service) CloseLedger(ctx context.Context, req *pb.CloseLedgerRequest) (*pb.CloseLedgerResponse, error) {
	if err := wire.CheckLedgerName("name", req.GetName()); err != nil {
		return nil, err
	}
	result, err := s.write(ctx, closing{req}, false, func(mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToClose(req.GetReason())
	})
	if err != nil {
		return nil, err
	}
	return &pb.CloseLedgerResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Reserve implements the API.
func (s *service) Reserve(ctx context.Context, req *pb.ReserveRequest) (*pb.ReserveResponse, error) {
	var action ledger.Reserve
	result, err := s.write(ctx, req, false, func(adj mechanism.Adjacency) (_ ledger.Action, err error) {
		action, err = wire.ToReserve(adj, req.GetReserve())
		return action, err
	})
	if err != nil {
		return nil, err
	}
	s.expiry.wake()
	return &pb.ReserveResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed,
		ExpireTime: timestamppb.New(result.Receipt.Time.Add(action.Lifetime))}, nil
}

// Commit implements the API.
func (s *service) Commit(ctx context.Context, req *pb.CommitRequest) (*pb.CommitResponse, error) {
	result, err := s.write(ctx, req, false, func(adj mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToCommit(adj, req.GetCommit())
	})
	if err != nil {
		return nil, err
	}
	return &pb.CommitResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Release implements the API.
func (s *service) Release(ctx context.Context, req *pb.ReleaseRequest) (*pb.ReleaseResponse, error) {
	result, err := s.write(ctx, req, false, func(mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToRelease(req.GetRelease())
	})
	if err != nil {
		return nil, err
	}
	return &pb.ReleaseResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Expire implements the API: on the daemon's own socket only.
func (s *service) Expire(ctx context.Context, req *pb.ExpireRequest) (*pb.ExpireResponse, error) {
	if err := checkOwnSocket(ctx); err != nil {
		return nil, err
	}
	result, err := s.write(ctx, req, false, func(mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToExpire(req.GetExpire())
	})
	if err != nil {
		return nil, err
	}
	return &pb.ExpireResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Free implements the API: on the daemon's own socket only.
func (s *service) Free(ctx context.Context, req *pb.FreeRequest) (*pb.FreeResponse, error) {
	if err := checkOwnSocket(ctx); err != nil {
		return nil, err
	}
	result, err := s.write(ctx, req, false, func(mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToFree(req.GetFree())
	})
	if err != nil {
		return nil, err
	}
	return &pb.FreeResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Refund implements the API: on the daemon's own socket only.
func (s *service) Refund(ctx context.Context, req *pb.RefundRequest) (*pb.RefundResponse, error) {
	if err := checkOwnSocket(ctx); err != nil {
		return nil, err
	}
	result, err := s.write(ctx, req, false, func(mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToRefund(req.GetRefund())
	})
	if err != nil {
		return nil, err
	}
	return &pb.RefundResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Raise implements the API: on the daemon's own socket only.
func (s *service) Raise(ctx context.Context, req *pb.RaiseRequest) (*pb.RaiseResponse, error) {
	if err := checkOwnSocket(ctx); err != nil {
		return nil, err
	}
	result, err := s.write(ctx, req, false, func(adj mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToRaise(adj, req.GetRaise())
	})
	if err != nil {
		return nil, err
	}
	return &pb.RaiseResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

// Reconcile implements the API: on the daemon's own socket only.
func (s *service) Reconcile(ctx context.Context, req *pb.ReconcileRequest) (*pb.ReconcileResponse, error) {
	if err := checkOwnSocket(ctx); err != nil {
		return nil, err
	}
	result, err := s.write(ctx, req, false, func(adj mechanism.Adjacency) (ledger.Action, error) {
		return wire.ToReconcile(adj, req.GetReconcile())
	})
	if err != nil {
		return nil, err
	}
	return &pb.ReconcileResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}
