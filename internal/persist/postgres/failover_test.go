// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// TestOldPrimary: a primary without its standby, as after a failover that it has not noticed, is not believed when it
// says that something is not there.
func TestOldPrimary(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "a standby is promoted, and the old primary goes on")
	server := pgtest.Start(t, pgtest.Config{Synchronous: true})
	url := server.Database(t)
	w := ledger.Writer{Principal: "p", Name: "w"}
	questions := map[string]func(*Store) error{
		"Load":             func(s *Store) error { _, err := s.Load("new"); return err },
		"GenesisRecord":    func(s *Store) error { _, _, err := s.GenesisRecord("new"); return err },
		"Records":          func(s *Store) error { _, err := s.Records("new", 1, 1); return err },
		"Records after it": func(s *Store) error { _, err := s.Records("l", 1000, 1); return err },
		"Writer":           func(s *Store) error { _, _, err := s.Writer("l", w); return err },
		"RecordOf":         func(s *Store) error { _, err := s.RecordOf("l", w, 1); return err },
		"Namesakes":        func(s *Store) error { _, err := s.Namesakes("l", w); return err },
		"List":             func(s *Store) error { _, err := s.List("new", "", 1); return err },
		"Reserving":        func(s *Store) error { _, err := s.Reserving(); return err },
		"Keys":             func(s *Store) error { _, err := s.Keys(); return err },
	}
	stores := map[string]*Store{}
	for name := range questions { // the first question that fails keeps the others from being asked
		s := mustOpen(t, Config{URL: url, ReadLimit: 500 * time.Millisecond, CommitLimit: time.Second})
		defer mustClose(t, s)
		if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
			t.Fatal(err)
		}
		if err := storetest.Charge(s, "l", 0); err != nil && !errors.Is(err, ledger.ErrConflict) {
			t.Fatal(err)
		}
		if _, err := s.Load("l"); err != nil { // its head is known
			t.Fatal(err)
		}
		stores[name] = s
	}
	if err := server.Standby.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, ask := range questions {
		if err := ask(stores[name]); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s = %v; want ErrUnavailable", name, err)
		}
	}
	if err := server.Standby.Start(); err != nil {
		t.Fatal(err)
	}
}

// TestStoppedHost: of several servers in the address the first may be one that takes connections and never answers, as
// a machine that was stopped.
func TestStoppedHost(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	stopped, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stopped.Close() }()
	own := fmt.Sprintf("127.0.0.1:%d", server.Port)
	url := strings.Replace(server.Database(t), own, stopped.Addr().String()+","+own, 1)
	s := mustOpen(t, Config{URL: url, ReadLimit: 2 * time.Second}) // half of which the first one may take
	defer mustClose(t, s)
	if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := server.TerminateAll(); err != nil {
			t.Fatal(err)
		}
		for patience := time.Now().Add(time.Minute); time.Now().Before(patience); { // as clients do
			if _, err = s.Load("l"); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEarlierTimeline: an old primary that takes the lead back from its successor lacks what was acknowledged there.
// A daemon that has worked with the successor does not believe it, and goes on when the successor leads again.
func TestEarlierTimeline(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "a standby is promoted, and a server is copied")
	old := pgtest.Start(t, pgtest.Config{Synchronous: true})
	proxy, through := pgtest.NewProxy(t, old.Database(t))
	s := mustOpen(t, Config{URL: through})
	defer mustClose(t, s)
	patiently := func(what string, f func() error) {
		t.Helper()
		var err error
		deadline := time.Now().Add(2 * time.Minute)
		for ; time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if err = f(); err == nil {
				return
			}
		}
		t.Fatalf("%s: %v", what, err)
	}
	create := func() error { _, _, err := s.Create(storetest.Genesis("l")); return err }
	load := func() error { _, err := s.Load("l"); return err }
	successor := old.Standby
	if err := successor.Promote(); err != nil {
		t.Fatal(err)
	}
	proxy.Lead(successor)
	if err := old.TerminateAll(); err != nil {
		t.Fatal(err)
	}
	patiently("a ledger on the successor", create)
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"} {
		if err := old.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	proxy.Lead(old)
	if err := successor.TerminateAll(); err != nil {
		t.Fatal(err)
	}
	patiently("the refusal because of the timeline", func() error {
		err := load()
		if !errors.Is(err, ledger.ErrUnavailable) {
			t.Fatalf("a ledger that the old primary lacks: %v; want ErrUnavailable", err)
		}
		if strings.Contains(err.Error(), "timeline 1") {
			return nil
		}
		return err // of the connection that was lost before
	})
	proxy.Lead(successor)
	patiently("the ledger, when the successor leads again", load)
}
