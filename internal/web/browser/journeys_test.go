// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// noise is a step of training as accountctl takes it.
var noise = []string{"gaussian", "--noise-multiplier", "1.1", "--batch-size", "256", "--dataset-size", "60000"}

func (d *daemon) create(t *testing.T, name string, more ...string) {
	t.Helper()
	d.ctl(t, append([]string{"ledger", "create", name, "--adjacency", "add-or-remove-one"}, more...)...)
}

func (d *daemon) report(t *testing.T, name string, steps int, more ...string) {
	t.Helper()
	d.ctl(t, slices.Concat([]string{"report", name}, noise, []string{"--count", strconv.Itoa(steps)}, more)...)
}

// filled is a daemon with a ledger of each policy, and entries in them.
func filled(t *testing.T) *daemon {
	t.Helper()
	d := start(t)
	d.create(t, "team/mnist", "--budget", "epsilon=8,delta=1e-6", "--privacy-unit", "user", "--dataset-id", "mnist",
		"--dataset-version", "1", "--owner", "ann")
	d.create(t, "team/plan", "--plan", "gaussian", "--standard-deviation", "2", "--sensitivity", "1", "--count", "50")
	d.create(t, "team/free", "--owner", "bob")
	d.report(t, "team/mnist", 4000, "--label", "run=1")
	d.report(t, "team/mnist", 9000, "--label", "run=2")
	d.report(t, "team/free", 100)
	d.ctl(t, append([]string{"reservation", "create", "team/mnist", "--lifetime", "1h"},
		slices.Concat(noise, []string{"--count", "20000"})...)...)
	return d
}

func ledgerPage(name string) string { return "/ledger?name=" + url.QueryEscape(name) }

// 1. From an empty daemon to a printed statement, by the page's own links and advice.
func TestFromNothingToAStatement(t *testing.T) {
	t.Parallel()
	d, p := start(t), open(t)
	p.do(chromedp.Navigate(d.web))
	p.shows("main", "There is no ledger yet", "accountctl ledger create")
	d.create(t, "team/mnist", "--budget", "epsilon=8,delta=1e-6")
	p.do(chromedp.Reload(), chromedp.Click(`a[href="/ledger?name=team%2fmnist"]`, chromedp.ByQuery),
		chromedp.WaitVisible("#entries", chromedp.ByQuery))
	p.shows("main", "Nothing was charged yet", "accountctl report team/mnist")
	d.report(t, "team/mnist", 100, "--label", "run=1")
	p.waits("[data-live]", "100 applications")
	var paper []byte
	p.do(chromedp.Click(`a[href^="/statement"]`, chromedp.ByQuery), chromedp.WaitVisible("article", chromedp.ByQuery),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			paper, _, err = page.PrintToPDF().Do(ctx)
			return err
		}))
	p.shows("article", "Privacy statement: team/mnist", "differentially private", "Made by accountantd")
	if len(paper) < 10_000 || string(paper[:5]) != "%PDF-" {
		t.Errorf("%d bytes were printed", len(paper))
	}
	// What is printed is the statement and nothing else of the page.
	p.do(emulation.SetEmulatedMedia().WithMedia("print"))
	for _, gone := range []string{"header", "footer", ".screen"} {
		var shown string
		p.do(chromedp.Evaluate(fmt.Sprintf("getComputedStyle(document.querySelector(%q)).display", gone), &shown))
		if shown != "none" {
			t.Errorf("%s is printed", gone)
		}
	}
	// Every line of what accountctl writes is there, but for the marks of Markdown. On a busy machine either of them
	// may have had no time for the tightest numbers, and says so.
	const late = "The time for this question ran out"
	got, written := squeezed(p.text("article")), d.ctl(t, "statement", "team/mnist")
	for p.Err() == nil && strings.Contains(got+written, late) {
		p.do(chromedp.Reload())
		got, written = squeezed(p.text("article")), d.ctl(t, "statement", "team/mnist")
	}
	for line := range strings.Lines(written) {
		line = strings.Trim(strings.TrimSpace(line), "#-|* ")
		if i := strings.Index(line, " on 20"); i > 0 && strings.HasPrefix(line, "Made by") {
			line = line[:i]
		}
		for _, part := range strings.Split(line, "|") {
			part = squeezed(strings.NewReplacer(`\`, "", "`", "", "&gt;", ">", "&lt;", "<", "&amp;", "&", "*", "").Replace(part))
			if !strings.Contains(strings.ReplaceAll(got, "*", ""), part) {
				t.Errorf("the statement on the page lacks %q:\n%s", part, got)
			}
		}
	}
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// 2. A page follows a job that reports, without being loaded again, until the ledger is closed.
func TestLive(t *testing.T) {
	t.Parallel()
	d, p := start(t), open(t)
	d.create(t, "team/job", "--budget", "epsilon=8,delta=1e-6")
	p.do(chromedp.Navigate(d.web + ledgerPage("team/job")))
	p.waits("#live-state", "This page follows the ledger.")
	p.do(chromedp.Evaluate("window.notLoadedAgain = true", nil))
	for i := 1; i <= 5; i++ {
		d.report(t, "team/job", 1000)
		p.waits("[data-live]", fmt.Sprintf("%d\u202f000 applications", i))
	}
	d.ctl(t, "ledger", "close", "team/job", "--yes")
	p.waits("#live-state", "The ledger is closed")
	var same bool
	p.do(chromedp.Evaluate("window.notLoadedAgain === true", &same))
	if !same {
		t.Error("the page was loaded again")
	}
	p.shows("[data-live]", "closed")
}

// 3. Search and filters find what they say, and say what to do where there is nothing.
func TestSearch(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	p.do(chromedp.Navigate(d.web), chromedp.SendKeys("#contains", "bob"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`a[href="/ledger?name=team%2fmnist"]`, chromedp.ByQuery))
	p.waits("tbody", "team/free")
	p.do(chromedp.Navigate(d.web+"/?flag=reserved"), chromedp.WaitVisible("tbody", chromedp.ByQuery))
	if rows := p.count("tbody tr"); rows != 1 {
		t.Errorf("%d rows with reservations; want 1", rows)
	}
	p.do(chromedp.Navigate(d.web + "/?contains=nothing+of+this"))
	p.shows("main", "Nothing matches what you look for.")
	p.do(chromedp.Click(`main p a`, chromedp.ByQuery), chromedp.WaitVisible("tbody", chromedp.ByQuery))
	if rows := p.count("tbody tr"); rows != 3 {
		t.Errorf("%d rows; want 3", rows)
	}
	p.do(chromedp.Navigate(d.web + "/?of=datasets"))
	p.shows("main", "No dataset is registered", "accountctl dataset create")
}

// An officer asks which ledgers are nearly used up, without JavaScript: a click on a heading sorts, another one turns
// the order, the address keeps both and the filters, and each ledger takes one line.
func TestOverviewIsSorted(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	d.create(t, "team/small", "--budget", "epsilon=1", "--owner", "zoe")
	d.ctl(t, "report", "team/small", "laplace", "--scale", "1", "--sensitivity", "1")
	names := func() string { return squeezed(strings.Join(strings.Fields(p.texts("tbody th a")), " ")) }
	p.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(d.web))
	for _, c := range []struct{ click, sort, names string }{
		{"", "none", "team/free team/mnist team/plan team/small"},
		{"Used", "descending", "team/small team/mnist team/plan team/free"},
		{"Used", "ascending", "team/plan team/mnist team/small team/free"},
		{"Owner", "ascending", "team/mnist team/free team/small team/plan"},
		{"Last activity", "descending", "team/small team/mnist team/free team/plan"},
	} {
		if c.click != "" {
			var leads string
			p.do(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll("thead a")].find((a) =>
				a.textContent === %q).href`, c.click), &leads))
			p.do(chromedp.Navigate(leads))
			p.shows("thead th:not([aria-sort=none])", c.click)
			var sorted string
			p.do(chromedp.AttributeValue("thead th:not([aria-sort=none])", "aria-sort", &sorted, nil, chromedp.ByQuery))
			if sorted != c.sort {
				t.Errorf("%s: sorted %q; want %q", c.click, sorted, c.sort)
			}
		}
		if got := names(); got != c.names {
			t.Errorf("after a click on %q: %s; want %s", c.click, got, c.names)
		}
	}
	p.shows(".totals", "4 ledgers", "1 with reservations", "1 without a budget")
	p.do(chromedp.Click(`.totals a[href*="flag=reserved"]`, chromedp.ByQuery))
	p.waits(".totals", "1 ledger")
	if got := names(); got != "team/mnist" {
		t.Errorf("with reservations: %s", got)
	}
	p.shows("nav.pages", "Page 1 of 1")
	for width, most := range map[int64]float64{1280: 45, 400: 85} {
		var high float64
		p.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500), chromedp.Navigate(d.web),
			chromedp.Evaluate(`Math.max(...[...document.querySelectorAll("tbody tr")].map((r) => r.offsetHeight))`,
				&high))
		if high > most {
			t.Errorf("at %d a ledger takes %v pixels; want at most %v", width, high, most)
		}
	}
}

// texts are the texts of all elements of a kind.
func (p *tab) texts(selector string) (all string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.textContent).join(" ")`,
		selector), &all))
	return all
}

func (p *tab) count(selector string) (n int) {
	p.t.Helper()
	p.do(chromedp.Evaluate(fmt.Sprintf("document.querySelectorAll(%q).length", selector), &n))
	return n
}

// 4. Who spent it: by person, label, mechanism and month, with and without JavaScript.
func TestWhoSpentIt(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	p.do(emulation.SetScriptExecutionDisabled(true),
		chromedp.Navigate(d.web+ledgerPage("team/mnist")+"&by=label&label=run"))
	p.shows("main", "Load this page again to see what has changed since.", "Who spent it", "13\u202f000")
	for _, by := range []string{"principal", "mechanism", "month"} {
		p.do(chromedp.Navigate(d.web + ledgerPage("team/mnist") + "&by=" + by))
		p.shows("main", "Together")
	}
	p.do(chromedp.Navigate(d.web + ledgerPage("team/mnist") + "&by=moon"))
	p.shows("main", `By: "moon"; allowed: principal, label, mechanism or month.`)
	p.meant("400")
}

// 5. What an attacker can do: the curves of each kind of ledger.
func TestCurves(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	for _, name := range []string{"team/mnist", "team/plan", "team/free"} {
		p.do(chromedp.Navigate(d.web + "/curves?name=" + url.QueryEscape(name)))
		p.shows("main", "Advantage over guessing", "privacy loss ε", "probability of failure δ", "guessing")
		if n := p.count("svg.figure"); n != 2 {
			t.Errorf("%s has %d figures; want 2", name, n)
		}
	}
}

// 6. The planner answers both questions, and says what is wrong in a sentence, keeping what was typed.
func TestPlanner(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	p.do(chromedp.Navigate(d.web+"/planner"), chromedp.SetValue("#n-epsilon", "3", chromedp.ByQuery),
		chromedp.Submit("#n-epsilon", chromedp.ByQuery), chromedp.WaitVisible(".answer", chromedp.ByQuery))
	p.shows(".answer", "A noise multiplier of", "is enough")
	p.same(d.numbers(t, "calibrate", "dp-sgd", "--batch-size", "256", "--dataset-size", "60000", "--epochs", "20",
		"--solve", "noise-multiplier", "--target-epsilon", "3", "--target-delta", "1e-6",
		"--adjacency", "add-or-remove-one", "--output", "json"), ".answer")
	p.do(chromedp.Navigate(d.web + "/planner?ask=epochs"))
	p.shows(".answer", "epochs cost ε ≤")
	// In a ledger with a budget its guard says how many; that many are taken, and one more is not.
	p.do(chromedp.Navigate(d.web + "/planner?ask=epochs&ledger=team/mnist"))
	p.shows(".answer", "more epochs fit into the budget of team/mnist")
	var epochs string
	p.do(chromedp.Value(".answer data", &epochs, chromedp.ByQuery))
	training := []string{"report", "team/mnist", "--check", "dp-sgd", "--noise-multiplier", "1.1", "--batch-size",
		"256", "--dataset-size", "60000", "--epochs", "1", "--count"}
	d.ctl(t, append(training, epochs)...)
	n, err := strconv.Atoi(epochs)
	if err != nil {
		t.Fatal(err)
	}
	d.refused(t, append(training, strconv.Itoa(n+1))...)
	p.do(chromedp.Navigate(d.web + "/planner?ask=noise&epsilon=three"))
	p.shows(".problem", `Target ε: "three"; allowed: a number, such as 3 or 1e-6.`)
	var kept string
	p.do(chromedp.Value("#n-epsilon", &kept, chromedp.ByQuery))
	if kept != "three" {
		t.Errorf("the form has %q; want what was typed", kept)
	}
}

// 7. Approvals and audit: what they say where there is nothing, and a signed head that verifies.
func TestAudit(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	p.do(chromedp.Navigate(d.web + "/approvals"))
	p.shows("main", "No access policy is in force", "Nothing waits for approval.")
	p.do(chromedp.Navigate(d.web + "/audit"))
	p.shows("main", "No backup is known.", "None is known", "accountctl backup")
	d.own(t, "backup", filepath.Join(t.TempDir(), "copy"))
	p.do(chromedp.Reload())
	p.shows("main", "Last verification", "ago: nothing is damaged", "Newest backup", "old", "In a file")
	if p.count(".warning") != 0 {
		t.Errorf("there is a backup, and it warns: %s", p.text(".warning"))
	}
	p.do(chromedp.SendKeys("#prefix", "team/none"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitVisible(`#prefix[value="team/none"]`, chromedp.ByQuery))
	p.shows("main", "No ledger that you may see has a name that begins with this text.")
	p.do(chromedp.Navigate(d.web+"/audit?prefix=team/m"), chromedp.Click(`a[href="/audit?name=team%2fmnist"]`,
		chromedp.ByQuery), chromedp.WaitVisible("pre", chromedp.ByQuery))
	p.shows("main", "Public key", "accountctl verify team/mnist --signed-head")
	kept := t.TempDir() + "/kept.head"
	if err := os.WriteFile(kept, []byte(d.ctl(t, "head", "team/mnist", "--output", "json")), 0o600); err != nil {
		t.Fatal(err)
	}
	d.ctl(t, "verify", "team/mnist", "--signed-head", kept)
	p.do(chromedp.Navigate(d.web+"/ledger?name=team/none"), chromedp.WaitVisible(".problem", chromedp.ByQuery))
	p.shows("main", "This is not here", "Look for it in the overview")
	p.meant("404")
}

// 8. Everything can be reached and used with the keyboard, and the focus is seen.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	p.do(chromedp.Navigate(d.web), chromedp.KeyEvent(kb.Tab))
	var focus string
	at := func() string {
		p.do(chromedp.Evaluate(`document.activeElement.textContent.trim()`, &focus))
		return focus
	}
	if at() != "Skip to the content" {
		t.Errorf("the first key leads to %q", focus)
	}
	p.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	p.do(chromedp.Evaluate(`document.activeElement.id`, &focus))
	if focus != "contains" {
		t.Errorf("after the skip the focus is on %q; want the search", focus)
	}
	reached := map[string]bool{}
	for range 24 {
		p.do(chromedp.KeyEvent(kb.Tab))
		reached[at()] = true
		var outline string
		p.do(chromedp.Evaluate(`getComputedStyle(document.activeElement).outlineStyle`, &outline))
		if outline == "none" && len(focus) < 40 { // of the whole body nothing has the focus
			t.Errorf("nobody sees that %q has the focus", focus)
		}
	}
	for _, want := range []string{"Search", "team/free", "team/mnist", "team/plan"} {
		if !reached[want] {
			t.Errorf("no key leads to %q: %q", want, slices.Collect(maps.Keys(reached)))
		}
	}
}

// Every number on a page is one that accountctl prints as JSON, and what is shown of it is on the safe side.
func TestNumbersAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	d, p := filled(t), open(t)
	all := map[float64]bool{}
	for _, args := range [][]string{{"overview"}, {"ledger", "show", "team/mnist"}, {"ledger", "show", "team/plan"},
		{"ledger", "history", "team/mnist", "--points", "200"}, {"ledger", "history", "team/plan", "--points", "200"},
		{"spending", "team/mnist", "--by", "principal"}, {"spending", "team/mnist", "--by", "label", "--label", "run"},
		{"curve", "team/mnist", "--points", "160", "--max-gap", "0.01"},
		{"curve", "team/plan", "--points", "160", "--max-gap", "0.01"},
		{"ledger", "entries", "team/mnist"}} {
		maps.Copy(all, d.numbers(t, append(args, "--output", "json")...))
	}
	for _, path := range []string{"/", ledgerPage("team/mnist"), ledgerPage("team/mnist") + "&by=label&label=run",
		ledgerPage("team/plan"), "/curves?name=team/mnist", "/curves?name=team/plan"} {
		p.do(chromedp.Navigate(d.web + path))
		p.same(all, "main")
	}
}

// same compares all numbers within an element with those of accountctl.
func (p *tab) same(want map[float64]bool, within string) {
	p.t.Helper()
	var found []struct{ Value, Text, Where string }
	p.do(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q + " data")].map((e) =>
		({Value: e.value, Text: e.textContent, Where: e.parentElement.textContent}))`, within), &found))
	if len(found) == 0 {
		p.t.Error("there are no numbers")
	}
	for _, f := range found {
		value, err := strconv.ParseFloat(f.Value, 64)
		if err != nil || !want[value] && value != 0 {
			p.t.Errorf("accountctl prints no %s, which stands in %q", f.Value, squeezed(f.Where))
		}
		text := strings.NewReplacer("\u202f", "", "∞", "Inf").Replace(f.Text)
		shown, err := strconv.ParseFloat(strings.TrimSuffix(text, " %"), 64)
		if strings.HasSuffix(text, " %") {
			value *= 100
		}
		if err != nil || math.Abs(shown-value) > 0.02*math.Abs(value)+0.01 {
			p.t.Errorf("%s is shown as %s", f.Value, f.Text)
		}
		if before, _, _ := strings.Cut(f.Where, f.Text); strings.HasSuffix(before, "≤ ") && shown < value {
			p.t.Errorf("%s is shown as at most %s", f.Value, f.Text)
		}
	}
}
