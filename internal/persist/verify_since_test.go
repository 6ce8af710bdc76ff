// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// verified verifies a file, from what was kept on, and returns what to keep of it.
func verified(t testing.TB, path string, since *verify.Kept) (verify.Result, error) {
	t.Helper()
	return verify.File(t.Context(), verify.Config{Path: path, Since: since, Keep: true})
}

// keepOf is what verified keeps, written and read again.
func keepOf(t testing.TB, path string, since *verify.Kept) *verify.Kept {
	t.Helper()
	done, err := verified(t, path, since)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := verify.ReadKept(bytesOf(t, done.ToKeep))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func bytesOf(t testing.TB, k *verify.Kept) []byte {
	t.Helper()
	b, err := k.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// damagedSince checks that a damaged file does not pass from what was kept before on.
func damagedSince(t testing.TB, content []byte, since *verify.Kept) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, content, 0o400); err != nil {
		t.Fatal(err)
	}
	var finding *audit.Finding
	if _, err := verified(t, path, since); !errors.As(err, &finding) {
		t.Errorf("since what was kept: %v; want a finding", err)
	}
}

// Whatever ledgers have gone through, a verification from what was kept on comes to what a whole one does, and keeps
// the same, again and again. It passes over most of what was kept.
func TestVerifySince(t *testing.T) {
	passed, of := uint64(0), uint64(0)
	for seed := range uint64(40) {
		path := filepath.Join(t.TempDir(), "s.db")
		var kept *verify.Kept
		for round := range uint64(4) {
			s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
			for kind := range 4 {
				name := fmt.Sprint("l", kind)
				if round == 0 && kind < 3 {
					audittest.Fill(t, s, audittest.Spec(name, kind), 100, seed)
				} else if round == uint64(kind) { // one comes later
					audittest.Fill(t, s, audittest.Spec(name, kind), 10, seed)
				} else if round > 0 && kind < 3 && (seed+round)%3 != uint64(kind) { // and one gets nothing
					audittest.Append(t, s, name, 40, 10*seed+round)
				}
			}
			if seed%2 == 0 {
				dealAll(t, s)
				markAll(t, s, "l0")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			whole, err := verified(t, path, nil)
			if err != nil {
				t.Fatal(err)
			}
			since, err := verified(t, path, kept)
			if err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			if whole.Entries != since.Entries || whole.Ledgers != since.Ledgers ||
				whole.Contents.Sum() != since.Contents.Sum() ||
				!bytes.Equal(bytesOf(t, whole.ToKeep), bytesOf(t, since.ToKeep)) {
				t.Fatalf("seed %d, round %d: %+v, whole: %+v", seed, round, since, whole)
			}
			if round > 0 {
				passed, of = passed+since.Passed, of+since.Entries
			}
			if kept, err = verify.ReadKept(bytesOf(t, since.ToKeep)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of %d entries were passed over", passed, of)
	if passed < of/4 {
		t.Errorf("%d of %d entries were passed over; want a quarter: some are about earlier ones", passed, of)
	}
}

// kit is a store of two ledgers, of which one has a budget and three charges, as an attacker finds it once an auditor
// has kept it.
type kit struct {
	*testing.T
	path   string
	before []byte // the file without the last charge
	kept   *verify.Kept
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{T: t, path: filepath.Join(t.TempDir(), "s.db")}
	s := mustOpen(t, Config{Path: k.path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	audittest.Fill(t, s, audittest.Spec("a", 0), 0, 0)
	audittest.Fill(t, s, audittest.Spec("b", 3), 10, 1)
	k.write(s, 200, 1)
	k.write(s, 100, 2)
	dealAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	k.before = k.read()
	k.charge(100, 3)
	k.kept = keepOf(t, k.path, nil)
	return k
}

func (k *kit) read() []byte {
	k.Helper()
	content, err := os.ReadFile(k.path)
	if err != nil {
		k.Fatal(err)
	}
	return content
}

func (k *kit) replace(content []byte) {
	k.Helper()
	if err := os.WriteFile(k.path, content, 0o600); err != nil {
		k.Fatal(err)
	}
}

// rollBack puts the file back as it was before the last charge, so that a daemon would start on it.
func (k *kit) rollBack() {
	k.Helper()
	k.replace(k.before)
	if err := os.Remove(k.path + roots.Suffix); err != nil {
		k.Fatal(err)
	}
}

// charge charges ε in a lane of its own.
func (k *kit) charge(epsilon float64, writer int) {
	k.Helper()
	s := mustOpen(k.T, Config{Path: k.path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	k.write(s, epsilon, writer)
	if err := s.Close(); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) write(s *Store, epsilon float64, writer int) {
	k.Helper()
	snapshot, err := s.Load("a")
	if err != nil {
		k.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: epsilon}, Count: 1}}}
	if d := b.Decide(ledger.Request{Writer: audittest.Writer(writer), Sequence: 1, Digest: record.Digest(v), Action: v},
		ledger.Lane{}, audittest.Time(writer)); d.Err != nil {
		k.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		k.Fatal(err)
	}
}

// change changes stored rows, with their checksums: to nothing, it removes them.
func (k *kit) change(b rows.Bucket, change func(key, value []byte) []byte) {
	k.Helper()
	k.replace(changed(k.T, k.read(), func(tx *bolt.Tx) error {
		bb := tx.Bucket([]byte(b.String()))
		var keys [][]byte
		err := bb.ForEach(func(key, _ []byte) error { keys = append(keys, bytes.Clone(key)); return nil })
		for _, key := range keys {
			stored := bytes.Clone(bb.Get(key))
			value, e := rows.Unseal(b, key, stored)
			if value = change(key, value); value == nil {
				err = errors.Join(err, e, bb.Delete(key))
			} else {
				err = errors.Join(err, e, bb.Put(key, rows.Seal(b, key, append(make([]byte, rows.ChecksumSize),
					value...))))
			}
		}
		return err
	}))
}

// cheaper makes the mechanism of the first charge cost little, in the row from which the store decides.
func (k *kit) cheaper() {
	k.Helper()
	raw, err := record.MarshalMechanism(mechanism.PureDP{Epsilon: 0.25})
	if err != nil {
		k.Fatal(err)
	}
	first := true
	k.change(rows.MechanismsBucket, func(_, value []byte) []byte {
		if !first {
			return value
		}
		first = false
		return raw
	})
}

// edit makes the first charge of ledger a another one, in the log alone.
func (k *kit) edit() {
	k.Helper()
	first := true
	k.change(rows.PacksBucket, func(_, value []byte) []byte {
		p, err := packs.Parse(value)
		if err != nil || !first {
			return value
		}
		first = false
		e, ofWriter, err := record.UnmarshalEntry(p.Raws[0])
		if err == nil {
			e.Time = e.Time.Add(1)
			p.Raws[0], err = record.MarshalEntry(e, ofWriter)
		}
		if err != nil {
			k.Fatal(err)
		}
		return p.AppendSmall(nil)
	})
}

// What an attacker does to a store after it was kept is found by the next verification. Only what he does to old
// entries alone, of which nothing depends any more, is left to the next whole one.
func TestVerifySinceAttacked(t *testing.T) {
	for name, c := range map[string]struct {
		attack func(k *kit)
		says   string // "" where nothing is found
		whole  string // what a whole verification says
	}{
		"nothing":        {func(*kit) {}, "", ""},
		"honest entries": {func(k *kit) { k.charge(5, 9) }, "", ""},
		"a cheaper mechanism in the state": {func(k *kit) { k.cheaper() },
			"row of bucket mechanisms", "row of bucket mechanisms"},
		"and a charge over the budget": {func(k *kit) { k.cheaper(); k.charge(750, 9) }, "entry 4: budget",
			"entry 4: budget"},
		"an older copy": {func(k *kit) { k.rollBack() }, "no entry after 2: the ledger was edited or rolled back",
			""},
		"another history": {func(k *kit) { k.rollBack(); k.charge(50, 4) },
			"the ledger was edited or rolled back", ""},
		"another history that goes on": {func(k *kit) { k.rollBack(); k.charge(50, 4); k.charge(5, 9) },
			"the ledger was edited or rolled back", ""},
		"another store": {func(k *kit) { k.kept = newKit(k.T).kept },
			"or is another's: it was created in store", ""},
		"an edited old entry":                {func(k *kit) { k.edit() }, "", "hash"},
		"an edited old entry, and a new one": {func(k *kit) { k.edit(); k.charge(5, 9) }, "", "hash"},
		"a ledger that is gone": {func(k *kit) {
			for b := range rows.Buckets {
				k.change(b, func(key, value []byte) []byte {
					if string(key) == "b" || b != rows.MetaBucket && b != rows.LedgersBucket && b != rows.TailBucket &&
						len(key) >= 8 && bytes.HasPrefix(key, rows.NumberKey(2)) {
						return nil
					}
					return value
				})
			}
		}, "no such ledger: the store was rolled back", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			c.attack(k)
			done, err := verified(t, k.path, k.kept)
			if c.says == "" && (err != nil || done.Passed != 10) ||
				c.says != "" && !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("since: %d passed over, %v; want %q", done.Passed, err, c.says)
			}
			_, err = verified(t, k.path, nil)
			if c.whole != "" && !strings.Contains(fmt.Sprint(err), c.whole) {
				t.Errorf("whole: %v; want %q", err, c.whole)
			}
		})
	}
}

// A file of which a byte is another, or is missing, is no file that was kept.
func TestReadKept(t *testing.T) {
	whole := bytesOf(t, newKit(t).kept)
	if len(whole) > 400 {
		t.Errorf("%d bytes for two ledgers", len(whole))
	}
	for i := range whole {
		if _, err := verify.ReadKept(whole[:i]); err == nil {
			t.Fatalf("the first %d bytes are read", i)
		}
		other := slices.Clone(whole)
		other[i] ^= 1
		if _, err := verify.ReadKept(other); err == nil {
			t.Fatalf("with another byte %d it is read", i)
		}
	}
}
