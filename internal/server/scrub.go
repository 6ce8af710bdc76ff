package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// checkable is a store whose file can be checked while it serves.
type checkable interface {
	// Scrub goes through all of the file once, reading at most rate bytes a second.
	Scrub(ctx context.Context, rate int64) (read int64, err error)
	// Damaged is closed once the file was found damaged, by whatever read it. From then on the
	// store refuses everything, and Damage says why.
	Damaged() <-chan struct{}
	Damage() error
}

// damage returns why the store's file is known to be damaged, or nil.
func (s *Server) damage() error {
	if c, ok := s.config.Store.(checkable); ok {
		return c.Damage()
	}
	return nil
}

// scrub checks the store's file again and again until ctx ends or damage is found, by scrub
// itself, by a charge or by a backup. From then on health is red until somebody has looked; a
// restart would find the same damage.
func (s *Server) scrub(ctx context.Context) {
	store, ok := s.config.Store.(checkable)
	if !ok {
		return
	}
	var scrubs sync.WaitGroup
	defer scrubs.Wait()
	if s.config.ScrubInterval > 0 {
		scrubs.Go(func() { s.scrubs(ctx, store) })
	}
	select {
	case <-ctx.Done():
		return
	case <-store.Damaged():
	}
	s.config.Logger.Error("the store's file is damaged: everything is refused", "error", store.Damage(),
		"do", "stop the daemon, keep the file, look at the disk, and restore a backup (docs/durability.md)")
	s.metrics.damaged.Set(1)
	s.unhealthy()
}

// unhealthy turns health red.
func (s *Server) unhealthy() {
	for _, name := range []string{"", pb.AccountantService_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
}

// scrubs checks the whole file once after the start, and then at intervals.
func (s *Server) scrubs(ctx context.Context, store checkable) {
	for {
		began := time.Now()
		read, err := store.Scrub(ctx, s.config.ScrubRate)
		s.metrics.scrubbed.Add(float64(read))
		wait := s.config.ScrubInterval
		switch {
		case ctx.Err() != nil, errors.Is(err, ledger.ErrDamaged):
			return
		case err != nil: // the store has failed, or a read
			s.config.Logger.Warn("the store's file could not be checked: it is tried again", "error", err)
			wait = min(wait, time.Minute)
		default:
			s.metrics.clean.Store(time.Now().UnixNano())
			s.config.Logger.Debug("the store's file was checked: nothing is damaged", "bytes", read,
				"took", time.Since(began))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
