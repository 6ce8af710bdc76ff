// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// watchPause is the least time between two states that one watcher gets. A state is copied for
// each of them, and a busy ledger should not have to wait for that after every commit.
const watchPause = 20 * time.Millisecond

// WatchLedger implements the API. It ends when the ledger is closed (OK), the client goes away,
// the server stops (UNAVAILABLE) or the caller's token ends (UNAUTHENTICATED).
func (s *service) WatchLedger(req *pb.WatchLedgerRequest, stream pb.Ledgers_WatchLedgerServer) error {
	if err := checkRequest(req); err != nil {
		return err
	}
	if err := wire.CheckLedgerName("name", req.GetName()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	ending, stop := s.ending(ctx)
	defer stop()
	defer context.AfterFunc(ending, func() { cancel(context.Cause(ending)) })()
	defer passage(ctx).OnLoss(func(err error) { cancel(err) })()
	s.metrics.watchers.Inc()
	defer s.metrics.watchers.Dec()
	err := s.keeper.Watch(ctx, req.GetName(), func(v ledger.View) error {
		if err := passage(ctx).Check(); err != nil {
			return err
		}
		if err := stream.Send(&pb.WatchLedgerResponse{Ledger: wire.FromView(v)}); err != nil || v.Closed {
			return err
		}
		pause := time.NewTimer(watchPause)
		defer pause.Stop()
		select {
		case <-pause.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil && context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}
