package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

// docs/cli.md is what the commands' help says; -update writes it anew.
func TestReference(t *testing.T) {
	root := root((&cli.Program{}), func(string) string { return "" })
	var b bytes.Buffer
	b.WriteString("# accountctl\n\nMade from the commands' help by `make docs`; not edited.\n\n")
	for _, g := range root.Groups() {
		var links []string
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() && c.Name() != "help" {
				links = append(links, fmt.Sprintf("[%s](#%s)", c.Name(), c.Name()))
			}
		}
		fmt.Fprintf(&b, "- %s %s\n", g.Title, strings.Join(links, ", "))
	}
	b.WriteString("\n")
	reference(&b, root)
	path := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("docs/cli.md is stale; run: make docs")
	}
}

// reference writes a command's section, and those of the ones below it.
func reference(b *bytes.Buffer, c *cobra.Command) {
	if c.HasParent() {
		fmt.Fprintf(b, "## %s\n\n", strings.TrimPrefix(c.CommandPath(), "accountctl "))
	}
	block := func(title, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(b, "%s```\n%s\n```\n\n", title, text)
		}
	}
	if c.HasParent() {
		fmt.Fprintf(b, "%s.\n\n", c.Short)
	}
	block("", cli.Wrap(c.Long))
	if c.Runnable() && !c.HasSubCommands() {
		block("Usage:\n", cli.WrapUse(c.UseLine()))
	}
	block("Examples:\n", cli.WrapCommands(c.Example))
	block("Flags:\n", cli.FlagText(c.LocalNonPersistentFlags()))
	block("Flags of every command:\n", cli.FlagText(c.PersistentFlags()))
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			reference(b, child)
		}
	}
}

// The help fits a terminal of 80 columns.
func TestHelpIsNarrow(t *testing.T) {
	eachCommand(testRoot(), func(c *cobra.Command) {
		for line := range strings.Lines(cli.HelpText(c)) {
			// one word
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 &&
				!strings.Contains(line, "--public-key 3b6a") {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
	})
}

// Each command has an example that names it, and flags whose values have names that
// people know.
func TestHelpIsWhole(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" && c.Runnable() ||
			!c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: short %q, long %q, example %q", c.CommandPath(), c.Short, c.Long, c.Example)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); f.Usage == "" || strings.Contains(name, "Slice") ||
				strings.Contains(name, "Array") {
				t.Errorf("%s --%s: %q, %q", c.CommandPath(), f.Name, name, f.Usage)
			}
		})
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	root := root((&cli.Program{}), func(string) string { return "" })
	walk(root)
	if !root.AllChildCommandsHaveGroup() {
		t.Error("a command has no group in the help")
	}
}
