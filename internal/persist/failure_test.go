// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

// propose makes a proposal of one charge on top of what the store holds.
func propose(t testing.TB, s *Store, name string, w ledger.Writer) ledger.Proposal {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	last, _, err := s.Writer(name, w)
	if err != nil {
		t.Fatal(err)
	}
	return proposeOn(ledger.NewState(snapshot), w, last)
}

func proposeOn(st *ledger.State, w ledger.Writer, last uint64) ledger.Proposal {
	v := ledger.Charge{Events: onePure}
	b := ledger.NewBatch(st)
	r := ledger.Request{Writer: w, Sequence: last + 1, Digest: record.Digest(v), Action: v}
	// were it refused, the store would refuse the empty proposal
	b.Decide(r, ledger.Lane{Sequence: last}, storetest.Genesis("l").Time)
	return b.Proposal()
}

var onePure = []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1}}

func mustCreate(t testing.TB, s *Store, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, created, err := s.Create(storetest.Genesis(name)); err != nil || !created {
			t.Fatalf("Create(%s) = %v, %v", name, created, err)
		}
	}
}

// TestCommitFails is the pair: a commit fails and is there, and a commit fails
// and is not. Either way nobody is told that it succeeded, the store refuses
// everything, and the next process sees which it was.
func TestCommitFails(t *testing.T) {
	for name, c := range map[string]struct {
		commit func(tx *bolt.Tx) error
		kept   uint64 // positions afterwards
	}{
		"but is there": {func(tx *bolt.Tx) error { return errors.Join(errors.New("injected"), tx.Commit()) }, 1},
		"and is lost":  {func(tx *bolt.Tx) error { return errors.Join(errors.New("injected"), tx.Rollback()) }, 0},
		"in a panic":   {func(*bolt.Tx) error { panic("injected") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.db")
			var fails bool
			s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true, commit: func(tx *bolt.Tx) error {
				if fails {
					return c.commit(tx)
				}
				return tx.Commit()
			}}})
			mustCreate(t, s, "a", "b")
			select {
			case <-s.Failed():
				t.Fatal("failed before anything went wrong")
			default:
			}
			proposals := []ledger.Proposal{propose(t, s, "a", lane1(0)), propose(t, s, "b", lane1(0))}
			fails = true // the committer sees it with the next operation
			var wg sync.WaitGroup
			for _, p := range proposals {
				wg.Go(func() {
					if _, err := s.Append([]ledger.Proposal{p}); !errors.Is(err, ledger.ErrUnknown) ||
						!strings.Contains(err.Error(), "injected") {
						t.Errorf("Append = %v, want ErrUnknown with the cause", err)
					}
				})
			}
			wg.Wait()
			<-s.Failed()
			for call, err := range everyCall(s) {
				if !errors.Is(err, ledger.ErrUnknown) {
					t.Errorf("%s after a failed commit = %v, want ErrUnknown", call, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			checkFile(t, path)
			s = mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
			defer s.Close()
			total := uint64(0)
			for _, name := range []string{"a", "b"} {
				snapshot, err := s.Load(name)
				if err != nil {
					t.Fatal(err)
				}
				total += snapshot.Total
			}
			// Both may have been in the commit that failed, or the second was refused.
			if total < c.kept || total > 2*c.kept {
				t.Errorf("%d charges are there", total)
			}
			if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(1))}); err != nil {
				t.Errorf("Append by the next process = %v", err)
			}
		})
	}
}

// everyCall makes each call once.
func everyCall(s *Store) map[string]error {
	errs := map[string]error{}
	_, _, errs["Create"] = s.Create(storetest.Genesis("c"))
	_, _, errs["Create again"] = s.Create(storetest.Genesis("a"))
	_, errs["Load"] = s.Load("a")
	_, errs["List"] = s.List("", "", 1)
	_, _, errs["Writer"] = s.Writer("a", lane1(0))
	_, errs["RecordOf"] = s.RecordOf("a", lane1(0), 1)
	_, errs["Namesakes"] = s.Namesakes("a", lane1(0))
	_, errs["Records"] = s.Records("a", 1, 1)
	_, _, errs["GenesisRecord"] = s.GenesisRecord("a")
	_, errs["Append"] = s.Append([]ledger.Proposal{{Ledger: "a"}})
	return errs
}

func TestClosed(t *testing.T) {
	s := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "s.db")})
	mustCreate(t, s, "a")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for call, err := range everyCall(s) {
		if !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s on a closed store = %v, want ErrUnavailable", call, err)
		}
	}
	select {
	case <-s.Failed():
		t.Error("closing is no failure")
	default:
	}
}

// TestReadsWaitForDurability holds a commit after it has become visible in the
// file and before it has returned: no read may tell of it.
func TestReadsWaitForDurability(t *testing.T) {
	for name, fails := range map[string]bool{"then it succeeds": false, "then it fails": true} {
		t.Run(name, func(t *testing.T) {
			visible, release := make(chan struct{}), make(chan struct{})
			var hold bool
			s := mustOpen(t,
				Config{Path: filepath.Join(t.TempDir(), "s.db"),
					hooks: hooks{noSync: true, commit: func(tx *bolt.Tx) error {
						err := tx.Commit()
						if hold {
							close(visible)
							<-release
							if fails {
								return errors.New("injected")
							}
						}
						return err
					}}})
			defer s.Close()
			mustCreate(t, s, "a")
			p := propose(t, s, "a", lane1(0))
			hold = true
			appended := make(chan error, 1)
			go func() {
				_, err := s.Append([]ledger.Proposal{p})
				appended <- err
			}()
			<-visible
			read := make(chan error, 1)
			go func() {
				r, err := s.RecordOf("a", lane1(0), 1)
				if err == nil && r.Entry.Position != 1 {
					err = errors.New("another record")
				}
				read <- err
			}()
			select {
			case err := <-read:
				t.Errorf("a read told of a commit that had not returned: %v", err)
			case <-time.After(20 * time.Millisecond): // it may be late, but then it cannot have told
			}
			close(release)
			a, r := <-appended, <-read
			hold = false
			if fails && (!errors.Is(a, ledger.ErrUnknown) || !errors.Is(r, ledger.ErrUnknown)) ||
				!fails && (a != nil || r != nil) {
				t.Errorf("the commit fails: %v; Append = %v, RecordOf = %v", fails, a, r)
			}
		})
	}
}

// TestNoRoom lets the allocator fail: nothing is written, reads go on, and later
// Appends succeed when there is room again.
func TestNoRoom(t *testing.T) {
	full := false
	path := filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t,
		Config{Path: path, AllocationStep: 4096,
			hooks: hooks{noSync: true, allocate: func(f *os.File, from, to int64) error {
				if full {
					return syscall.ENOSPC
				}
				return allocate(f, from, to)
			}}})
	defer s.Close()
	mustCreate(t, s, "a")
	full = true
	var err error
	refused, taken := 0, uint64(0)
	for range 2000 { // until what was allocated ahead is used up, and a while longer
		_, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))})
		switch {
		case err == nil:
			taken++
		case !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) ||
			!strings.Contains(err.Error(), path):
			t.Fatalf("Append without room = %v, want ErrUnavailable and ENOSPC with the file's name", err)
		default:
			refused++
		}
		if refused == 3 {
			break
		}
	}
	if refused != 3 {
		t.Fatal("the space allocated ahead was never used up")
	}
	created := 0 // a smaller commit may still have room
	for ; err == nil && created < 2000; created++ {
		_, _, err = s.Create(storetest.Genesis(fmt.Sprintf("b/%d", created)))
	}
	if !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Create without room = %v, want ErrUnavailable", err)
	}
	if snapshot, err := s.Load("a"); err != nil || snapshot.Total != taken {
		t.Errorf("Load without room = total %d, %v; want %d", snapshot.Total, err, taken)
	}
	full = false
	if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0))}); err != nil {
		t.Errorf("Append with room again = %v", err)
	}
	mustCreate(t, s, "c")
}

// TestNumbersOfAbandoned abandons a commit that makes a ledger and looks for it. Its number is then another ledger's,
// and what is appended to the first one later must not look for it there.
func TestNumbersOfAbandoned(t *testing.T) {
	full := false
	s := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "s.db"), AllocationStep: 4096,
		hooks: hooks{noSync: true, allocate: func(f *os.File, from, to int64) error {
			if full {
				return syscall.ENOSPC
			}
			return allocate(f, from, to)
		}}})
	defer s.Close()
	c := &committer{Store: s, numbers: map[string]uint64{}}
	if err := s.view(func(v *rows.View) (err error) {
		c.nextKey, err = v.Next()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	commit := func(ops ...*operation) error {
		c.commit(ops)
		return ops[0].err
	}
	create := func(name string) *operation {
		return &operation{create: &creation{genesis: storetest.Genesis(name)}}
	}
	full, s.space.allocated = true, 0
	err := commit(create("one"), &operation{batch: []ledger.Proposal{{Ledger: "one"}}})
	if !errors.Is(err, ledger.ErrUnavailable) {
		t.Fatalf("without room: %v", err)
	}
	full = false
	for _, name := range []string{"two", "one"} {
		if err := commit(create(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := commit(&operation{batch: []ledger.Proposal{propose(t, s, "one", lane1(0))}}); err != nil {
		t.Error(err)
	}
}

// TestHeadroomIsAllocated compares what ensure promises with the file's blocks.
func TestHeadroomIsAllocated(t *testing.T) {
	const step = 3 << 20
	s := mustOpen(t, Config{Path: filepath.Join(t.TempDir(), "s.db"), AllocationStep: step})
	defer s.Close()
	mustCreate(t, s, "a")
	var stat syscall.Stat_t
	if err := syscall.Stat(s.config.Path, &stat); err != nil {
		t.Fatal(err)
	}
	if stat.Size != step || stat.Blocks*512 < step {
		t.Errorf("the file has %d bytes and %d of blocks, want %d", stat.Size, stat.Blocks*512, step)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "zeros"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("kept"); err != nil {
		t.Fatal(err)
	}
	if err := writeZeros(f, step+5); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(f.Name())
	if err != nil || len(content) != step+5 || string(content[:4]) != "kept" ||
		strings.Trim(string(content[4:]), "\x00") != "" {
		t.Errorf("writeZeros made %d bytes, %v", len(content), err)
	}
}
