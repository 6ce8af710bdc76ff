// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

var updateAllocations = flag.Bool("update-allocations", false, "write testdata/allocations.txt anew")

const allocationsFile = "testdata/allocations.txt"

// A report takes no more allocations than when testdata/allocations.txt was last written. They are those of client,
// server and a store on disk together. Unlike times they hardly depend on the machine: how many reports share a
// batch moves a streamed report's by some hundredths.
func TestReportsAllocateNoMore(t *testing.T) {
	if testaid.Raced {
		t.Skip("the race detector allocates, too")
	}
	landed := readAllocations(t)
	var lines strings.Builder
	for _, row := range []struct {
		name  string
		slack float64 // what differs from run to run
		n     int
		run   func(s *servertest.Server, n int)
	}{
		{"unary report", 6, 200, func(s *servertest.Server, n int) {
			w := servertest.Writer()
			for i := range n {
				s.Report("bench", w, uint64(i+1), step())
			}
		}},
		{"streamed report", 1, 10_000, func(s *servertest.Server, n int) {
			stream := s.Stream("bench", servertest.Writer())
			charge := step()
			done := make(chan error, 1)
			go func() {
				for {
					if _, err := stream.Recv(); err != nil {
						done <- err
						return
					}
				}
			}()
			for i := range n {
				stream.Charge(uint64(i+1), charge)
			}
			if err := errors.Join(stream.CloseSend(), <-done); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}},
	} {
		for _, policy := range []pb.LedgerSpec_Policy{pb.LedgerSpec_DESCRIPTIVE, pb.LedgerSpec_PLAN} {
			name := fmt.Sprintf("%s, %s", row.name, policy)
			s := servertest.Start(t)
			s.Create(allocating(policy))
			row.run(s, row.n/10) // what is made once, such as connections
			got := -1.0
			for range 3 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				row.run(s, row.n)
				runtime.ReadMemStats(&after)
				if each := float64(after.Mallocs-before.Mallocs) / float64(row.n); got < 0 || each < got {
					got = each
				}
			}
			t.Logf("%s: %.1f", name, got)
			fmt.Fprintf(&lines, "%s: %.1f\n", name, got)
			switch last, ok := landed[name]; {
			case *updateAllocations:
			case !ok:
				t.Errorf("%s: %.1f allocations, and %s has no such row; allowed: to write it anew with go test "+
					"./internal/server -run %s -update-allocations", name, got, allocationsFile, t.Name())
			case got > last+row.slack:
				t.Errorf("%s: %.1f allocations, and %.1f when %s was last written; allowed: to find out what "+
					"allocates (-bench 'Report' -memprofile) and take it out, or, if it is worth it, to write the "+
					"table anew with go test ./internal/server -run %s -update-allocations, and to say why in the "+
					"commit's message", name, got, last, allocationsFile, t.Name())
			}
		}
	}
	if *updateAllocations {
		if err := os.WriteFile(allocationsFile, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readAllocations(t *testing.T) map[string]float64 {
	t.Helper()
	rows := map[string]float64{}
	f, err := os.Open(allocationsFile)
	if errors.Is(err, os.ErrNotExist) {
		return rows
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, number, _ := strings.Cut(lines.Text(), ": ")
		var n float64
		if _, err := fmt.Sscan(number, &n); err != nil {
			t.Fatalf("%s: %q: %v", allocationsFile, lines.Text(), err)
		}
		rows[name] = n
	}
	return rows
}

// allocating is the ledger "bench" with this policy. Its plan allows more than is reported.
func allocating(policy pb.LedgerSpec_Policy) *pb.LedgerSpec {
	spec := &pb.LedgerSpec{Name: "bench", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "example",
		Policy: policy}
	if policy == pb.LedgerSpec_PLAN {
		planned := step().Events[0]
		planned.Count = 1_000_000
		spec.Plan = &pb.Workload{Adjacency: spec.Adjacency, Events: []*pb.Event{planned}}
	}
	return spec
}
