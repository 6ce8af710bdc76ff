// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// A daemon that runs while a newer version of the program changes the tables refuses everything once it looks.
func TestNewerSchemaWhileServing(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	s := mustOpen(t, c)
	defer mustClose(t, s)
	if ahead, err := s.Ahead(); err != nil || ahead != 0 {
		t.Errorf("the clock of this machine is %v behind itself, %v", ahead, err)
	}
	if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	execute(t, c.URL, "INSERT INTO schema_version (version_id, is_applied) VALUES (4711, true)")
	if _, err := s.Ahead(); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Charge(s, "l", 0); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a charge: %v", err)
	}
	if _, err := s.Heads([]string{"l"}); !errors.Is(err, ledger.ErrUnavailable) || s.Ready() == nil {
		t.Errorf("a question: %v", err)
	}
}

// What a daemon that was killed has left in marks is removed by the next that starts. Those that run keep theirs.
func TestMarksOfDeadDaemons(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	dead, alive := mustOpen(t, c), mustOpen(t, c)
	defer mustClose(t, alive)
	if _, _, err := alive.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	dead.pool.Close() // as a kill does
	defer dead.close()
	next := mustOpen(t, c)
	defer mustClose(t, next)
	count := func(s *Store) (n int) {
		if err := alive.pool.QueryRow(t.Context(), "SELECT count(*) FROM marks WHERE daemon = $1", s.daemon).
			Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(dead); n != 0 {
		t.Errorf("%d rows of a daemon that is gone", n)
	}
	if count(alive) < 2 || count(next) < 2 {
		t.Errorf("%d and %d rows of daemons that run", count(alive), count(next))
	}
	if err := storetest.Charge(alive, "l", 0); err != nil {
		t.Error(err)
	}
}
