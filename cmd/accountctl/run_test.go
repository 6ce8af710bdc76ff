// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func testRoot() *cobra.Command {
	return root((&cli.Program{}), func(string) string { return "" })
}

func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, child := range c.Commands() {
		eachCommand(child, do)
	}
}

// A command is found by the name under which it is listed, also where only it is made.
func TestCommandsNames(t *testing.T) {
	eachCommand(testRoot(), func(c *cobra.Command) {
		if !c.HasParent() || c.Name() == "help" {
			return
		}
		words := strings.Fields(c.CommandPath())[1:]
		found, _, err := root(&cli.Program{Words: words}, func(string) string { return "" }).Find(words)
		if err != nil || found.CommandPath() != c.CommandPath() || len(found.Parent().Commands()) != 1 {
			t.Errorf("%s: found %s among %d, %v; want it alone", c.CommandPath(), found.CommandPath(),
				len(found.Parent().Commands()), err)
		}
		if want, got := cli.HelpText(c, true), cli.HelpText(found, true); got != want {
			t.Errorf("%s: its help differs where only it is made:\n%s\nwant:\n%s", c.CommandPath(), got, want)
		}
	})
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
	c, rest, err := of.Root().Find(words[1:])
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

// A full disk must not look like success.
func TestFailedOutputFails(t *testing.T) {
	var stderr bytes.Buffer
	got := run(context.Background(), []string{"version"}, func(string) string { return "" },
		strings.NewReader(""), fullDisk{}, &stderr)
	if got != cli.ExitFailed || !strings.Contains(stderr.String(), "disk is full") {
		t.Errorf("status %d, %q", got, stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

// Giving up on a standard input that never comes ends the command.
func TestInterruptedReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	never, w := io.Pipe()
	defer func() { _ = w.Close() }()
	var stdout, stderr bytes.Buffer
	args := []string{"compute", "--file", "-", "--delta", "1e-5"}
	got := run(ctx, args, func(string) string { return "" }, never, &stdout, &stderr)
	if got != cli.ExitFailed || stderr.String() != "accountctl: interrupted\n" || stdout.Len() > 0 {
		t.Errorf("status %d, %q, %q", got, stderr.String(), stdout.String())
	}
}

// The line that an error shows for a mechanism works, and so do all the names of the mechanisms.
func TestExampleLinesWork(t *testing.T) {
	for _, kind := range mechanisms.Kinds() {
		line, adjacency := mechanisms.Example(kind)
		if word, _, _ := strings.Cut(line, " "); word != kind {
			t.Errorf("the example of %s is %q", kind, line)
		}
		args := append([]string{"compute", "--delta", "1e-6", "--adjacency", spelling.Adjacency(adjacency)},
			strings.Fields(line)...)
		var stdout, stderr bytes.Buffer
		if got := run(t.Context(), args, func(string) string { return "" }, strings.NewReader(""), &stdout,
			&stderr); got != cli.ExitDone || !strings.Contains(stdout.String(), "epsilon") {
			t.Errorf("%s: status %d, %s", strings.Join(args, " "), got, stderr.String())
		}
	}
}
