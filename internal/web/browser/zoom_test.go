// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// spanned is the time that the figure covers, as the page says it to its script.
func (p *tab) spanned() (from, to time.Time) {
	p.t.Helper()
	var text []string
	p.do(chromedp.Evaluate(`[document.querySelector(".plot").dataset.from, document.querySelector(".plot").dataset.to]`,
		&text))
	var err error
	if from, err = time.Parse(time.RFC3339, text[0]); err == nil {
		to, err = time.Parse(time.RFC3339, text[1])
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return from, to
}

// Dragging over the figure shows that part of the time, and the page goes on following the ledger there.
func TestDragToLookCloser(t *testing.T) {
	t.Parallel()
	d, p := start(t), open(t)
	d.create(t, "team/job", "--budget", "epsilon=8,delta=1e-6")
	for range 5 {
		d.report(t, "team/job", 100)
	}
	d.numbers(t, "ledger", "history", "team/job", "--output", "json") // waits until all entries are read
	p.do(chromedp.Navigate(d.web + ledgerPage("team/job")))
	p.waits("#live-state", "This page follows the ledger.")
	before, after := p.spanned()
	var box struct{ Left, Right, Top float64 }
	p.do(chromedp.Evaluate(`(() => { const plot = document.querySelector(".plot"); plot.scrollIntoView();
		const r = plot.querySelector(".figure-axis").getBoundingClientRect();
		return {Left: r.left, Right: r.right, Top: plot.getBoundingClientRect().top + 100}; })()`, &box))
	at := func(share float64) float64 { return box.Left + share*(box.Right-box.Left) }
	mouse := func(kind input.MouseType, x float64) chromedp.Action {
		return input.DispatchMouseEvent(kind, x, box.Top).WithButton(input.Left).WithClickCount(1)
	}
	// A click is no part of the time.
	p.do(mouse(input.MousePressed, at(0.4)), mouse(input.MouseReleased, at(0.4)))
	p.do(mouse(input.MousePressed, at(0.25)), mouse(input.MouseMoved, at(0.5)))
	if p.count(".chosen") != 1 {
		t.Error("nothing shows what is chosen")
	}
	p.do(mouse(input.MouseMoved, at(0.75)), mouse(input.MouseReleased, at(0.75)),
		chromedp.WaitVisible(`[data-live*="from="]`, chromedp.ByQuery))
	p.waits("[data-live]", "The figure shows the part of the time from") // which may be read first
	p.shows("[data-live]", "Show all")
	from, to := p.spanned()
	quarter := after.Sub(before) / 4
	near := func(got, want time.Time) bool { return got.Sub(want).Abs() < quarter/4 }
	if !near(from, before.Add(quarter)) || !near(to, before.Add(3*quarter)) {
		t.Errorf("of %s to %s the middle is shown as %s to %s", before, after, from, to)
	}
	// What comes later changes the numbers, and not the part that is shown.
	p.waits("#live-state", "This page follows the ledger.")
	d.report(t, "team/job", 100)
	p.waits("[data-live]", "600 applications")
	if a, b := p.spanned(); !a.Equal(from) || !b.Equal(to) {
		t.Errorf("the page followed from %s to %s; it showed %s to %s", a, b, from, to)
	}
	p.do(chromedp.Evaluate(`document.querySelector('[data-live] p a[href^="/ledger?name="]').click()`, nil),
		chromedp.WaitNotPresent(`[data-live*="from="]`, chromedp.ByQuery))
}

// Without JavaScript the form does the same, and says what is wrong with a time.
func TestLookCloserByForm(t *testing.T) {
	t.Parallel()
	d, p := start(t), open(t)
	d.create(t, "team/job", "--budget", "epsilon=8,delta=1e-6")
	d.report(t, "team/job", 100)
	d.numbers(t, "ledger", "history", "team/job", "--output", "json") // waits until all entries are read
	tomorrow := time.Now().UTC().Add(24 * time.Hour).Format("2006-01-02T15:04")
	p.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(d.web+ledgerPage("team/job")),
		chromedp.SetValue("#from", "2020-02-29", chromedp.ByQuery),
		chromedp.SetValue("#to", tomorrow, chromedp.ByQuery), chromedp.Click("#part button", chromedp.ByQuery),
		chromedp.WaitVisible(`#from[value="2020-02-29"]`, chromedp.ByQuery))
	p.shows("main", "100 applications")
	p.waitsByLoading("main", "The figure shows the part of the time from 29 Feb 2020, 00:00:00 UTC to")
	p.do(chromedp.Navigate(d.web + ledgerPage("team/job") + "&from=2020-01-01&to=2020-01-02"))
	p.shows("main", "100 applications")
	p.waitsByLoading("main", "The figure shows the part of the time from 1 Jan 2020")
	for _, bad := range []struct{ query, says string }{
		{"from=soon", `From: "soon"; allowed: a time in UTC such as 2026-11-23T09:00`},
		{"to=" + url.QueryEscape(hostile[0]), `To: "` + hostile[0] + `"; allowed: a time in UTC`},
		{"from=2026-11-23&to=2026-11-22", `To: "2026-11-22"; allowed: a time later than from, "2026-11-23"`},
	} {
		p.do(chromedp.Navigate(d.web + ledgerPage("team/job") + "&" + bad.query))
		p.shows("main", bad.says)
		p.meant("400")
	}
	// The same ends as accountctl takes them.
	all := d.numbers(t, "ledger", "history", "team/job", "--from", "2020-02-29", "--output", "json")
	if !all[1] {
		t.Errorf("accountctl shows no entry 1: %v", all)
	}
}
