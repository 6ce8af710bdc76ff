// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// TestPages runs the commands that README.md and the pages of docs/ show in blocks
// marked "console", and compares what they print with what the page says; -update
// writes the output anew, unless a command fails or succeeds that did not in the page. The
// commands of a page share a directory and a daemon, which has its own socket at
// data/accountant.sock. Three HTML comments help, none of which a reader sees:
//
//	<!-- run: COMMAND -->     runs a command whose output the page does not show
//	<!-- file: NAME -->       writes the next block to a file
//	<!-- block: NAME -->      the next block has to be what the file has, after the commands above it
//
// A block marked "sh" is not run: its commands build, install or stay in the foreground.
// Nor are those marked "pycon" and "shell-session", which need the Python package; tools/paths
// runs every block of docs/first-*.md in an empty root.
func TestPages(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	t.Run("pages", func(t *testing.T) {
		for _, path := range append(pages, filepath.Join(root, "README.md")) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte("\n```console\n")) {
				continue
			}
			ran++
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				p := newPage(t, root)
				lines := strings.Split(string(text), "\n")
				got := strings.Join(p.run(lines), "\n")
				if filepath.Base(path) == "README.md" && strings.Contains(got, "accountctl: warning") {
					t.Error("an example of README.md is warned of; allowed: examples that nobody has to think about")
				}
				if *update && got != string(text) && !t.Failed() {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Error(err)
					}
				}
			})
		}
	})
	if ran == 0 {
		t.Error("no page shows a command; allowed: blocks marked console")
	}
}

// A page's commands run in one directory, against one daemon.
type docPage struct {
	t   *testing.T
	dir string
	env []string
}

func newPage(t *testing.T, root string) *docPage {
	t.Helper()
	// The path of a socket has to be short.
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{
		Socket: filepath.Join(dir, "data", "accountant.sock"), Version: "v1.0.0",
		QuestionTime: patience}})
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ACCOUNTANT_") })
	return &docPage{t, dir, append(env, "ACCOUNTANT_SERVER="+s.Addr, "HOME="+dir, "GORACE=atexit_sleep_ms=0")}
}

var (
	hidden   = regexp.MustCompile(`^<!-- (run|file|block): (.*) -->$`)
	changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b[0-9a-f]{64}\b`)
)

// run gives the page's lines with the output that its commands have now.
func (p *docPage) run(lines []string) []string {
	p.t.Helper()
	var out []string
	file, compared := "", ""
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out = append(out, line)
		if h := hidden.FindStringSubmatch(line); h != nil {
			switch h[1] {
			case "run":
				if _, status := p.command(h[2]); status != 0 {
					p.t.Errorf("line %d: %s: exit status %d", i+1, h[2], status)
				}
			case "file":
				file = h[2]
			case "block":
				compared = h[2]
			}
			continue
		}
		language, opens := strings.CutPrefix(line, "```")
		if !opens {
			continue
		}
		end := i + 1 + slices.Index(lines[i+1:], "```")
		if end == i {
			p.t.Fatalf("line %d: the block has no end", i+1)
		}
		block := lines[i+1 : end]
		switch {
		case language == "console":
			block = p.console(i+1, block)
		case file != "":
			text := strings.Join(block, "\n") + "\n"
			if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
				p.t.Fatal(err)
			}
		case compared != "":
			text, err := os.ReadFile(filepath.Join(p.dir, compared))
			if err != nil {
				p.t.Fatal(err)
			}
			block = p.compare(i+1, block, strings.Split(strings.TrimRight(string(text), "\n"), "\n"))
		}
		file, compared = "", ""
		out = append(append(out, block...), "```")
		i = end
	}
	return out
}

// console runs a block: each command begins with "$ " and goes on after a backslash.
func (p *docPage) console(at int, block []string) []string {
	p.t.Helper()
	var out []string
	for i := 0; i < len(block); {
		command, ok := strings.CutPrefix(block[i], "$ ")
		if !ok {
			p.t.Fatalf("line %d: %q; allowed: a command after \"$ \"", at+i+1, block[i])
		}
		from := i
		for i++; strings.HasSuffix(command, "\\") && i < len(block); i++ {
			command += "\n" + block[i]
		}
		out = append(out, block[from:i]...)
		shown := i
		for i < len(block) && !strings.HasPrefix(block[i], "$ ") {
			i++
		}
		text, status := p.command(command)
		if status != 0 {
			text += "(exit status " + strconv.Itoa(status) + ")\n"
		}
		var got []string
		if text != "" {
			got = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		if problem := misled(block[shown:i], got); *update && problem != "" {
			p.t.Errorf("line %d: %s: %s\nThe page is left as it is.", at+shown+1, command, problem)
		}
		out = append(out, p.compare(at+shown+1, block[shown:i], got)...)
	}
	return out
}

// misled says why what a command prints now must not replace what the page says: it ended in another way. A failure
// may be that of a machine with no time, whose error nobody wants to read in a page.
func misled(want, got []string) string {
	status := func(lines []string) string {
		if last := len(lines) - 1; last >= 0 && strings.HasPrefix(lines[last], "(exit status ") {
			return lines[last]
		}
		return "(exit status 0)"
	}
	if now, shown := status(got), status(want); now != shown {
		return fmt.Sprintf("it ends with %s and prints\n%s\nand ends with %s in the page; allowed: the same status, "+
			"which a line below the command says if it is not 0", now, strings.Join(got, "\n"), shown)
	}
	return ""
}

// An update does not write into a page that a command has failed, unless the page says so already.
func TestUpdatesKeepTheStatus(t *testing.T) {
	failed := []string{"accountctl: no answer within 10s", "(exit status 4)"}
	for _, c := range []struct {
		want, got []string
		refused   bool
	}{
		{nil, nil, false}, {nil, []string{"ε ≤ 1"}, false}, {[]string{"ε ≤ 2"}, []string{"ε ≤ 1"}, false},
		{failed, []string{"accountctl: another text", "(exit status 4)"}, false},
		{nil, failed, true}, {[]string{"ε ≤ 2"}, failed, true}, {failed, []string{"ε ≤ 1"}, true},
		{failed, []string{"accountctl: it exists", "(exit status 1)"}, true},
		{[]string{"(exit status 4)"}, failed, false},
	} {
		if problem := misled(c.want, c.got); (problem != "") != c.refused {
			t.Errorf("%q, in the page %q: %q; want a refusal: %v", c.got, c.want, problem, c.refused)
		}
	}
}

// compare gives the lines that the page should have: those it has, unless they differ
// in more than times and identifiers.
func (p *docPage) compare(at int, want, got []string) []string {
	p.t.Helper()
	same := func(lines []string) string {
		return changing.ReplaceAllStringFunc(strings.Join(lines, "\n"), func(s string) string {
			return strings.Repeat("x", len(s))
		})
	}
	if same(want) == same(got) {
		return want
	}
	if !*update {
		p.t.Errorf("line %d: the page says\n%s\nand the command prints\n%s\nrun: make docs", at,
			strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
	return got
}

// command gives what a command prints, errors among it, and its exit status.
func (p *docPage) command(line string) (string, int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", line)
	c.Dir, c.Env = p.dir, p.env
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(text), c.ProcessState.ExitCode()
}
