// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/server/overview"
	"github.com/dpaccountant/accountant/internal/server/sessions"
	"github.com/dpaccountant/accountant/internal/server/signing"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/server/upkeep"
	"github.com/dpaccountant/accountant/internal/wire"
)

// service implements the API. Its methods return the domain's errors; the
// interceptors turn them into statuses.
type service struct {
	api.Unimplemented
	*overviews
	*upkeep.Upkeep
	*refusals
	keeper   *keeper.Keeper
	inTime   turns.InTime
	sessions *sessions.Sessions // about what was charged
	plans    *sessions.Sessions // about plans
	store    ledger.Store       // reads of committed records
	metrics  *Metrics
	gate     *gate.Gate
	draining context.Context
	expiry   *expiry
	census   *census
	version  string

	charges  [mechanism.ZeroOut + 1]*record.Charges // of unary calls, by adjacency
	requests sync.Pool                              // of *encoded

	signer  signing.Signer
	backups *backupSender
}

// overviews are the handlers of package overview, under a name of their own.
type overviews = overview.Handlers

// Backup implements the API.
func (s *service) Backup(req *pb.BackupRequest, stream pb.Admin_BackupServer) error {
	if err := checkRequest(req); err != nil {
		return err
	}
	return s.backups.Send(req, stream)
}

// CreateLedger implements the API.
func (s *service) CreateLedger(ctx context.Context, req *pb.CreateLedgerRequest) (*pb.CreateLedgerResponse, error) {
	asked := req.GetSpec()
	if name := asked.GetParent(); name != "" {
		parent, err := s.keeper.Summary(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("spec.parent: %w", err)
		}
		asked = proto.CloneOf(asked)
		wire.Inherit(asked, wire.FromSpec(parent.Genesis.Spec))
	}
	asked, err := s.guarded(ctx, asked)
	if err != nil {
		return nil, err
	}
	spec, err := wire.ToSpec(asked)
	if err != nil {
		return nil, err
	}
	genesis := ledger.Genesis{Spec: spec, Principal: principal(ctx), Policy: passage(ctx).Policy()}
	var summary ledger.Summary
	var created bool
	if err := s.census.create(func() (_ bool, err error) {
		summary, created, err = s.keeper.CreateFor(ctx, genesis, passage(ctx).Caller())
		return created, err
	}); err != nil {
		return nil, wire.InSpec(err)
	}
	view, err := s.keeper.View(ctx, summary.Genesis.Spec.Name)
	if err != nil {
		return nil, err
	}
	s.metrics.budgets.found(view.Summary)
	return &pb.CreateLedgerResponse{Ledger: wire.FromView(view), Created: created}, nil
}

// GetLedger implements the API.
func (s *service) GetLedger(ctx context.Context, req *pb.GetLedgerRequest) (*pb.GetLedgerResponse, error) {
	if err := wire.CheckLedgerName("name", req.GetName()); err != nil {
		return nil, err
	}
	view, err := s.view(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &pb.GetLedgerResponse{Ledger: wire.FromViewAfter(view, req.GetReservationsFrom())}, nil
}

// view reads a ledger, or a dataset's record.
func (s *service) view(ctx context.Context, name string) (ledger.View, error) {
	v, err := s.keeper.View(ctx, name)
	if id, is := strings.CutPrefix(name, ledger.DatasetsPrefix); is && errors.Is(err, ledger.ErrNotFound) {
		err = fmt.Errorf("%w: dataset %q is not registered; allowed: a registered one (accountctl dataset list)",
			ledger.ErrNotFound, id)
	}
	return v, err
}

// GetWriter implements the API.
func (s *service) GetWriter(ctx context.Context, req *pb.GetWriterRequest) (*pb.GetWriterResponse, error) {
	w, err := s.lane(ctx, "", req.GetLedger(), req.GetWriter())
	if err != nil {
		return nil, err
	}
	sequence, position, err := s.keeper.Writer(ctx, req.GetLedger(), w)
	if err != nil {
		return nil, err
	}
	return &pb.GetWriterResponse{LastSequence: sequence, LastPosition: position}, nil
}
