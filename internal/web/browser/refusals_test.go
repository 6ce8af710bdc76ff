// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// What is refused appears on the ledger's page while it is open, with who was refused and why, although it is no
// entry. What the refused report carried runs as little as that of a report that was taken.
func TestRefusalsAppear(t *testing.T) {
	t.Parallel()
	d, p := start(t), open(t)
	d.create(t, "team/job", "--budget", "epsilon=8,delta=1e-6")
	d.report(t, "team/job", 100)
	p.do(chromedp.Navigate(d.web + ledgerPage("team/job")))
	p.waits("#live-state", "This page follows the ledger.")
	p.shows("[data-live]", "Refused", "0 since this daemon was started on")
	p.do(chromedp.Evaluate("window.notLoadedAgain = true", nil))
	for i, text := range hostile {
		d.refused(t, slices.Concat([]string{"report", "team/job"}, noise, []string{"--count", "1000000", "--label",
			"run=" + text})...)
		if i == 0 {
			p.waits("[data-live]", "1 since this daemon was started on")
		}
	}
	p.waits("[data-live]", "8 since this daemon was started on")
	p.shows("[data-live]", "unverified:anonymous", "budget exceeded", "short by", "allowed: ", "100 applications")
	if rows := p.count(`[aria-labelledby="refused"] tbody tr`); rows != len(hostile) {
		t.Errorf("%d refusals are listed; want %d", rows, len(hostile))
	}
	var same bool
	p.do(chromedp.Evaluate("window.notLoadedAgain === true", &same))
	if !same {
		t.Error("the page was loaded again")
	}
	// The daemon says the same to accountctl, and every number on the page is one of its.
	if n := d.numbers(t, "ledger", "refusals", "team/job", "--output", "json"); !n[8] {
		t.Errorf("accountctl counts otherwise: %v", n)
	}
}
