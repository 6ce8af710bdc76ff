// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// narrowly runs command lines as on a terminal of 80 columns, in a directory of its own, on a
// server that has the ledgers and files below.
type narrowly struct {
	t       *testing.T
	replace *strings.Replacer
	env     map[string]string
}

// wrongFiles are files that are wrong in different ways, and two that are right.
var wrongFiles = map[string]string{
	"misspelt.json": `{"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": 1, "mechanism": {"gausian": {"noiseMultiplier": 1}}}]}`,
	"cut.json":      `{"adjacency": "ADD_OR_REMOVE_ONE", "events": [`,
	"string.json":   `{"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": "many", "mechanism": {"gaussian": {"noiseMultiplier": 1}}}]}`,
	"replace.json":  `{"adjacency": "REPLACE_ONE", "events": [{"count": 1, "mechanism": {"gaussian": {"noiseMultiplier": 1}}}]}`,
	"latin1.json":   "{\"name\": \"caf\xe9\"}",
	"list.json":     `[{"adjacency": "ADD_OR_REMOVE_ONE"}, {"adjacency": "ADD_OR_REMOVE_ONE"}]`,
	"empty.json":    "",
	"model.zip":     "PK\x03\x04",
	"one.json":      `{"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": 1, "mechanism": {"gaussian": {"noiseMultiplier": 1}}}]}`,
	"receipt.json":  `{"receipt": {"ledger": "team/mnist", "position": 1}}`,
}

func newNarrowly(t *testing.T) *narrowly {
	dir := t.TempDir()
	socket := filepath.Join(t.TempDir(), "s")
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: socket}})
	t.Chdir(dir)
	for name, content := range wrongFiles {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := &narrowly{t: t, replace: strings.NewReplacer(s.Addr, "SERVER", socket, "SOCKET"),
		env: map[string]string{"COLUMNS": "80", "ACCOUNTANT_SERVER": s.Addr, "SOCKET": "unix:" + socket,
			"HOME": t.TempDir(),
			"MANY": "a" + strings.Repeat(",a", ledger.MaxMembers)}}
	const sgd = "dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60"
	for _, line := range []string{
		"ledger create team/mnist --adjacency add-or-remove-one",
		"report team/mnist gaussian --noise-multiplier 30 --label run=1",
		"ledger create team/done --adjacency add-or-remove-one",
		"ledger close team/done --yes",
		"ledger create team/replaced --adjacency replace-one",
		"ledger create team/homes --adjacency add-or-remove-one --privacy-unit household",
		"ledger create days/1 --adjacency add-or-remove-one --budget epsilon=1,delta=1e-6,guard=zcdp",
		"ledger create days/2 --adjacency add-or-remove-one --budget epsilon=0.5,delta=1e-6,guard=zcdp",
		"ledger create team/plan --adjacency add-or-remove-one --plan " + sgd,
		"ledger create team/small --adjacency add-or-remove-one --budget epsilon=0.1,delta=1e-6,guard=basic",
		"ledger create shared --adjacency add-or-remove-one --budget epsilon=3,delta=1e-6,guard=rdp,order=16",
		"reservation create shared gaussian --noise-multiplier 50 --lifetime 1h",
	} {
		if _, message, status := n.run(line); status != 0 {
			t.Fatalf("%s: %d, %s", line, status, message)
		}
	}
	return n
}

// run runs one line. A word in double quotes is written like a string of Go.
func (n *narrowly) run(line string) (out, message string, status int) {
	n.t.Helper()
	line = os.Expand(line, func(name string) string { return n.env[name] })
	var args []string
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimLeft(rest, " ") {
		word, err := strconv.QuotedPrefix(rest)
		if err != nil {
			word, _, _ = strings.Cut(rest, " ")
			args, rest = append(args, word), rest[len(word):]
			continue
		}
		text, err := strconv.Unquote(word)
		if err != nil {
			n.t.Fatal(err)
		}
		args, rest = append(args, text), rest[len(word):]
	}
	var stdout, stderr bytes.Buffer
	env := func(name string) string { return n.env[name] }
	status = run(context.Background(), args, env, strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), closedOn.ReplaceAllString(n.replace.Replace(stderr.String()), "on DATE"), status
}

// closedOn is when a ledger was closed, in a message.
var closedOn = regexp.MustCompile(`on\s+\d{4}-\d\d-\d\d,\s+\d\d:\d\d\s+UTC`)

// What people get wrong, and what they are told: testdata/wrong.txt, which also says how the
// lines below a "$" are made. Run with -update after a change, and read what became of it.
func TestWrongInputs(t *testing.T) {
	const file = "testdata/wrong.txt"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	file0, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	n := newNarrowly(t)
	var got strings.Builder
	inputs := 0
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "#") {
			got.WriteString(line)
		}
		input, is := strings.CutPrefix(line, "$ accountctl ")
		if !is {
			continue
		}
		inputs++
		out, message, status := n.run(strings.TrimSpace(input))
		fmt.Fprintf(&got, "\n%s%sexit status %d\n", line, message, status)
		if status == 0 || out != "" || message == "" {
			t.Errorf("%s: status %d, standard output %q", input, status, out)
		}
		fits(t, input, message)
	}
	if inputs < 40 {
		t.Errorf("%d inputs; want 40", inputs)
	}
	if *update {
		if err := os.WriteFile(file0, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(want) {
		t.Errorf("%s is not what is said now; run with -update and read the difference:\n%s", file, got.String())
	}
}

// fits fails if a line is wider than 80 columns, unless its last word is a hash or the like, or
// the only one.
func fits(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		words := strings.Fields(strings.TrimSuffix(line, `\`))
		if width := utf8.RuneCountInString(line); width > 80 && len(words) > 1 && len(words[len(words)-1]) < 64 {
			t.Errorf("%s: %d columns: %s", what, width, line)
		}
	}
}

// Whatever a command writes for people fits 80 columns; testdata/narrow.txt has a line for each
// command that writes something.
func TestOutputIsNarrow(t *testing.T) {
	lines, err := os.ReadFile("testdata/narrow.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := newNarrowly(t)
	covered := map[string]bool{}
	for line := range strings.Lines(string(lines)) {
		line, is := strings.CutPrefix(strings.TrimSpace(line), "accountctl ")
		if !is {
			continue
		}
		c, _, err := testRoot().Find(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		covered[c.CommandPath()] = true
		out, message, status := n.run(line)
		if status != 0 {
			t.Errorf("%s: %d, %s", line, status, message)
		}
		fits(t, line, out)
		fits(t, line, message)
	}
	// What these write is for programs or for a file, does not end, or needs a restored ledger or a policy.
	for _, path := range []string{"answer", "completion", "export", "import", "approvals approve", "approvals list",
		"approvals withdraw", "access check", "ledger reconcile", "statement", "dataset statement", "ledger watch"} {
		covered["accountctl "+path] = true
	}
	eachCommand(testRoot(), func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() && !covered[c.CommandPath()] {
			t.Errorf("testdata/narrow.txt has no line of %s", c.CommandPath())
		}
	})
}
