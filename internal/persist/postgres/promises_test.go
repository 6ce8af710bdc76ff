// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// A primary that waits for no standby says so, and takes no commit from a daemon that requires one; questions and
// other daemons go on.
func TestRequireStandby(t *testing.T) {
	url := database(t)
	strict, other := mustOpen(t, Config{URL: url}), mustOpen(t, Config{URL: url})
	strict.RequireStandby(true)
	defer mustClose(t, strict)
	defer mustClose(t, other)
	p, err := strict.Promises()
	if err != nil || p.SynchronousStandbys != "" || p.Standbys != 0 || p.Timeline < 1 {
		t.Errorf("%+v, %v; want a primary without standbys on its first timeline", p, err)
	}
	if _, _, err := strict.Create(storetest.Genesis("l")); !errors.Is(err, ledger.ErrUnavailable) ||
		!errors.Is(err, errNoStandby) {
		t.Errorf("Create = %v; want ErrUnavailable, for want of a standby", err)
	}
	if _, _, err := other.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	if heads, err := strict.Heads([]string{"l"}); err != nil || heads[0] == (ledger.Head{}) {
		t.Errorf("Heads = %v, %v", heads, err)
	}
	if err := storetest.Charge(strict, "l", 0); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a charge: %v; want ErrUnavailable", err)
	}
}

// A daemon that requires a standby serves while the primary waits for one, refuses charges from the moment when
// replication becomes asynchronous, as Patroni makes it, and takes them again when it is synchronous. The
// promises say how far the standby is.
func TestRequireStandbyWhileRunning(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{Synchronous: true})
	store := mustOpen(t, Config{URL: server.Database(t)})
	store.RequireStandby(true)
	defer mustClose(t, store)
	if _, _, err := store.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	p, err := store.Promises()
	if err != nil || p.Standbys != 1 || p.Synchronous != 1 || p.LagBytes == nil || *p.LagBytes < 0 {
		t.Errorf("%+v, %v; want one standby, which is synchronous, and its lag", p, err)
	}
	wait := func(names string, want bool) {
		t.Helper()
		for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + names + "'",
			"SELECT pg_reload_conf()"} {
			if err := server.Exec(sql); err != nil {
				t.Fatal(err)
			}
		}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			p, err := store.Promises()
			if err == nil && (p.SynchronousStandbys != "") == want && (p.Synchronous == 1) == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v, %v", p, err)
			}
		}
	}
	if err := storetest.Charge(store, "l", 0); err != nil {
		t.Fatal(err)
	}
	wait("", false)
	if err := storetest.Charge(store, "l", 1); !errors.Is(err, ledger.ErrUnavailable) ||
		!errors.Is(err, errNoStandby) {
		t.Errorf("a charge without a standby: %v; want ErrUnavailable", err)
	}
	wait("*", true)
	if err := storetest.Charge(store, "l", 1); err != nil {
		t.Errorf("a charge with the standby again: %v", err)
	}
}
