// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// TestRunReportsEveryStep: against a daemon that others use too, twice.
func TestRunReportsEveryStep(t *testing.T) {
	s := servertest.Start(t)
	for runs := uint64(1); runs <= 2; runs++ {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-server", s.Addr, "-steps", "40", "-seed", "1"}, &out, &out); err != nil {
			t.Fatal(err)
		}
		if got := s.Position("examples/digits"); got != 40*runs {
			t.Errorf("%d entries after %d runs of 40 steps", got, runs)
		}
		for _, want := range []string{"NOT PRIVATE", "test accuracy", fmt.Sprintf("%d steps charged", 40*runs),
			"by analysis", "rdp", "1e-05"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing from:\n%s", want, out.String())
			}
		}
	}
}

// TestRunReportsEveryEpoch: with random allocation a part of an epoch is charged as the whole.
func TestRunReportsEveryEpoch(t *testing.T) {
	s := servertest.Start(t)
	var out bytes.Buffer
	args := []string{"-server", s.Addr, "-steps", "40", "-allocation"}
	if err := run(t.Context(), args, &out, &out); err != nil {
		t.Fatal(err)
	}
	if got := s.Position("examples/digits"); got != 4 {
		t.Errorf("%d entries after 40 steps in epochs of 12", got)
	}
	for _, want := range []string{"one of the 12 steps of an epoch", "4 epochs charged", "test accuracy"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, out.String())
		}
	}
}

func TestRunRefusesWrongFlags(t *testing.T) {
	for _, args := range [][]string{{"-steps", "0"}, {"-steps", "x"}, {"-nonsense"}, {"extra"}, {"-server", "nowhere"},
		{"-demo", "-allocation"},
		{"-demo", "-accountantd", filepath.Join(t.TempDir(), "none")}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out, &out); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

// TestDemonstration: the real daemon, killed half way. The demonstration itself
// fails if any step is missing or there twice.
func TestDemonstration(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "accountantd")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/accountantd").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-demo", "-accountantd", binary, "-steps", "50", "-step-time", "1ms"},
		&out, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"SIGKILL", "50 steps made, 50 in the ledger"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing from:\n%s", want, out.String())
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestDemonstrationFailsLoudly: a daemon that does not come back ends the run.
func TestDemonstrationFailsLoudly(t *testing.T) {
	d := &daemon{binary: "/bin/echo", dir: t.TempDir()}
	if err := d.start(context.Background()); err == nil || !strings.Contains(err.Error(), "listen=") {
		t.Errorf("%v", err)
	}
	<-d.exited
}
