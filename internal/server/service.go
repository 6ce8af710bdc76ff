package server

import (
	"context"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// service implements the API. Its methods return the domain's errors; the
// interceptors turn them into statuses.
type service struct {
	pb.UnimplementedAccountantServiceServer
	keeper   *keeper.Keeper
	sessions *sessions
	store    ledger.Store // reads of committed records
	metrics  *Metrics
	draining context.Context
}

// CreateLedger implements the API.
func (s *service) CreateLedger(ctx context.Context, req *pb.CreateLedgerRequest) (*pb.CreateLedgerResponse, error) {
	spec, err := wire.ToSpec(req.GetSpec())
	if err != nil {
		return nil, err
	}
	summary, created, err := s.keeper.Create(ctx, ledger.Genesis{Spec: spec, Principal: principal(ctx)})
	if err != nil {
		return nil, err
	}
	if created {
		s.metrics.ledgers.Inc()
	}
	return &pb.CreateLedgerResponse{Ledger: wire.FromSummary(summary), Created: created}, nil
}

// GetLedger implements the API.
func (s *service) GetLedger(ctx context.Context, req *pb.GetLedgerRequest) (*pb.GetLedgerResponse, error) {
	if err := wire.CheckLedgerName("name", req.GetName()); err != nil {
		return nil, err
	}
	summary, err := s.keeper.Summary(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &pb.GetLedgerResponse{Ledger: wire.FromSummary(summary)}, nil
}

// GetWriter implements the API.
func (s *service) GetWriter(ctx context.Context, req *pb.GetWriterRequest) (*pb.GetWriterResponse, error) {
	w, err := s.lane(ctx, "ledger", req.GetLedger(), req.GetWriter())
	if err != nil {
		return nil, err
	}
	sequence, position, err := s.keeper.Writer(ctx, req.GetLedger(), w)
	if err != nil {
		return nil, err
	}
	return &pb.GetWriterResponse{LastSequence: sequence, LastPosition: position}, nil
}

// Report implements the API.
func (s *service) Report(ctx context.Context, req *pb.ReportRequest) (*pb.ReportResponse, error) {
	result, err := s.report(ctx, req)
	s.metrics.charge(!req.GetCheckOnly(), result.Replayed, err)
	if err != nil {
		return nil, err
	}
	checked := req.GetCheckOnly() && !result.Replayed
	answer := &pb.ReportResponse{Replayed: result.Replayed, CheckOnly: checked}
	if !checked {
		answer.Receipt = wire.FromReceipt(result.Receipt)
	}
	return answer, nil
}

func (s *service) report(ctx context.Context, req *pb.ReportRequest) (keeper.Result, error) {
	w, err := s.lane(ctx, "ledger", req.GetLedger(), req.GetWriter())
	if err != nil {
		return keeper.Result{}, err
	}
	adjacency, err := s.keeper.Adjacency(ctx, req.GetLedger())
	if err != nil {
		return keeper.Result{}, err
	}
	charge, err := wire.ToCharge(adjacency, req.GetCharge())
	if err != nil {
		return keeper.Result{}, err
	}
	r, err := request(w, req.GetSequence(), charge)
	if err != nil {
		return keeper.Result{}, err
	}
	r.CheckOnly = req.GetCheckOnly()
	return s.keeper.Do(ctx, req.GetLedger(), r)
}

// CloseLedger implements the API.
func (s *service) CloseLedger(ctx context.Context, req *pb.CloseLedgerRequest) (*pb.CloseLedgerResponse, error) {
	result, err := s.closeLedger(ctx, req)
	s.metrics.charge(true, result.Replayed, err)
	if err != nil {
		return nil, err
	}
	return &pb.CloseLedgerResponse{Receipt: wire.FromReceipt(result.Receipt), Replayed: result.Replayed}, nil
}

func (s *service) closeLedger(ctx context.Context, req *pb.CloseLedgerRequest) (keeper.Result, error) {
	w, err := s.lane(ctx, "name", req.GetName(), req.GetWriter())
	if err != nil {
		return keeper.Result{}, err
	}
	verb, err := wire.ToClose(req.GetReason())
	if err != nil {
		return keeper.Result{}, err
	}
	r, err := request(w, req.GetSequence(), verb)
	if err != nil {
		return keeper.Result{}, err
	}
	return s.keeper.Do(ctx, req.GetName(), r)
}

// lane checks a ledger's name (field is its place in the request) and makes the
// caller's writer.
func (s *service) lane(ctx context.Context, field, name, writer string) (ledger.Writer, error) {
	if err := wire.CheckLedgerName(field, name); err != nil {
		return ledger.Writer{}, err
	}
	return wire.ToWriter(principal(ctx), writer)
}

func request(w ledger.Writer, sequence uint64, verb ledger.Verb) (ledger.Request, error) {
	if err := wire.CheckSequence(w, sequence); err != nil {
		return ledger.Request{}, err
	}
	return ledger.Request{Writer: w, Sequence: sequence, Digest: wire.Digest(verb), Verb: verb}, nil
}
