package postgres

import (
	"strings"
	"sync"
	"testing"

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
