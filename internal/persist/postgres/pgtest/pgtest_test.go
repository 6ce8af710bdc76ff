// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestShared: each test has a database of its own on one server.
func TestShared(t *testing.T) {
	a, b := Database(t), Database(t)
	if a == b {
		t.Fatalf("both databases are %s", a)
	}
	for _, url := range []string{a, b} {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), "CREATE TABLE only_here()"); err != nil {
			t.Error(err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestStandby: nothing is acknowledged without the standby; a promoted one has all that was, also
// when the primary was killed; and a killed primary starts again.
func TestStandby(t *testing.T) {
	s := Start(t, Config{Synchronous: true})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.Exec("CREATE TABLE t(n int)"))
	check(s.Exec("INSERT INTO t VALUES (1)"))
	check(s.Standby.Stop())
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c, err := s.connect(t.Context())
	check(err)
	if _, err := c.Exec(ctx, "INSERT INTO t VALUES (2)"); err == nil {
		t.Error("a commit was acknowledged without the standby")
	}
	check(s.Standby.Start())
	check(s.AwaitStandby())
	check(s.Exec("INSERT INTO t VALUES (3)"))
	s.Kill()
	if s.Running() {
		t.Error("it runs after it was killed")
	}
	check(s.Standby.Promote())
	var n int
	check(s.Standby.query("SELECT count(*) FROM t WHERE n IN (1, 3)", &n))
	if n != 2 {
		t.Errorf("the promoted standby has %d of 2 rows that were acknowledged", n)
	}
	check(s.Start())
	check(s.query("SELECT count(*) FROM t WHERE n IN (1, 3)", &n))
	if n != 2 {
		t.Errorf("the primary that was started again has %d of 2 rows", n)
	}
	dir := s.dir
	s.remove()
	check(await("the directory's removal", func() error {
		if _, err := os.Stat(dir); err == nil {
			return os.ErrExist
		}
		return nil
	}))
}
