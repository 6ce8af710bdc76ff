// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	common := repeated(t, root)
	reference(&b, root, common)
	for _, title := range titles {
		if text := common.under(title.title); len(text) > 0 && title.title != "" {
			fmt.Fprintf(&b, "## %s\n\n```\n%s\n```\n\n", title.title, strings.Join(text, "\n\n"))
		}
	}
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

// titles are the headings of the paragraphs that several commands have, by how these
// begin. Where the title is empty, the paragraph belongs to the heading before.
var titles = []struct{ begins, title string }{
	{"A mechanism is its name and its flags", "Mechanisms on the line"},
	{"A workload file is JSON", "Workload files"},
	{`  {"adjacency"`, ""},
	{"Fields that are not known", ""},
	{"A budget is KEY=VALUE", "Budgets"},
	{"Several ledgers are named with commas", "Several ledgers"},
	{"A charge to several ledgers has to say", "Whose rows the sensitivity bounds"},
	{"Each write has a request ID", "Request IDs"},
	{"Without an access policy only", "The owner's socket"},
	{"  dp-event", "Formats of other accountants"},
}

// A paragraph that several commands have stands once, below its heading.
type paragraph struct{ text, title string }

type paragraphs []paragraph

// repeated finds the paragraphs that more than one command has, in the order of titles.
func repeated(t *testing.T, root *cobra.Command) (out paragraphs) {
	count := map[string]int{}
	var order []string
	eachCommand(root, func(c *cobra.Command) {
		if !c.IsAvailableCommand() {
			return
		}
		for _, p := range strings.Split(cli.Wrap(c.Long), "\n\n") {
			if count[p]++; count[p] == 2 {
				order = append(order, p)
			}
		}
	})
	heading := ""
	for _, title := range titles {
		heading = cmp.Or(title.title, heading)
		order = slices.DeleteFunc(order, func(p string) bool {
			found := strings.HasPrefix(p, title.begins)
			if found {
				out = append(out, paragraph{p, heading})
			}
			return found
		})
	}
	for _, p := range order {
		t.Errorf("several commands have this paragraph; give it a heading in titles:\n%s", p)
	}
	return out
}

func (ps paragraphs) under(title string) (texts []string) {
	for _, p := range ps {
		if p.title == title {
			texts = append(texts, p.text)
		}
	}
	return texts
}

// split takes what several commands have out of a text, and gives links to it.
func (ps paragraphs) split(text string) (own, links string) {
	var rest, to []string
	for _, p := range strings.Split(text, "\n\n") {
		i := slices.IndexFunc(ps, func(q paragraph) bool { return q.text == p })
		if i < 0 {
			rest = append(rest, p)
			continue
		}
		anchor := strings.ReplaceAll(strings.ToLower(strings.ReplaceAll(ps[i].title, "'", "")), " ", "-")
		if link := fmt.Sprintf("[%s](#%s)", ps[i].title, anchor); !slices.Contains(to, link) {
			to = append(to, link)
		}
	}
	return strings.Join(rest, "\n\n"), strings.Join(to, ", ")
}

// reference writes a command's section, and those of the ones below it.
func reference(b *bytes.Buffer, c *cobra.Command, common paragraphs) {
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
	own, links := common.split(cli.Wrap(c.Long))
	block("", own)
	if links != "" {
		fmt.Fprintf(b, "See also: %s.\n\n", links)
	}
	if c.Runnable() && !c.HasSubCommands() {
		block("Usage:\n", cli.WrapUse(c.UseLine()))
	}
	block("Examples:\n", cli.WrapCommands(c.Example))
	block("Flags:\n", cli.FlagText(c.LocalNonPersistentFlags()))
	block("Flags of every command:\n", cli.FlagText(c.PersistentFlags()))
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			reference(b, child, common)
		}
	}
}

// The help fits a terminal of 80 columns.
func TestHelpIsNarrow(t *testing.T) {
	eachCommand(testRoot(), func(c *cobra.Command) {
		for line := range strings.Lines(cli.HelpText(c, true)) {
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
