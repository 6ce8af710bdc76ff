// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// crashPath, set in the environment, makes this test binary the child of
// TestKilled: it appends to the store there until it is killed.
const crashPath = "ACCOUNTANT_TEST_CRASH_PATH"

// crashRetires, set in the environment, makes that process move packs to segments all the time, too.
const crashRetires = "ACCOUNTANT_TEST_CRASH_RETIRES"

const crashLanes = 4 // each in a ledger of its own and in the shared one

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		if err := appendForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// appendForever charges both ledgers of each lane in one Append, and prints a
// line for each that was acknowledged.
func appendForever(path string) error {
	s, err := Open(Config{Path: path})
	if err != nil {
		return err
	}
	var mu sync.Mutex // of the output
	out := bufio.NewWriter(os.Stdout)
	var lanes sync.WaitGroup
	errs := make(chan error, crashLanes+2)
	go func() { errs <- markForever(s) }()
	if os.Getenv(crashRetires) != "" {
		go func() { errs <- retireForever(s) }()
	}
	for i := range crashLanes {
		lanes.Go(func() {
			for {
				acknowledged, err := appendOnce(s, i)
				if err != nil {
					errs <- err
					return
				}
				mu.Lock()
				fmt.Fprintln(out, acknowledged)
				out.Flush()
				mu.Unlock()
			}
		})
	}
	return <-errs
}

// markForever makes checkpoints of a ledger's newest entry.
func markForever(s *Store) error {
	for {
		snapshot, err := s.Load("shared")
		if err != nil {
			return err
		}
		c := ledger.NewState(snapshot).Checkpoint()
		c.Earliest = snapshot.Genesis.Time // as of all entries
		if c.Head.Position == 0 {
			continue
		}
		c.Since = c.Head.Position - 1
		if err := s.Mark("shared", []ledger.Checkpoint{c}); err != nil {
			return err
		}
	}
}

// appendOnce charges lane i's own ledger, lane 0 together with one that is
// never charged alone, and names what was acknowledged.
func appendOnce(s *Store, i int) (string, error) {
	own := fmt.Sprintf("own/%d", i)
	p, err := next(s, own, i)
	if err != nil {
		return "", err
	}
	batch := []ledger.Proposal{p}
	if i == 0 {
		shared, err := next(s, "shared", i)
		if err != nil {
			return "", err
		}
		batch = append(batch, shared)
	}
	hashes, err := s.Append(batch)
	if err != nil {
		return "", err
	}
	var line []string
	for j, p := range batch {
		line = append(line, fmt.Sprintf("%s %d %x", p.Ledger, p.Entries[0].Position, hashes[j][0]))
	}
	return strings.Join(line, " "), nil
}

func next(s *Store, name string, i int) (ledger.Proposal, error) {
	snapshot, err := s.Load(name)
	if err != nil {
		return ledger.Proposal{}, err
	}
	last, _, err := s.Writer(name, lane1(i))
	if err != nil {
		return ledger.Proposal{}, err
	}
	st := ledger.NewState(snapshot)
	// the newest is a charge
	if at := snapshot.Head.Position; at%refundEvery == refundEvery-1 && len(snapshot.Amended) < ledger.MaxAmendments {
		v := ledger.Refund{Position: at, Events: onePure, Reason: "r"}
		b := ledger.NewBatch(st)
		b.Decide(ledger.Request{Writer: lane1(i), Sequence: last + 1, Digest: record.Digest(v), Action: v},
			ledger.Lane{Sequence: last}, snapshot.Genesis.Time)
		return b.Proposal(), nil
	}
	return proposeOn(st, lane1(i), last), nil
}

// refundEvery: every fourth entry refunds the one before.
const refundEvery = 4

// TestKilled kills a process amid its appends, several times, and finds every
// acknowledged entry, whole, where it was.
func TestKilled(t *testing.T) { killed(t) }

func killed(t *testing.T, env ...string) (path string) {
	path = filepath.Join(t.TempDir(), "s.db")
	s := mustOpen(t, Config{Path: path})
	mustCreate(t, s, "shared")
	for i := range crashLanes {
		mustCreate(t, s, fmt.Sprintf("own/%d", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]string{} // "ledger position" → hash
	for round := range 4 {
		lines := appendUntilKilled(t, path, 30+17*round, env...)
		for _, line := range lines {
			f := strings.Fields(line)
			for ; len(f) >= 3; f = f[3:] {
				acknowledged[f[0]+" "+f[1]] = f[2]
			}
		}
		checkFile(t, path)
		s := mustOpen(t, Config{Path: path})
		if marks, err := s.Checkpoints("shared", 0, math.MaxUint64, math.MaxInt); err != nil || len(marks) == 0 {
			t.Errorf("round %d: %d checkpoints, %v", round, len(marks), err)
		}
		found := 0
		total := map[string]uint64{}
		sums, err := s.List("", "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range sums {
			name := sum.Genesis.Spec.Name
			if _, err := s.Load(name); err != nil { // adds up the counts
				t.Fatal(err)
			}
			records, err := s.Records(name, 1, 1<<20) // verifies the chain
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				if hash, ok := acknowledged[fmt.Sprintf("%s %d", name, r.Entry.Position)]; ok &&
					hash == fmt.Sprintf("%x", r.Hash) {
					found++
				}
			}
			refunds := uint64(0)
			for _, r := range records {
				if r.Entry.Amends() {
					refunds++
				}
			}
			if sum.Total != uint64(len(records))-2*refunds || refunds == 0 && len(records) >= refundEvery {
				t.Errorf("ledger %s: total %d, %d records of one each, %d of them refunds", name,
					sum.Total, len(records), refunds)
			}
			total[name] = sum.Total
		}
		if found != len(acknowledged) {
			t.Errorf("round %d: of %d acknowledged entries %d are there", round, len(acknowledged), found)
		}
		if total["own/0"] != total["shared"] {
			t.Errorf("half an Append is there: %d entries in own/0, %d in shared", total["own/0"], total["shared"])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := verify.File(t.Context(), verify.Config{Path: path}); err != nil {
		t.Error(err)
	}
	return path
}

// appendUntilKilled runs the child, kills it after n lines, and returns all the
// lines it had got out by then.
func appendUntilKilled(t *testing.T, path string, n int, env ...string) (lines []string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(append(os.Environ(), crashPath+"="+path), env...)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // a line without its end was not acknowledged to anybody
		}
		if lines = append(lines, strings.TrimSpace(line)); len(lines) == n {
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(lines) < n {
		t.Fatalf("the child ended after %d lines: %v", len(lines), err)
	}
	return lines
}
