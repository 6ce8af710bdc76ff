// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

func lane1(i int) ledger.Writer {
	return ledger.Writer{Principal: "unverified:p", Name: "00000000-0000-4000-8000-00000000000" + string(rune('1'+i))}
}

// fill writes two ledgers with entries enough for a row in every bucket, by two
// writers that take turns, and returns the store's path.
func fill(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	fillAt(t, path)
	return path
}

func fillAt(t *testing.T, path string) {
	t.Helper()
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	reserveAt(t, s)
	for _, name := range []string{"l", "m"} {
		dealAll(t, s)
		sum, _, err := s.Create(storetest.Genesis(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := tryAppend(s, sum, 600); err != nil {
			t.Fatal(err)
		}
		requests(t, s, name)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// requested is how many request IDs each ledger of fill has: more than one block of them.
const requested = 160

// requests appends entries of request IDs to a ledger.
func requests(t *testing.T, s ledger.Store, name string) {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}}
	for i := range requested {
		r := ledger.Request{Writer: audittest.Writer(1000 + i), Sequence: 1, Digest: record.Digest(v), Action: v}
		if d := b.Decide(r, ledger.Lane{}, snapshot.Genesis.Time); d.Outcome != ledger.Accepted {
			t.Fatal(d.Err)
		}
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}

// dealAll deals out all rows of the tail but the newest.
func dealAll(t testing.TB, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.deal(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.refused(); err != nil {
		t.Fatal(err)
	}
}

// reserveAt makes a third ledger with two open reservations and two refunds.
func reserveAt(t *testing.T, s ledger.Store) {
	t.Helper()
	g := storetest.Genesis("r")
	g.Spec.Policy = ledger.Filtered
	g.Spec.Budgets = []accountant.Budget{{Guard: accountant.GuardBasic, Epsilon: 100}}
	var err error
	if g.Resolution, err = ledger.Resolve(g.Spec, nil); err != nil {
		t.Fatal(err)
	}
	sum, _, err := s.Create(g)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(ledger.Snapshot{Summary: sum}))
	var actions []ledger.Action
	for i := range 2 {
		events := []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: float64(1 + i)}, Count: 9}}
		actions = append(actions, ledger.Reserve{Events: events, Lifetime: time.Hour}, ledger.Charge{Events: events},
			ledger.Refund{Position: uint64(3*i + 2), Events: events, Reason: "r"})
	}
	for i, v := range actions {
		r := ledger.Request{Writer: lane1(0), Sequence: uint64(i + 1), Digest: record.Digest(v), Action: v}
		if d := b.Decide(r, ledger.Lane{}, g.Time); d.Outcome != ledger.Accepted {
			t.Fatal(d.Err)
		}
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}

// tryAppend appends n entries to a new ledger, of 20 mechanisms by turns.
func tryAppend(s ledger.Store, sum ledger.Summary, n int) error {
	b := ledger.NewBatch(ledger.NewState(ledger.Snapshot{Summary: sum}))
	last := map[ledger.Writer]uint64{}
	for i := range n {
		w := lane1(i / 3 % 2)
		v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: float64(1 + i%20)},
			Count: 1}}}
		last[w]++
		r := ledger.Request{Writer: w, Sequence: last[w], Digest: record.Digest(v), Action: v}
		if d := b.Decide(r, ledger.Lane{Sequence: last[w] - 1}, sum.Genesis.Time); d.Outcome != ledger.Accepted {
			return d.Err
		}
	}
	_, err := s.Append([]ledger.Proposal{b.Proposal()})
	return err
}

// readAll reads all that fill has written, and returns it as text, or the first
// error.
func readAll(s *Store) (string, error) {
	var out strings.Builder
	sums, err := s.List("", "", 100)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&out, sums)
	for _, sum := range sums {
		snapshot, err := s.Load(sum.Genesis.Spec.Name)
		if err != nil {
			return "", err
		}
		last, position, err := s.Writer(sum.Genesis.Spec.Name, lane1(0))
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&out, snapshot, last, position)
	}
	for _, name := range []string{"l", "m"} {
		snapshot, err := s.Load(name)
		if err != nil {
			return "", err
		}
		raw, hash, err := s.GenesisRecord(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&out, snapshot, raw, hash)
		for _, from := range []uint64{1, 257, 400} {
			page, err := s.Records(name, from, 150)
			if err != nil {
				return "", err
			}
			for _, r := range page {
				fmt.Fprintln(&out, r.Entry, r.Hash)
			}
		}
		for i := range requested / 4 {
			last, _, err := s.Writer(name, audittest.Writer(9000+i)) // one that has not written
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&out, last)
		}
		for i := 0; i < requested; i += requested / 4 {
			r, err := s.RecordOf(name, audittest.Writer(1000+i), 1)
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&out, r.Entry.Position)
		}
		for i := range 2 {
			last, position, err := s.Writer(name, lane1(i))
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&out, last, position)
			for _, sequence := range []uint64{1, 60, 250, 256, 257, 299} {
				r, err := s.RecordOf(name, lane1(i), sequence)
				if err != nil {
					return "", err
				}
				fmt.Fprintln(&out, r.Entry, r.Hash)
			}
		}
	}
	return out.String(), nil
}

// keysOf returns the keys of a bucket.
func keysOf(t *testing.T, path string, b rows.Bucket) (keys [][]byte) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(b.String())).ForEach(func(k, _ []byte) error {
			keys = append(keys, bytes.Clone(k))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestDamage changes, cuts, moves or removes one record of every bucket in turn.
// Each must be found by whoever reads it, and named. Of checkpoints nobody has to.
func TestDamage(t *testing.T) {
	path := fill(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Config{Path: path})
	if _, err := readAll(s); err != nil {
		t.Fatalf("before any damage: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for b := range rows.CheckpointsBucket {
		keys := keysOf(t, path, b)
		if len(keys) < 2 {
			t.Fatalf("bucket %s has %d rows; the test needs 2", b, len(keys))
		}
		for what, damage := range map[string]func(bb *bolt.Bucket, key, value, other []byte) error{
			"first byte": func(bb *bolt.Bucket, key, value, _ []byte) error {
				value[0] ^= 1
				return bb.Put(key,
					value)
			},
			"last byte": func(bb *bolt.Bucket, key, value, _ []byte) error {
				value[len(value)-1] ^= 0x80
				return bb.Put(key, value)
			},
			"cut short": func(bb *bolt.Bucket, key, value, _ []byte) error {
				return bb.Put(key,
					value[:len(value)-1])
			},
			"only a stump": func(bb *bolt.Bucket, key, value, _ []byte) error { return bb.Put(key, value[:3]) },
			"another's":    func(bb *bolt.Bucket, key, _, other []byte) error { return bb.Put(key, other) },
			"sealed garbage": func(bb *bolt.Bucket, key, _, _ []byte) error {
				return bb.Put(key,
					rows.Seal(b, key, []byte("    garbage")))
			},
			"removed": func(bb *bolt.Bucket, key, _, _ []byte) error { return bb.Delete(key) },
		} {
			if what == "removed" && (b == rows.LedgersBucket || b == rows.WritersBucket) {
				continue // nothing else tells that there was one
			}
			t.Run(b.String()+"/"+what, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s.db")
				if err := os.WriteFile(path, whole, 0o600); err != nil {
					t.Fatal(err)
				}
				change(t, path, b, keys[0], keys[len(keys)-1], damage)
				s, err := Open(Config{Path: path})
				if err == nil {
					_, err = readAll(s)
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				if !errors.Is(err, ledger.ErrDamaged) {
					t.Fatalf("found %v, want ErrDamaged", err)
				}
				if text := err.Error(); !strings.Contains(text, "bucket "+b.String()) && what != "removed" {
					t.Errorf("%q does not name the bucket %s", text, b)
				}
			})
		}
	}
}

func change(t *testing.T, path string, b rows.Bucket, key, other []byte,
	damage func(bb *bolt.Bucket, key, value, other []byte) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		bb := tx.Bucket([]byte(b.String()))
		return damage(bb, key, bytes.Clone(bb.Get(key)), bytes.Clone(bb.Get(other)))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedPages clears each page below bbolt's records in turn, and cuts the
// file short: never a crash, a hang or a wrong answer.
func TestDamagedPages(t *testing.T) {
	path := fill(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Config{Path: path})
	want, err := readAll(s)
	page := s.db.Info().PageSize
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	used := usedPages(t, path)
	found := 0
	check := func(t *testing.T, content []byte, mustFail bool) {
		path := filepath.Join(t.TempDir(), "s.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		if err == nil {
			var got string
			if got, err = readAll(s); err == nil && got != want {
				t.Error("a wrong answer")
			}
			_, _, createErr := s.Create(storetest.Genesis("new"))
			if createErr != nil && !errors.Is(createErr, ledger.ErrDamaged) &&
				!errors.Is(createErr, ledger.ErrUnknown) {
				t.Errorf("Create = %v", createErr)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			found++
		} else if mustFail {
			t.Error("nothing was found")
		}
	}
	for i := range used {
		zeroed := bytes.Clone(whole)
		clear(zeroed[i*page : (i+1)*page])
		t.Run("zero", func(t *testing.T) { check(t, zeroed, false) })
	}
	t.Logf("%d of %d pages are missed when cleared", found, used)
	if found < used/2 {
		t.Errorf("clearing one of %d pages was found %d times only", used, found)
	}
	for _, size := range []int{used*page - 1, used * page / 2, 3 * page, 2 * page, page, 100} {
		t.Run("cut", func(t *testing.T) { check(t, whole[:size], true) })
	}
}

// usedPages returns how many pages of the file bbolt uses.
func usedPages(t *testing.T, path string) int {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var pages int
	err = db.View(func(tx *bolt.Tx) error {
		pages = int(tx.Size()) / db.Info().PageSize
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
