// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// propose has somebody propose a larger budget for a new ledger, over the API.
func (s *site) propose(t *testing.T, who, name string) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(servertest.Context(t), "authorization", "Bearer "+s.issuer.Token(who, nil))
	officer := api.NewClient(s.Dial(grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: s.trust,
		ServerName: host}))))
	budget := &pb.Budget{Epsilon: proto.Float64(2), Delta: proto.Float64(1e-6), Guard: pb.Budget_RDP,
		Order: proto.Float64(12)}
	spec := servertest.Spec(name)
	spec.Policy, spec.Budgets = pb.LedgerSpec_FILTER, []*pb.Budget{budget}
	if _, err := s.owner.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: spec}); err != nil {
		t.Fatal(err)
	}
	larger := proto.Clone(budget).(*pb.Budget)
	larger.Epsilon = proto.Float64(3)
	if _, err := officer.Propose(ctx, &pb.ProposeRequest{
		Lane: &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
		Propose: &pb.Propose{Action: &pb.Propose_Raise{Raise: &pb.Raise{Budgets: []*pb.Budget{larger},
			IndependentOfOutputs: true, Reason: "the second survey wave"}}}}); err != nil {
		t.Fatal(err)
	}
}

// Dora has heard that something waits. Without JavaScript she looks at it, sees from what to what, is asked to log in
// anew, and approves it by a button; nothing of what she sees is closed to a screen reader or a telephone.
func TestOfficerApproves(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t)
	s.propose(t, "cleo", "team/survey")
	s.issuer.Login("dora", nil)
	p := openIn(t, s.browser)
	p.do(chromedp.Navigate(at + "/approvals"))
	p.waits("tbody", "Look at it and approve")
	p.looksGood(t, axe, "approvals-waiting")
	p.do(chromedp.Click("tbody td a", chromedp.ByQuery))
	p.waits("main h1", "Approve a proposal for team/survey")
	p.shows("main", "the second survey wave", "ε 2.00 → 3.00", "ε = 3 at δ = 1e-06, by Rényi divergences", "+50 %",
		"#cleo", "must be at most 10 minutes old")
	p.looksGood(t, axe, "approval-old-login")
	p.do(chromedp.Click("main .warning a", chromedp.ByQuery))
	p.waits("form.approve", "Approve")
	p.looksGood(t, axe, "approval")
	p.do(emulation.SetScriptExecutionDisabled(true), chromedp.Reload())
	p.waits("form.approve", "Approve")
	p.reach("#comment")
	p.do(chromedp.KeyEvent("agreed with the owner"))
	p.reach("form.approve button")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waits("main h1", "Approved")
	p.shows("main", "Entry 2 of team/survey", "raise", "#cleo as entry 1", "#dora", "who said: agreed with the owner")
	p.do(emulation.SetScriptExecutionDisabled(false), chromedp.Reload())
	p.looksGood(t, axe, "approved")
	p.do(chromedp.Navigate(at + "/approvals"))
	p.shows("main", "Nothing waits for approval.")
	got, err := s.owner.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "team/survey"})
	if err != nil || got.GetLedger().GetBudgets()[0].GetBudget().GetEpsilon() != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// looksGood asks axe-core about a page, wide and narrow, light and dark, and that it need not be moved sideways.
func (p *tab) looksGood(t *testing.T, axe []byte, name string) {
	t.Helper()
	for _, dark := range []bool{false, true} {
		width := map[bool]int64{false: 1280, true: 400}[dark]
		p.do(theme(dark), emulation.SetDeviceMetricsOverride(width, 900, 1, dark))
		p.accessible(axe, fmt.Sprintf("%s, dark %v", name, dark))
		var wide int64
		p.do(chromedp.Evaluate("document.documentElement.scrollWidth", &wide))
		if wide > width {
			t.Errorf("%s: the page is %d wide, and has to be moved sideways", name, wide)
		}
		if dir := os.Getenv("ACCOUNTANT_SCREENS"); dir != "" {
			file := filepath.Join(dir, fmt.Sprintf("%s-%d.png", name, width))
			if err := os.WriteFile(file, p.shot(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A page of another site that has the officer's browser send the form, or shows the page inside of its own, gets
// nothing.
func TestForeignSiteApprovesNothing(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	s.propose(t, "cleo", "team/survey")
	s.issuer.Login("dora", nil)
	p := openIn(t, s.browser)
	p.do(chromedp.Navigate(at + "/login?again=1&to=" + escape("/approval?name=team/survey&proposal=1")))
	p.waits("form.approve", "Approve")
	var form string
	p.do(chromedp.OuterHTML("form.approve", &form, chromedp.ByQuery))
	form = strings.Replace(form, `action="/approval"`, `action="`+at+`/approval"`, 1)
	evil := openIn(t, s.browser)
	// The attacker even knows the token.
	evil.do(chromedp.Navigate("data:text/html," + escapePath("<title>evil</title>"+form)))
	evil.do(chromedp.Click("button", chromedp.ByQuery))
	evil.waits("body", "allowed: only pages of this daemon send requests with a browser")
	evil.do(chromedp.Navigate("data:text/html," + escapePath(`<title>evil</title><iframe src="`+at+
		`/approval?name=team/survey&proposal=1"></iframe><p>over it</p>`)))
	evil.waits("p", "over it")
	evil.meant("403")
	evil.meant("404") // the answer has no icon
	evil.meant("frame")
	evil.meant("Refused")
	got, err := s.owner.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "team/survey"})
	if err != nil || got.GetLedger().GetBudgets()[0].GetBudget().GetEpsilon() != 2 {
		t.Errorf("another site has approved it: %v, %v", got, err)
	}
}

func escapePath(s string) string { return strings.ReplaceAll(escape(s), "+", "%20") }
