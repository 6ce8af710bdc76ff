// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/house"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// everyPack moves all packs that may leave at all.
var everyPack = retirement{segment: 64 << 10, commit: 2 << 10, block: 1 << 10, least: 1, open: 1, closed: 1}

// later is when each entry of a test is old.
var later = time.Unix(0, math.MaxInt64)

// coldOf is the folder of a test's store.
func coldOf(s *Store) string { return filepath.Join(filepath.Dir(s.path), "cold") }

// retireAll moves all packs that may leave.
func retireAll(s *Store) (Retired, error) {
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: coldOf(s)}}); err != nil {
		return Retired{}, err
	}
	return s.retire(context.Background(), later, everyPack)
}

// shred cuts all packs in the file into packs of one or two entries, as those are which one commit has left, so that
// a few entries have several packs.
func shred(s *Store) error {
	s.upkeep.one.Lock()
	defer s.upkeep.one.Unlock()
	return s.change(func(w *writing) error {
		put := func(number uint64, p packs.Pack) {
			key := rows.BlockKey(number, p.Last())
			w.staged = append(w.staged, row{rows.PacksBucket, key, rows.SealPack(number, p)})
		}
		key, stored, err := w.From(rows.PacksBucket, []byte{0})
		for err == nil && key != nil {
			number, last := binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
			if !rows.IsElsewhere(stored) {
				p, err := rows.ParsePack(number, last, stored)
				if err != nil {
					return err
				}
				for len(p.Raws) > 2 {
					q := p
					n := 1 + len(p.Raws)%2
					q.Keys, q.Raws, p = p.Keys[:n], p.Raws[:n], p.Without(n)
					put(number, q)
				}
				put(number, p)
			}
			key, stored, err = w.From(rows.PacksBucket, append(slices.Clone(key), 0))
		}
		return err
	})
}

// The store is what it was for whoever uses it, also where all packs leave the file that may, after each commit.
func TestContractRetired(t *testing.T) {
	var moved atomic.Uint64
	h := harness(Config{hooks: hooks{dealt: true, step: func(s *Store, least int64) (bool, error) {
		more, err := s.deal(least)
		if err == nil && !more {
			if err = shred(s); err == nil {
				var done Retired
				done, err = retireAll(s)
				moved.Add(done.Entries)
			}
		}
		if err != nil && s.refused() == nil && !errors.Is(err, ledger.ErrUnavailable) {
			t.Error(err)
		}
		return more, err
	}}})
	h.Faults = nil // upkeep's commits would meet them
	t.Run("all", func(t *testing.T) { storetest.Run(t, h) })
	if n := moved.Load(); n < 1000 {
		t.Errorf("%d entries have moved in all of it; want more", n)
	}
}

// moved is a store whose packs have left its file, and what it says.
func moved(t *testing.T, key blobs.Key) (path, says string) {
	t.Helper()
	path = fill(t)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	dealAll(t, s)
	says = mustRead(t, s)
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: coldOf(s), Key: key}}); err != nil {
		t.Fatal(err)
	}
	before := s.Size()
	done, err := s.retire(t.Context(), later, everyPack)
	if err != nil || done.Entries < 1000 {
		t.Fatalf("%+v, %v; want more than 1000 entries moved", done, err)
	}
	if again, err := s.retire(t.Context(), later, everyPack); err != nil || again != (Retired{}) {
		t.Errorf("a second time: %+v, %v; want nothing", again, err)
	}
	if after := mustRead(t, s); after != says {
		t.Errorf("the store says\n%s\nand said\n%s", after, says)
	}
	t.Logf("%+v of %d bytes", done, before)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, says
}

// What carries a store elsewhere sees the same packs as before.
func TestCarriedColdPacks(t *testing.T) {
	path := fill(t)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	dealAll(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := func() (list []string) {
		if err := house.Read(path, func(v *rows.View) error {
			return house.Each(v, rows.PacksBucket, func(key, stored []byte) error {
				list = append(list, fmt.Sprintf("%x %x", key, stored))
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := all()
	s = mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	if done, err := retireAll(s); err != nil || done.Entries < 1000 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(all(), before) {
		t.Error("other packs are carried than before")
	}
}

func mustRead(t *testing.T, s *Store) string {
	t.Helper()
	says, err := readAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return says
}

// segments are the files of a store's segments.
func segments(t *testing.T, path string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "cold", "*.cold"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

func keyFile(t *testing.T) blobs.Key {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	path := filepath.Join(t.TempDir(), "key")
	if err := errors.Join(err, os.WriteFile(path, []byte(identity.String()+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return blobs.Key(path)
}

// Whatever is wrong with a segment is found by whoever reads it, and named; it is never taken for one without entries.
// What does not need it goes on, and once it is back everything does.
func TestDamagedColdSegments(t *testing.T) {
	for _, c := range []struct {
		name string
		key  blobs.Key
	}{{"plain", ""}, {"encrypted", keyFile(t)}} {
		t.Run(c.name, func(t *testing.T) {
			path, _ := moved(t, c.key)
			s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
			defer s.Close()
			list := segments(t, path)
			whole, err := os.ReadFile(list[0])
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(whole, []byte(s.ID())) != (c.key == "") {
				t.Errorf("segment with key %q: its first line can be read: %v", c.key, c.key != "")
			}
			var refs []cold.Ref
			if err := s.eachElsewhere(func(ref cold.Ref) error {
				if ref.Segment.String()+".cold" == filepath.Base(list[0]) {
					refs = append(refs, ref)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			// Whoever reads all blocks reads all bytes but those of the first lines.
			all := func() error {
				for _, ref := range refs {
					if _, err := (cold.Place{Dir: coldOf(s), Key: c.key}).Read(t.Context(), ref); err != nil {
						return err
					}
				}
				return nil
			}
			wrong := func(what string, content []byte) {
				t.Helper()
				if err := os.WriteFile(list[0], content, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := all(); !errors.Is(err, cold.ErrWrong) {
					t.Errorf("%s: %v", what, err)
				}
			}
			begins := bytes.IndexByte(whole, '\n') + 1
			begins += bytes.IndexByte(whole[begins:], '\n') + 1
			if c.key != "" {
				begins = 0
			}
			step := 1
			if testing.Short() && c.key != "" {
				step = 7 // each costs a decryption
			}
			for i := begins; i < len(whole); i += step {
				content := bytes.Clone(whole)
				content[i] ^= 1 << (i % 8)
				wrong(fmt.Sprint("byte ", i), content)
			}
			for n := 0; n < len(whole); n += step * 11 {
				wrong(fmt.Sprint("cut off at ", n), whole[:n])
			}
			wrong("with another one's content", append([]byte("x"), whole...))
			named := func(what string, err error) {
				t.Helper()
				if errors.Is(err, ledger.ErrDamaged) != (what == "damaged") ||
					errors.Is(err, ledger.ErrAway) != (what == "missing") ||
					!strings.Contains(err.Error(), "put it back") ||
					strings.Contains(err.Error(), "record is damaged") ||
					!strings.Contains(err.Error(), strings.TrimSuffix(filepath.Base(list[0]), ".cold")) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, what := range []string{"damaged", "missing"} {
				if what == "missing" {
					if err := os.Remove(list[0]); err != nil {
						t.Fatal(err)
					}
				}
				_, err = readAll(s)
				named(what, err)
				_, err := s.Scrub(t.Context(), 0)
				if errors.Is(err, ledger.ErrDamaged) || err == nil || !strings.Contains(err.Error(), "put it back") {
					t.Errorf("%s: scrub: %v", what, err)
				}
				if _, err := s.Append([]ledger.Proposal{propose(t, s, "l", lane1(0))}); err != nil {
					t.Errorf("%s: a charge: %v", what, err)
				}
			}
			if err := os.WriteFile(list[0], whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Scrub(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if _, err := readAll(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// A scrub keeps its rate, and ends when it is to, in segments as in the file.
func TestScrubOfColdPacks(t *testing.T) {
	path, _ := moved(t, "")
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	all, err := s.Scrub(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	blocks := int64(0)
	if err := s.eachElsewhere(func(ref cold.Ref) error {
		blocks += int64(ref.Length)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	read, err := s.Scrub(ctx, 1)
	if !errors.Is(err, context.DeadlineExceeded) || read > all-blocks/2 {
		t.Errorf("at a byte a second: %d of %d bytes, of which %d are in segments, %v", read, all, blocks, err)
	}
}

// Without its key an encrypted segment is named, and so is a wrong key.
func TestColdKeys(t *testing.T) {
	key := string(keyFile(t))
	path, _ := moved(t, blobs.Key(key))
	was, err := os.ReadFile(key)
	other, e := os.ReadFile(string(keyFile(t)))
	if err := errors.Join(err, e, os.WriteFile(key, other, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path}); err == nil ||
		!strings.Contains(err.Error(), "cannot be opened with "+key) {
		t.Errorf("another key: %v", err)
	}
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	retain := func() error {
		return s.Retain(rows.Retention{Place: cold.Place{Dir: coldOf(s), Key: blobs.Key(key)}})
	}
	lacks := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "lacks a key that has sealed what is there") {
			t.Errorf("%s: %v", what, err)
		}
	}
	lacks("a start", retain())
	_, err = s.retire(t.Context(), later, everyPack)
	lacks("retiring", err)
	if _, err := s.Records("l", 1, 1); !errors.Is(err, ledger.ErrAway) {
		t.Errorf("another key: %v", err)
	}
	// A new one before the old one is well, and is needed itself once it has sealed something.
	if err := os.WriteFile(key, append(slices.Clone(other), was...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := retain(); err != nil {
		t.Error(err)
	}
	for range 300 {
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "l", lane1(0))}); err != nil {
			t.Fatal(err)
		}
	}
	dealAll(t, s)
	if done, err := s.retire(t.Context(), later, everyPack); err != nil || done.Segments == 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if err := os.WriteFile(key, was, 0o600); err != nil {
		t.Fatal(err)
	}
	lacks("a start without the newer one", retain())
	was = append(slices.Clone(other), was...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path}); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "cannot be read now: the key: ") ||
		strings.Contains(err.Error(), "takes no writes") {
		t.Errorf("no key: %v", err)
	}
	if err := os.WriteFile(key, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil {
		t.Error(err)
	}
}

// A backup refers to the segments; what is restored of it has all entries, and without a segment nothing is restored.
func TestBackupOfColdPacks(t *testing.T) {
	path, _ := moved(t, "")
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	file := filepath.Join(t.TempDir(), "backup")
	writeBackup(t, s, file)
	if a, b := contentsOf(t, file), contentsOf(t, path+".copy"); a != b && b != "" {
		t.Errorf("contents %s and %s", a, b)
	}
	restored := filepath.Join(t.TempDir(), "r", FileName)
	done, err := Restore(t.Context(), RestoreConfig{Backup: file, Path: restored})
	if err != nil {
		t.Fatal(err)
	}
	checkRestoredStore(t, file, restored, done)

	one := segments(t, path)[0]
	here := filepath.Join(t.TempDir(), "here") // as on an auditor's machine
	if err := os.CopyFS(here, os.DirFS(filepath.Dir(one))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(one, one+".away"); err != nil {
		t.Fatal(err)
	}
	outside, err := ColdOf(file, cold.Place{Dir: here})
	if err != nil {
		t.Fatal(err)
	}
	for place, found := range map[*cold.Place]bool{nil: false, outside: true} {
		_, err := verify.File(t.Context(), verify.Config{Path: file, Cold: place})
		if found && err != nil || !found && !errors.Is(err, ledger.ErrAway) {
			t.Errorf("segments in %v: %v", place, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "n")
	_, err = Restore(t.Context(), RestoreConfig{Backup: file, Path: filepath.Join(dir, FileName)})
	if err == nil || !strings.Contains(err.Error(), "is missing in "+coldOf(s)+"; put it back") {
		t.Errorf("without a segment: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a segment: %v", err)
	}
}

func contentsOf(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	v, err := verify.File(t.Context(), verify.Config{Path: path, AnyRoot: true})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", v.Contents.Sum())
}

// A move goes on with the same segments.
func TestMoveOfColdPacks(t *testing.T) {
	path, says := moved(t, "")
	before := contentsOf(t, path)
	to := filepath.Join(t.TempDir(), "to", FileName)
	leave(t, path, filepath.Dir(to))
	if _, err := Arrive(t.Context(), path, to, func(RestoreStep, uint64, uint64) {}); err != nil {
		t.Fatal(err)
	}
	if after := contentsOf(t, to); after != before {
		t.Errorf("contents %s, and before %s", after, before)
	}
	s := mustOpen(t, Config{Path: to, hooks: hooks{noSync: true}})
	defer s.Close()
	if now := mustRead(t, s); now != says {
		t.Error("it says something else")
	}
}

// Only packs that are old, or of closed ledgers, leave. Those that answers need stay, and so do the daemon's ledgers.
func TestWhatRetires(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	audittest.Fill(t, s, audittest.Spec("open", 0), 700, 1)
	audittest.Fill(t, s, audittest.Spec("closed", 0), 30, 5)
	dealAll(t, s)
	if err := shred(s); err != nil {
		t.Fatal(err)
	}
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: coldOf(s)}, After: time.Hour}); err != nil {
		t.Fatal(err)
	}
	left := func() (cold, hot, amended map[string]int) {
		cold, hot, amended = map[string]int{}, map[string]int{}, map[string]int{}
		if err := s.view(func(v *rows.View) error {
			for _, name := range []string{"open", "closed"} {
				h, err := v.Find(name)
				if err != nil {
					return err
				}
				for key, stored, err := v.From(rows.PacksBucket, rows.NumberKey(h.Number)); ; key, stored, err = v.From(
					rows.PacksBucket, append(slices.Clone(key), 0)) {
					if err != nil || !bytes.HasPrefix(key, rows.NumberKey(h.Number)) {
						break
					}
					if rows.IsElsewhere(stored) {
						cold[name]++
					} else {
						hot[name]++
					}
				}
				list, err := v.Amendments(h)
				if err != nil {
					return err
				}
				amended[name] = len(list)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return cold, hot, amended
	}
	list, err := s.Records("open", 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := list[0].Entry.Time
	if _, err := s.retire(t.Context(), first.Add(time.Hour), everyPack); err != nil { // no entry is older than an hour
		t.Fatal(err)
	}
	isCold, _, _ := left()
	if isCold["open"] != 0 || isCold["closed"] == 0 {
		t.Errorf("blocks %v; want some of the closed ledger alone", isCold)
	}
	if _, err := s.retire(t.Context(), later, everyPack); err != nil {
		t.Fatal(err)
	}
	isCold, isHot, amended := left()
	for _, name := range []string{"open", "closed"} {
		if isCold[name] == 0 || isHot[name] > amended[name]+1 || isHot[name] == 0 {
			t.Errorf("%s: %d blocks and %d packs, with %d amendments", name, isCold[name], isHot[name], amended[name])
		}
	}
	// What answers need is there without the segments.
	if err := os.RemoveAll(coldOf(s)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open", "closed"} {
		if _, err := s.Load(name); err != nil {
			t.Error(err)
		}
	}
	// Little is not worth a segment.
	if done, err := s.Retire(t.Context(), later); err == nil && done.Segments > 0 {
		t.Errorf("%+v", done)
	}
}

// Another folder is refused until all segments are there.
func TestAnotherColdFolder(t *testing.T) {
	path, says := moved(t, "")
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	other := filepath.Join(t.TempDir(), "other")
	r := rows.Retention{Place: cold.Place{Dir: other}, After: time.Hour}
	if err := s.Retain(r); err == nil || !strings.Contains(err.Error(), "is missing in "+other) {
		t.Fatal(err)
	}
	for _, file := range segments(t, path) {
		if err := os.Rename(file, filepath.Join(other, filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Retain(r); err != nil {
		t.Fatal(err)
	}
	if now := mustRead(t, s); now != says {
		t.Error("it says something else")
	}
}

// Where a step of retiring fails, nothing is lost and nothing is there twice, and the next time goes on.
func TestRetiringFails(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			for step := 0; ; step++ {
				path := fill(t)
				armed := -1
				c := Config{Path: path, hooks: hooks{noSync: true, commit: func(tx *bolt.Tx) error {
					if armed--; armed != 0 {
						return tx.Commit()
					}
					do := tx.Commit
					if lost {
						do = tx.Rollback
					}
					return errors.Join(errors.New("injected"), do())
				}}}
				s := mustOpen(t, c)
				dealAll(t, s)
				says := mustRead(t, s)
				contents := heldBy(t, s)
				if err := s.Retain(rows.Retention{Place: cold.Place{Dir: coldOf(s)}}); err != nil {
					t.Fatal(err)
				}
				armed = step + 1
				few := everyPack
				few.segment = 1 << 10
				_, err := s.retire(t.Context(), later, few)
				_ = s.Close() // it may have failed
				if err == nil {
					if step < 3 {
						t.Errorf("only %d commits", step)
					}
					return
				}
				if !errors.Is(err, ledger.ErrUnknown) {
					t.Fatal(err)
				}
				armed = -1
				checkFile(t, path)
				s = mustOpen(t, c)
				if now := mustRead(t, s); now != says || heldBy(t, s) != contents {
					t.Errorf("step %d: it says something else", step)
				}
				if _, err := s.retire(t.Context(), later, few); err != nil {
					t.Error(err)
				}
				if now := mustRead(t, s); now != says || heldBy(t, s) != contents {
					t.Errorf("step %d, and again: it says something else", step)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// heldBy is a digest of all entries that a store has, as they are read one after the other.
func heldBy(t *testing.T, s *Store) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range []string{"l", "m"} {
		list, err := s.Records(name, 1, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			sum.Write(r.Raw)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// A folder that takes no segment, as one on a full disk, changes nothing.
func TestColdFolderFails(t *testing.T) {
	path := fill(t)
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	dealAll(t, s)
	if _, err := retireAll(s); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "l", lane1(0))}); err != nil {
			t.Fatal(err)
		}
	}
	dealAll(t, s)
	says := mustRead(t, s)
	away := coldOf(s) + ".away"
	if err := errors.Join(os.Rename(coldOf(s), away), os.WriteFile(coldOf(s), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if done, err := s.retire(t.Context(), later, everyPack); err == nil {
		t.Errorf("%+v moved to a folder that takes nothing", done)
	}
	if err := errors.Join(os.Remove(coldOf(s)), os.Rename(away, coldOf(s))); err != nil {
		t.Fatal(err)
	}
	if now := mustRead(t, s); now != says {
		t.Error("it says something else")
	}
	if done, err := s.retire(t.Context(), later, everyPack); err != nil || done.Entries < 200 {
		t.Errorf("%+v, %v", done, err)
	}
	if now := mustRead(t, s); now != says {
		t.Error("it says something else")
	}
}

// retireForever moves packs as soon as they may, in the process that is killed.
func retireForever(s *Store) error {
	for {
		for more := true; more; {
			var err error
			if more, err = s.deal(0); err != nil {
				return err
			}
		}
		if err := shred(s); err != nil {
			return err
		}
		if _, err := retireAll(s); err != nil {
			return err
		}
	}
}

// A process that is killed while it moves packs has lost none, and moved none twice.
func TestKilledWhileRetiring(t *testing.T) {
	path := killed(t, crashRetires+"=1")
	if len(segments(t, path)) < 3 {
		t.Error("hardly anything was moved")
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil {
		t.Error(err)
	}
}

// On a full disk nothing leaves the file, charges and answers go on as they do there, and with room again it leaves.
func TestRetiringWithoutRoom(t *testing.T) {
	path := fill(t)
	var full atomic.Bool
	s := mustOpen(t, Config{Path: path, AllocationStep: 4096, hooks: hooks{noSync: true,
		allocate: func(f *os.File, from, to int64) error {
			if full.Load() {
				return syscall.ENOSPC
			}
			return allocate(f, from, to)
		}}})
	defer s.Close()
	dealAll(t, s)
	if err := s.Retain(rows.Retention{Place: cold.Place{Dir: coldOf(s)}}); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	var err error
	for n := 0; err == nil && n < 20_000; n++ { // takes the room that was allocated ahead
		_, err = s.Append([]ledger.Proposal{propose(t, s, "l", lane1(0))})
	}
	if !errors.Is(err, ledger.ErrUnavailable) {
		t.Fatal(err)
	}
	says := mustRead(t, s)
	most := usually
	most.least, most.open, most.closed = 1, 1, 1
	if done, err := s.retire(t.Context(), later, most); !errors.Is(err, ledger.ErrUnavailable) || done.Entries > 0 {
		t.Errorf("%+v, %v; want that there is no room", done, err)
	}
	if now := mustRead(t, s); now != says {
		t.Error("it says something else")
	}
	full.Store(false)
	if done, err := s.retire(t.Context(), later, most); err != nil || done.Entries < 1000 {
		t.Errorf("%+v, %v", done, err)
	}
	if now := mustRead(t, s); now != says {
		t.Error("it says something else")
	}
}
