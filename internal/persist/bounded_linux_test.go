// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// boundedPath, set in the environment, makes this test's process the one with little memory.
const boundedPath = "ACCOUNTANT_TEST_BOUNDED_PATH"

// Whatever sizes a damaged page states, neither verifying nor asking nor charging takes
// memory for them: a process that may have no more than 2 GiB of addresses, of which bbolt reserves
// 1 GiB, goes through all of them. Before sizes were checked, one byte of an inline
// bucket made verify take 14 GiB.
func TestMemoryIsBounded(t *testing.T) {
	if path := os.Getenv(boundedPath); path != "" {
		readBounded(path)
		return
	}
	content, _ := flippedStore(t)
	path := filepath.Join(t.TempDir(), "s.db")
	tried := 0
	for kind, at := range kinds(aims(t, content)) {
		if !strings.HasSuffix(kind, "/element") && !strings.HasSuffix(kind, "/header") ||
			strings.Contains(kind, "meta/") {
			continue
		}
		for i, at := range at {
			if i >= 3*16 || i%4 != 3 { // the highest byte of each number, of some elements
				continue
			}
			tried++
			if err := os.WriteFile(fmt.Sprintf("%s-%d", path, tried), flipped(content, at, 0x60), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d damaged files", tried)
	child := exec.Command(os.Args[0], "-test.run=^TestMemoryIsBounded$")
	child.Env = append(os.Environ(), boundedPath+"="+path)
	out, err := child.CombinedOutput()
	if got := strings.Count(string(out), "found: "); err != nil || got != tried {
		t.Errorf("%v: %d files, in %d something is found: %.2000s", err, tried, got, out)
	}
	for line := range strings.Lines(string(out)) {
		if len(line) > 2000 {
			t.Errorf("%d bytes of text: %.200s", len(line), line)
		}
	}
}

func readBounded(path string) {
	limit := uint64(2 << 30)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for n := 1; ; n++ {
		path := fmt.Sprintf("%s-%d", path, n)
		if _, err := os.Stat(path); err != nil {
			return
		}
		if _, err := verify.File(context.Background(), verify.Config{Path: path}); err != nil {
			fmt.Fprintln(out, "found:", err)
		} else {
			fmt.Fprintln(out, "whole:", path)
		}
		s, err := Open(Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
		if err != nil {
			fmt.Fprintln(out, "refused:", err)
			continue
		}
		if err := ask(s); err != nil {
			fmt.Fprintln(out, "asked:", err)
		}
		if err := charges(s); err != nil {
			fmt.Fprintln(out, "charged:", err)
		}
		_ = s.Close()
	}
}

// charges rewrites pages of every bucket.
func charges(s *Store) error {
	k := keeper.New(keeper.Config{Store: s, Digest: record.Digest})
	for i := range 20 {
		name := fmt.Sprint("new", i)
		if _, _, err := k.Create(context.Background(),
			ledger.Genesis{Spec: audittest.Spec(name, 3), Principal: "unverified:p",
				Time: audittest.Time(0)}); err != nil {
			return err
		}
		for _, name := range []string{name, "many"} {
			c := newCharge(name, audittest.Writer(5000+i), 1, i)
			if _, err := k.Do(context.Background(), c.ledger, c.request); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask asks all that a daemon asks about a ledger.
func ask(s *Store) error {
	if _, err := s.List("", "", 100); err != nil {
		return err
	}
	if _, err := s.Load("many"); err != nil {
		return err
	}
	_, err := s.Records("many", 1, 1000)
	return err
}
