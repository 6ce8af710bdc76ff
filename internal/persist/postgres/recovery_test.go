// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// PostgreSQL's own tools bring a database back to a time: a base backup, and its continuous archive. A backup of what
// they have made restores as any other, so that each ledger says that it needs reconciling.
func TestPointInTimeRecovery(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it recovers a server")
	server := pgtest.Start(t, pgtest.Config{Settings: pgtest.Archiving()})
	url := server.Database(t)
	s := mustOpen(t, Config{URL: url})
	defer mustClose(t, s)
	charges := 0
	charge := func(n int) {
		t.Helper()
		for range n {
			if err := storetest.Charge(s, "l", charges); err != nil {
				t.Fatal(err)
			}
			charges++
		}
	}
	if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	charge(3)
	merge(t, s)
	recovered := server.BaseBackup(t)
	charge(2)
	merge(t, s)
	want, err := s.Records("l", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // both clocks are this machine's
	until := time.Now()
	time.Sleep(time.Second)
	charge(4)
	server.Archived(t)

	recovered.Recover(t, server, until)
	r := mustOpen(t, Config{URL: recovered.URL(url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")])})
	defer mustClose(t, r)
	got, err := r.Records("l", 1, 100)
	if err != nil || len(got) != 5 || got[4].Hash != want[4].Hash {
		t.Fatalf("%d entries, %v; want the 5 of %v", len(got), err, until)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	write(t, backup, r.Backup)
	path := filepath.Join(t.TempDir(), "r", persist.FileName)
	done, err := persist.Restore(t.Context(), persist.RestoreConfig{Backup: backup, Path: path})
	if err != nil || done.Ledgers != 1 || done.From != s.ID() {
		t.Fatalf("%+v, %v", done, err)
	}
	if v, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil || v.Entries != 6 {
		t.Errorf("%+v, %v; want 5 entries and the one that says that they were restored", v, err)
	}
}
