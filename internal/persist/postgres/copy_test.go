// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

func write(t testing.TB, file string, backup func() (io.ReadCloser, int64, error)) {
	t.Helper()
	content, size, err := backup()
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(content)
	if err := errors.Join(err, content.Close(), os.WriteFile(file, all, 0o600)); err != nil || int64(len(all)) != size {
		t.Fatalf("%d bytes of %d: %v", len(all), size, err)
	}
}

// filledStore is a store in a database with ledgers that came from a file and have gone on, others that
// began there, and one with more entries than one row of an index stands for.
func filledStore(t testing.TB) *Store {
	t.Helper()
	file, path := fileStore(t, 1)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	config := Config{URL: database(t)}
	if _, _, err := Fill(context.Background(), config, path, nil); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, config)
	for i := range audittest.Kinds {
		audittest.Append(t, s, fmt.Sprintf("open/%d", i), 40, uint64(77+i))
		audittest.Fill(t, s, audittest.Spec(fmt.Sprintf("later/%d", i), i), 40, uint64(5*i+3))
	}
	merge(t, s) // what follows is not merged
	for range 300 {
		if _, err := s.Append([]ledger.Proposal{proposal(t, s, "empty", audittest.Writer(3))}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A backup of a database is a backup like any other: it verifies, and restores into a directory.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := filledStore(t)
	defer mustClose(t, s)
	want, err := house.Contents(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	write(t, file, s.Backup)
	done, err := verify.File(context.Background(), verify.Config{Path: file, Keep: true})
	if err != nil || done.Contents.Sum() != want.Sum() || done.Left != nil || done.StoreID != s.ID() {
		t.Fatalf("%+v, %v", done, err)
	}
	restored, err := persist.Restore(context.Background(),
		persist.RestoreConfig{Backup: file, Path: filepath.Join(t.TempDir(), "to", persist.FileName)})
	if err != nil || restored.Ledgers+restored.Closed != want.Ledgers {
		t.Errorf("%+v, %v", restored, err)
	}
	audittest.Append(t, s, "open/0", 40, 99)
	merge(t, s)
	write(t, file, s.Backup)
	since, err := verify.File(context.Background(), verify.Config{Path: file, Since: done.ToKeep})
	if err != nil || since.Entries <= done.Entries || since.Passed < done.Entries/2 {
		t.Errorf("since the backup before: %+v, %v; want that most of %d entries are passed over", since, err,
			done.Entries)
	}
}

// A store that was moved away is used by no daemon, and the one that is made of it goes on, in a directory
// or in another database.
func TestLeave(t *testing.T) {
	t.Parallel()
	s := filledStore(t)
	defer mustClose(t, s)
	other := mustOpen(t, s.config)
	defer mustClose(t, other)
	t.Cleanup(func() {
		execute(t, s.config.URL, "ALTER TABLE moved_heads RENAME TO heads")
	})
	next := proposal(t, other, "empty", audittest.Writer(900))
	want, err := house.Contents(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"elsewhere", "there"} { // the first place was given up
		if err := Leave(s.config, rows.Left{At: time.Now(), To: to}); err != nil {
			t.Fatal(err)
		}
	}
	file, err := Copy(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	if err := other.with(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
		_, _, err := other.merge(ctx, c, 0)
		return err
	}); codeOf(err) != noTable {
		t.Errorf("a daemon that does not know it merges rows: %v", err)
	}
	for _, s := range []*Store{s, other} {
		for range 2 {
			_, appended := s.Append([]ledger.Proposal{next})
			_, loaded := s.Load("empty")
			_, asked := s.Heads([]string{"empty"})
			_, _, copied := s.Backup()
			for what, err := range map[string]error{"Append": appended, "Load": loaded, "Heads": asked,
				"Backup": copied} {
				if !errors.Is(err, ledger.ErrUnavailable) {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
	if err := other.Moved(); err == nil {
		t.Error("the other daemon does not know it")
	}
	if _, err := Open(s.config); err == nil || !strings.Contains(err.Error(), "were moved to there") {
		t.Errorf("opened with %v", err)
	}
	path := filepath.Join(t.TempDir(), "to", persist.FileName)
	done, err := persist.Arrive(t.Context(), file, path, nil)
	if err != nil || done.StoreID != s.ID() || done.Contents.Sum() != want.Sum() {
		t.Fatalf("%+v, %v", done, err)
	}
	config := Config{URL: database(t)}
	if _, _, err := Fill(context.Background(), config, path, nil); err != nil {
		t.Fatal(err)
	}
	moved := mustOpen(t, config)
	defer mustClose(t, moved)
	back, err := persist.Open(persist.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	sameStore(t, back, moved)
	for _, s := range []ledger.Store{back, moved} {
		if _, err := s.Append([]ledger.Proposal{next}); err != nil { // decided before the move
			t.Error(err)
		}
	}
}

// What is acknowledged while the ledgers leave, by whichever daemon, is moved, and nothing is acknowledged after it.
func TestLeaveWhileServing(t *testing.T) {
	config := Config{URL: database(t), ReadLimit: 2 * time.Second} // for so long it is tried once they have moved
	stores := []*Store{mustOpen(t, config), mustOpen(t, config)}
	t.Cleanup(func() { execute(t, config.URL, "ALTER TABLE moved_heads RENAME TO heads") })
	var writers sync.WaitGroup
	var moving atomic.Bool
	acknowledged := make([]uint64, 6)
	started := make(chan struct{}, len(acknowledged))
	for i := range acknowledged {
		s, name := stores[i%2], fmt.Sprint("l", i)
		audittest.Fill(t, s, audittest.Spec(name, 0), 0, 1)
		writers.Go(func() {
			for {
				snapshot, err := s.Load(name)
				if err == nil {
					v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}}
					b := ledger.NewBatch(ledger.NewState(snapshot))
					n := acknowledged[i]
					b.Decide(ledger.Request{Writer: audittest.Writer(1), Sequence: n + 1, Digest: record.Digest(v),
						Action: v}, ledger.Lane{Sequence: n}, audittest.Time(9))
					_, err = s.Append([]ledger.Proposal{b.Proposal()})
				}
				if err != nil {
					if !errors.Is(err, ledger.ErrUnavailable) {
						t.Error(err)
					} else if !moving.Load() { // the machine is busy
						continue
					}
					return
				}
				if acknowledged[i]++; acknowledged[i] == 20 {
					started <- struct{}{}
				}
			}
		})
	}
	for range acknowledged {
		<-started
	}
	moving.Store(true)
	if err := Leave(config, rows.Left{At: time.Now(), To: "there"}); err != nil {
		t.Fatal(err)
	}
	file, err := Copy(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	writers.Wait()
	for _, s := range stores {
		mustClose(t, s)
	}
	path := filepath.Join(t.TempDir(), "to", persist.FileName)
	if _, err := persist.Arrive(t.Context(), file, path, nil); err != nil {
		t.Fatal(err)
	}
	moved, err := persist.Open(persist.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Close()
	for i, n := range acknowledged {
		snapshot, err := moved.Load(fmt.Sprint("l", i))
		if err != nil || snapshot.Head.Position != n {
			t.Errorf("l%d: %d, %v; %d were acknowledged", i, snapshot.Head.Position, err, n)
		}
	}
}
