// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// shownByPython is a program that asks the Python package for ledgers' numbers, and prints them as one JSON object.
const shownByPython = `
import json, sys
from privacy_accountant import Client

def shown(c, name):
    query, last, statement = c.query(name), c.history(name).points[-1], c.statement(name)
    row, = [r for r in c.overview(prefix=name) if r.name == name]
    own, = [p for p in statement.privacy if p.delta == query.delta]
    return {
        "query": {"δ": query.delta, "ε": query.epsilon, "running": query.running},
        "epsilon()": {"ε": c.epsilon(name)},
        "overview": {"δ": row.delta, "ε": row.epsilon, "running": row.epsilon_spent},
        "history": {"ε": last.epsilon, "running": last.epsilon_spent},
        "statement": {"ε": own.epsilon, "running": own.running, "advantage": statement.advantage},
        "curve": {"advantage": c.curve(name).advantage},
    }

with Client(sys.argv[1]) as c:
    print(json.dumps({name: shown(c, name) for name in sys.argv[2:]}))
`

// programs are accountctl, and a Python interpreter if there is one that has what the Python package needs.
type programs struct{ accountctl, interpreter string }

func newPrograms(t *testing.T) programs {
	t.Helper()
	p := programs{filepath.Join(t.TempDir(), "accountctl"), os.Getenv("PYTHON")}
	build := exec.Command("go", "build", "-o", p.accountctl, "../../cmd/accountctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if p.interpreter == "" {
		p.interpreter = "python3"
	}
	if out, err := p.program("import privacy_accountant").CombinedOutput(); err != nil {
		t.Logf("Python is not compared: %v\n%s", err, out)
		p.interpreter = ""
	}
	return p
}

// program is a Python program with the package of this repository.
func (p programs) program(source string, args ...string) *exec.Cmd {
	c := exec.Command(p.interpreter, append([]string{"-c", source}, args...)...)
	c.Env = append(os.Environ(), "PYTHONPATH=../../python/src")
	return c
}

// python returns what the Python package says of ledgers: by ledger, by where it is said, by what it is.
func (p programs) python(t *testing.T, server string, names []string) map[string]map[string]map[string]float64 {
	t.Helper()
	if p.interpreter == "" {
		return nil
	}
	c := p.program(shownByPython, append([]string{server}, names...)...)
	c.Stderr = t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]map[string]map[string]float64{}
	if err := json.Unmarshal(out, &shown); err != nil || len(shown) != len(names) {
		t.Fatalf("Python: %v\n%s", err, out)
	}
	return shown
}

// compare looks in what accountctl prints, as text and as JSON, for the numbers of an answer about a ledger.
func (p programs) compare(t *testing.T, server string, said *pb.Statement, query *pb.QueryPrivacyResponse,
	show func(string, map[string]float64)) {
	t.Helper()
	run := func(args ...string) string {
		c := exec.Command(p.accountctl, args...)
		c.Env = append(os.Environ(), "ACCOUNTANT_SERVER="+server)
		c.Stderr = t.Output()
		out, err := c.Output()
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		return string(out)
	}
	name, own := said.GetLedger().GetName(), query.GetDelta()
	spent := query.GetEpsilon()
	if query.Running != nil {
		spent = query.GetRunning()
	}
	delta, word := regexp.QuoteMeta(spelling.Exact(own)), regexp.QuoteMeta(name)
	up := func(x float64, digits int) string { return regexp.QuoteMeta(num.FormatUp(x, digits)) }
	printed := map[string]string{}
	for _, c := range []struct{ command, pattern string }{
		{"query", `(?m)^Spent so far: ε ≤ ` + regexp.QuoteMeta(num.FormatDecimalsUp(spent, 2)) + ` at δ = ` + delta + `\.`},
		{"query", `(?m)^epsilon +≤ ` + up(query.GetEpsilon(), 6) + ` +at delta ` + delta + `$`},
		{"curve", `(?m)^advantage +≤ ` + up(said.GetAdvantage(), 6) + ` +of an attacker`},
		{"ledger history", `(?m)^\d+ +\S+Z +` + up(spent, 4) + ` +` + up(query.GetEpsilon(), 4) +
			` .*\nAt δ = ` + delta + `\.`},
		{"overview", `(?m)^` + word + `  +\S.*\S  +` + up(spent, 4) + ` +` + up(query.GetEpsilon(), 4) + ` +` + delta + ` `},
		{"spending", `(?m)^total +\d+ +\d+ +\d+ +` + up(spent, 4) + `( .*)?\n(.*\n)*At δ = ` + delta + `\.`},
		{"statement", `\(` + regexp.QuoteMeta(num.FormatDecimalsUp(query.GetEpsilon(), 2)) + `, ` + delta +
			`\)-differentially private`},
		{"statement", `false positives above ` + up(said.GetAdvantage(), 6) + ` \(advantage\)`},
	} {
		if printed[c.command] == "" {
			subject := []string{name}
			if c.command == "overview" {
				subject = []string{"--prefix", name}
			}
			printed[c.command] = run(append(strings.Fields(c.command), subject...)...)
		}
		if !regexp.MustCompile(c.pattern).MatchString(printed[c.command]) {
			t.Errorf("accountctl %s prints\n%s\nwant %s", c.command, printed[c.command], c.pattern)
		}
	}
	type numbers struct{ Delta, Epsilon, Running float64 }
	var answer numbers
	if err := json.Unmarshal([]byte(run("query", name, "--output", "json")), &answer); err != nil {
		t.Error(err)
	}
	show("accountctl as JSON", map[string]float64{"δ": answer.Delta, "ε": answer.Epsilon, "running": answer.Running})
}
