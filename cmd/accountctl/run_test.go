package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func testRoot() *cobra.Command {
	return (&program{}).root(func(string) string { return "" })
}

func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, child := range c.Commands() {
		eachCommand(child, do)
	}
}

// Every command explains itself, and its examples name commands and flags that
// exist; the first is of the command itself.
func TestEveryCommandHasHelp(t *testing.T) {
	eachCommand(testRoot(), func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s: Short, Long and Example are required", c.CommandPath())
		}
		for i, line := range strings.Split(c.Example, "\n") {
			for _, part := range strings.Split(line, " | ") {
				checkExample(t, c, strings.TrimPrefix(strings.TrimSpace(part), "source <("), i == 0)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no description", c.CommandPath(), f.Name)
			}
		})
	})
}

func checkExample(t *testing.T, of *cobra.Command, line string, own bool) {
	t.Helper()
	line, _, _ = strings.Cut(line, " < ")
	line, _, _ = strings.Cut(line, " > ")
	words := strings.Fields(strings.TrimRight(line, ")"))
	if len(words) == 0 || words[0] != "accountctl" {
		t.Errorf("%s: example %q does not call accountctl", of.CommandPath(), line)
		return
	}
	c, rest, err := testRoot().Find(words[1:])
	if err != nil {
		t.Errorf("%s: example %q: %v", of.CommandPath(), line, err)
		return
	}
	if own && of.HasParent() && c.CommandPath() != of.CommandPath() && !of.HasSubCommands() {
		t.Errorf("%s: example %q is of %s", of.CommandPath(), line, c.CommandPath())
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s: example %q: %v", of.CommandPath(), line, err)
	}
}

// Each parameter of each mechanism has a description, and none is left over.
func TestParameterHelpIsComplete(t *testing.T) {
	var names []string
	for _, kind := range kindFields() {
		for _, f := range parameters(kind) {
			names = append(names, string(f.Name()))
			if parameterHelp[string(f.Name())] == "" {
				t.Errorf("parameterHelp lacks %s of %s", f.Name(), kind.Name())
			}
		}
	}
	for name := range parameterHelp {
		if !slices.Contains(names, name) {
			t.Errorf("parameterHelp has %s, which no mechanism has", name)
		}
	}
}

// The flag spelling of an adjacency is the API's, and none is missing.
func TestAdjacencies(t *testing.T) {
	for _, s := range adjacencies() {
		a, err := parseAdjacency(testRoot(), s)
		if err != nil || a == accountantv1.Workload_ADJACENCY_UNSPECIFIED || adjacencyText(a) != s {
			t.Errorf("%s: %v, %v", s, a, err)
		}
	}
	if n := len(accountantv1.Workload_Adjacency_name) - 1; len(adjacencies()) != n {
		t.Errorf("%d adjacencies, the API has %d", len(adjacencies()), n)
	}
}

// A full disk must not look like success.
func TestFailedOutputFails(t *testing.T) {
	var stderr bytes.Buffer
	got := run(context.Background(), []string{"version"}, func(string) string { return "" }, strings.NewReader(""), fullDisk{}, &stderr)
	if got != exitFailed || !strings.Contains(stderr.String(), "disk is full") {
		t.Errorf("status %d, %q", got, stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

// The line is written only once a tick has passed, and cleared in the end.
func TestProgressIsCleared(t *testing.T) {
	for _, c := range []struct {
		ticks int
		want  string
	}{{0, ""}, {2, "\r\033[Kcomputing … 1 s\r\033[Kcomputing … 2 s\r\033[K"}} {
		var w bytes.Buffer
		tick, stop, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); showProgress(&w, "computing", tick, stop) }()
		for range c.ticks {
			tick <- time.Time{}
		}
		close(stop)
		<-ended
		if w.String() != c.want {
			t.Errorf("after %d ticks: %q, want %q", c.ticks, w.String(), c.want)
		}
	}
}

// Giving up on a standard input that never comes ends the command.
func TestInterruptedReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	never, w := io.Pipe()
	defer func() { _ = w.Close() }()
	var stdout, stderr bytes.Buffer
	args := []string{"compute", "--file", "-", "--delta", "1e-5"}
	got := run(ctx, args, func(string) string { return "" }, never, &stdout, &stderr)
	if got != exitFailed || stderr.String() != "accountctl: interrupted: context canceled\n" || stdout.Len() > 0 {
		t.Errorf("status %d, %q, %q", got, stderr.String(), stdout.String())
	}
}

// What others wrote must not steer the terminal.
func TestClean(t *testing.T) {
	if got := clean("a\x1b[31m\tb\u202ec ε"); got != "a [31m b c ε" {
		t.Errorf("%q", got)
	}
}
