// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// TestOpenTogether: daemons that start together on an empty database make one store.
func TestOpenTogether(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	stores := make([]*Store, 4)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			var err error
			if stores[i], err = Open(c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		if s == nil {
			continue
		}
		defer mustClose(t, s)
		if s.ID() == "" || s.ID() != stores[0].ID() {
			t.Errorf("a daemon opened store %q, another one %q", s.ID(), stores[0].ID())
		}
		if sum, _, err := s.Create(storetest.Genesis("one")); err != nil || sum.Genesis.StoreID != s.ID() {
			t.Errorf("Create = %+v, %v", sum, err)
		}
	}
}

// TestNewerSchema: an older daemon refuses a database that a newer one has changed.
func TestNewerSchema(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	mustClose(t, mustOpen(t, c))
	execute(t, c.URL, "INSERT INTO schema_version (version_id, is_applied) VALUES (4711, true)")
	if s, err := Open(c); err == nil {
		mustClose(t, s)
		t.Error("a database of schema version 4711 was opened")
	} else if !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "newer") {
		t.Errorf("the error is %v", err)
	}
}

// TestTablesInAnotherSchema: a schema that is made later, or another search_path, leads daemons away from the
// tables. No empty store is made beside them.
func TestTablesInAnotherSchema(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	s := mustOpen(t, c)
	id := s.ID()
	mustClose(t, s)
	name := s.pool.Config().ConnConfig.Database
	refused := func(words ...string) {
		t.Helper()
		s, err := Open(c)
		if err == nil {
			t.Errorf("store %s was made beside %s", s.ID(), id)
			mustClose(t, s)
		}
		for _, word := range words {
			if err != nil && !strings.Contains(err.Error(), word) {
				t.Errorf("the error does not have %q: %v", word, err)
			}
		}
	}
	execute(t, c.URL, `DO $$ BEGIN EXECUTE format('CREATE SCHEMA %I', current_user); END $$`)
	refused("schema "+s.pool.Config().ConnConfig.User, "schema public", "search_path = public")
	execute(t, c.URL, `DO $$ BEGIN EXECUTE format('DROP SCHEMA %I CASCADE', current_user); END $$`)
	execute(t, c.URL, "ALTER DATABASE "+name+" SET search_path = nowhere")
	refused("search_path", "schema that exists")
	execute(t, c.URL, "ALTER DATABASE "+name+" RESET search_path")
	s = mustOpen(t, c)
	defer mustClose(t, s)
	if s.ID() != id {
		t.Errorf("store %s; want %s", s.ID(), id)
	}
}

// TestTablesOfOthers: in a database that another program uses, nothing is made, and the error says which table is
// in the way. Some other programs keep their versions in a table of the same name.
func TestTablesOfOthers(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{"ledgers (id integer)", "table ledgers already"},
		{"schema_version (installed_rank integer, version text)", "table schema_version already"},
	} {
		url := pgtest.Database(t)
		execute(t, url, "CREATE TABLE "+c.table)
		if s, err := Open(Config{URL: url}); err == nil {
			t.Errorf("beside %s: opened", c.table)
			mustClose(t, s)
		} else if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "empty database") {
			t.Errorf("beside %s: %v", c.table, err)
		}
		execute(t, url, "CREATE TABLE meta (name text)") // fails if it was made
	}
}

// TestPooler: a pooler that gives each transaction another session is refused, and one that does not is not.
func TestPooler(t *testing.T) {
	url := pgtest.Database(t)
	mustClose(t, mustOpen(t, Config{URL: url})) // takes its time to make the tables
	mustClose(t, mustOpen(t, Config{URL: pgtest.Pool(t, url, "session")}))
	if s, err := Open(Config{URL: pgtest.Pool(t, url, "transaction")}); err == nil {
		t.Error("a store was opened through a pooler that gives each transaction another session")
		mustClose(t, s)
	} else if !strings.Contains(err.Error(), "pool_mode = session") {
		t.Errorf("the error is %v", err)
	}
}

// TestLostIdentifier: ledgers of which nothing says any more to which store they belong get no new identifier, from a
// daemon that starts or one that connects anew, and nothing is restored among them.
func TestLostIdentifier(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	running := mustOpen(t, c)
	defer mustClose(t, running)
	if _, _, err := running.Create(storetest.Genesis("one")); err != nil {
		t.Fatal(err)
	}
	execute(t, c.URL, "DELETE FROM meta")
	if s, err := Open(c); err == nil {
		t.Errorf("store %s was opened with the ledgers of %s", s.ID(), running.ID())
		mustClose(t, s)
	} else if !errors.Is(err, ledger.ErrDamaged) || !strings.Contains(err.Error(), "identifier") {
		t.Errorf("the error is %v", err)
	}
	running.pool.Reset()
	if _, err := running.Heads([]string{"one"}); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("Heads of the running store = %v", err)
	}
	file, path := fileStore(t, 1)
	mustClose(t, file)
	if _, _, err := Fill(t.Context(), c, path, nil); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("Fill = %v", err)
	}
}

// TestOnlyThisStore: where a store was served, another one, or none, is not taken for it, and nothing is made.
func TestOnlyThisStore(t *testing.T) {
	c := Config{URL: pgtest.Database(t)}
	s := mustOpen(t, c)
	c.ID = s.ID()
	mustClose(t, s)
	mustClose(t, mustOpen(t, c))
	empty := Config{URL: pgtest.Database(t), ID: c.ID}
	other := Config{URL: pgtest.Database(t)}
	mustClose(t, mustOpen(t, other))
	other.ID = c.ID
	for _, c := range []Config{empty, other} {
		if s, err := Open(c); err == nil {
			t.Errorf("store %s was opened as %s", s.ID(), c.ID)
			mustClose(t, s)
		} else if !errors.Is(err, ErrOtherStore) {
			t.Errorf("the error is %v", err)
		}
	}
	execute(t, empty.URL, "CREATE TABLE meta (name text)") // fails if it was made
}

// TestUnsafeConnections: a server elsewhere must prove who it is, and passwords are not repeated.
func TestUnsafeConnections(t *testing.T) {
	for _, c := range []struct {
		url     string
		refused bool
	}{
		{"postgres://u@db.example/d", true}, // sslmode=prefer
		{"postgres://u@db.example/d?sslmode=disable", true},
		{"postgres://u@db.example/d?sslmode=require", true},
		{"postgres://u:topsecret@db.example/d?sslmode=verify-ca", true},
		{"postgres://u@localhost,db.example/d?sslmode=disable", true},
		{"postgres://u@db.example/d?sslmode=verify-full", false},
		{"postgres://u@a.example,b.example/d?sslmode=verify-full", false},
		{"postgres://u@127.0.0.1/d", false},
		{"postgres://u@[::1]/d?sslmode=disable", false},
		{"postgres://u@localhost/d", false},
		{"postgres:///d?host=/run/postgresql", false},
		{"postgres://u:topsecret@db.example:port/d", true},
	} {
		_, err := Config{URL: c.url}.parse()
		if refused := err != nil; refused != c.refused {
			t.Errorf("%s: %v; want refused: %v", c.url, err, c.refused)
		}
		if err != nil && strings.Contains(err.Error(), "topsecret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}
