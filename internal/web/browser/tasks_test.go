// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	download "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"golang.org/x/sync/errgroup"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// hand is an officer's hand at a task: what it clicks and types is counted.
type hand struct {
	*tab
	clicks, keys int
	began        time.Time
}

// sees is whether somebody sees an element; headings of narrow tables are for screen readers, and beside the page.
const sees = `(e => !!e && e.checkVisibility() && e.getBoundingClientRect().right > 0)(document.querySelector(%q))`

// clicks on an element that is in view and that no other one covers, in one step, as a live page replaces its parts.
const clicks = `((e) => {
	if (document.readyState !== "complete" || !e || !e.checkVisibility()) return false;
	e.scrollIntoView({block: "center", behavior: "instant"});
	const r = e.getClientRects()[0], on = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
	if (!on || !e.contains(on)) return false;
	e.focus();
	e.click();
	return true;
})(document.querySelector(%q))`

// click clicks on what is seen of a selector.
func (h *hand) click(selector string) {
	h.t.Helper()
	h.clicks++
	var done bool
	h.until("nobody can click on "+selector, fmt.Sprintf(clicks, selector), &done, func() bool { return done })
}

// types clicks into a field, replaces what is there and goes on.
func (h *hand) types(selector, text string) {
	h.t.Helper()
	h.keys += len(text)
	h.click(selector)
	h.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).select()`, selector), nil),
		chromedp.KeyEvent(text))
}

func (h *hand) seen(selector string) (is bool) {
	h.t.Helper()
	h.do(chromedp.Evaluate(fmt.Sprintf(sees, selector), &is))
	return is
}

// tasks are an officer's five tasks, each from the overview, with the most clicks that it may take.
var tasks = []struct {
	name string
	most int
	do   func(h *hand, folder string)
}{
	{"who spent what, here and anywhere", 3, func(h *hand, _ string) {
		h.click(`a[href="/ledger?name=team%2fl-000"]`)
		h.waits("#spent", "uid:")
		h.click(`#spent a[href^="/spending"]`)
		h.waits("main h1", "Spent anywhere")
		h.shows("tbody", "team/l-000", "team/l-003")
	}},
	{"which ten ledgers are nearly empty", 2, func(h *hand, _ string) {
		if h.seen(`thead a[href*="sort=used"]`) {
			h.click(`thead a[href*="sort=used"]`)
		} else { // a narrow page has a list of orders
			h.clicks++ // on the list, which opens
			h.do(chromedp.SetValue("#sort", "used", chromedp.ByQuery))
			h.click(`form.filters button[type=submit]`)
		}
		h.waits("tbody tr:first-child", "99 %")
		for i := range 10 {
			h.shows(fmt.Sprintf("tbody tr:nth-child(%d)", i+1), fmt.Sprintf("%d %%", 99-i))
		}
	}},
	{"approve a raise", 5, func(h *hand, _ string) {
		h.click(`a[href="/approvals"]`)
		h.waits("tbody", "Look at it and approve")
		h.click(`tbody td a`)
		h.waits("main h1", "Approve a proposal")
		if h.seen("main .warning a") { // the login is not fresh
			h.click("main .warning a")
		}
		h.waits("form.approve", "Approve")
		h.types("#comment", "agreed")
		h.click("form.approve button")
		h.waits("main h1", "Approved")
		h.shows("main", "who said: agreed")
	}},
	{"plan a job", 4, func(h *hand, _ string) {
		h.click(`a[href="/planner"]`)
		h.waits("main h1", "Planner")
		h.types("#n-epsilon", "3")
		h.click(`form[action="/planner#noise-title"] button`)
		h.waits(".answer", "A noise multiplier of")
	}},
	{"hand a statement to a journalist", 4, func(h *hand, folder string) {
		h.click(`a[href="/ledger?name=team%2fl-001"]`)
		h.waits("main h1", "team/l-001")
		h.click(`a[href^="/statement"]`)
		h.waits("article", "Privacy statement")
		h.click(`a[href^="/file/statement.md"]`)
		file := filepath.Join(folder, "team-l-001-statement.md")
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if b, err := os.ReadFile(file); err == nil &&
				strings.Contains(string(b), "# Privacy statement: team/l-001") {
				return
			}
			if time.Now().After(end) {
				h.t.Fatal("no statement is saved")
			}
		}
	}},
}

// An officer's five tasks over some hundred ledgers, at a desk and on a telephone: each takes few clicks. `make tasks`
// writes down how many, how long they took the machine, and a picture of how each ends.
func TestOfficersTasks(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	ledgers := 500 / testaid.Every(5)
	if err := s.fill(t, ledgers); err != nil {
		t.Fatal(err)
	}
	s.issuer.Login("dora", nil)
	table := fmt.Sprintf("%d ledgers\n| task | width | clicks | keys | seconds |\n|---|---|---|---|---|\n", ledgers)
	for _, width := range []int64{1280, 400} {
		s.propose(t, "cleo", fmt.Sprintf("team/survey-%d", width))
		folder := t.TempDir()
		h := &hand{tab: openIn(t, s.browser)}
		h.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500), chromedp.ActionFunc(
			func(ctx context.Context) error {
				return download.SetDownloadBehavior(download.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(folder).
					Do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
			}), chromedp.Navigate(at+"/login"))
		h.waits("header", "dora")
		for i, task := range tasks {
			h.do(chromedp.Navigate(at + "/"))
			h.waits("main h1", "Ledgers")
			h.clicks, h.keys, h.began = 0, 0, time.Now()
			task.do(h, folder)
			took := time.Since(h.began)
			if h.clicks > task.most {
				t.Errorf("%s at %d: %d clicks; want at most %d", task.name, width, h.clicks, task.most)
			}
			table += fmt.Sprintf("| %s | %d | %d | %d | %.1f |\n", task.name, width, h.clicks, h.keys, took.Seconds())
			if dir := os.Getenv("ACCOUNTANT_SCREENS"); dir != "" {
				file := filepath.Join(dir, fmt.Sprintf("task-%d-%d.png", i+1, width))
				if err := os.WriteFile(file, h.shot(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Log(table)
	if dir := os.Getenv("ACCOUNTANT_SCREENS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "tasks.md"), []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// fill makes ledgers of a budget of 100, from which a job has spent: from ten of them 90 to 99.
func (s *site) fill(t *testing.T, ledgers int) error {
	ctx := servertest.Context(t)
	var making errgroup.Group
	making.SetLimit(16)
	for i := range ledgers {
		making.Go(func() error {
			spec := servertest.Filter(fmt.Sprintf("team/l-%03d", i), servertest.Basic(100))
			spec.Owner = fmt.Sprintf("team %d", i%7)
			if _, err := s.owner.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec}); err != nil {
				return err
			}
			spent := uint32(1 + i%80)
			if i%9 == 3 && i/9 < 10 {
				spent = uint32(90 + i/9)
			}
			_, err := s.owner.Report(ctx, &pb.ReportRequest{
				Lane: &pb.Lane{Ledger: spec.GetName(), Writer: servertest.Writer(), Sequence: 1},
				Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(1, spent)},
					Labels: map[string]string{"run": "1"}}})
			return err
		})
	}
	return making.Wait()
}
