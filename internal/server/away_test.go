// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// database is a store whose database goes away and comes back.
type database struct {
	memory.Shared
	away *atomic.Bool
}

func (d database) Ready() error {
	if d.away.Load() {
		return ledger.ErrUnavailable
	}
	return nil
}

// Readiness follows the database, over HTTP and gRPC, in both directions.
func TestReadinessFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	store := database{memory.New(memory.Config{}).Shared(), &atomic.Bool{}}
	s := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{HTTP: "127.0.0.1:0"}})
	check := func(want bool) {
		t.Helper()
		answer, err := healthpb.NewHealthClient(s.Conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil || (answer.GetStatus() == healthpb.HealthCheckResponse_SERVING) != want {
			t.Errorf("gRPC: %v, %v; serving: %v", answer, err, want)
		}
		got, err := http.Get("http://" + s.HTTPAddr + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err != nil || (got.StatusCode == http.StatusOK) != want || strings.HasPrefix(string(text), "not") == want {
			t.Errorf("HTTP: %d %q, %v; serving: %v", got.StatusCode, text, err, want)
		}
	}
	check(true)
	store.away.Store(true)
	check(false)
	store.away.Store(false)
	check(true)
}
