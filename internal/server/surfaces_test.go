// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/statement"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// Whatever shows a number about a ledger shows the same one: at one δ, which is the ledger's own, and to six digits.
func TestSurfacesAgree(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{HTTP: "127.0.0.1:0", Dashboard: true})
	users := newPrograms(t)
	s.mustRegister(survey(ordered(epsilonDelta(pb.Budget_RDP, 40, 1e-5), 8)))
	s.Create(servertest.Filter("parent", ordered(epsilonDelta(pb.Budget_RDP, 40, 1e-5), 8)))
	under := servertest.Filter("child", ordered(epsilonDelta(pb.Budget_RDP, 3, 1e-7), 12))
	under.Parent = "parent"
	planned := servertest.Plan("plan", servertest.Gaussian(2, 5).Events...)
	bounded := servertest.Plan("bounded", servertest.Gaussian(2, 5).Events...)
	bounded.Budgets = []*pb.Budget{{Epsilon: proto.Float64(9), Delta: proto.Float64(3e-7)}}
	var names []string
	for i, spec := range []*pb.LedgerSpec{
		servertest.Spec("descriptive"), servertest.Spec("empty"), servertest.Spec("closed"), under, planned, bounded,
		servertest.Filter("basic", epsilonDelta(pb.Budget_BASIC, 3, 1e-5)),
		servertest.Filter("zcdp", epsilonDelta(pb.Budget_ZCDP, 3, 1e-5)),
		servertest.Filter("rho", &pb.Budget{Guard: pb.Budget_ZCDP, Rho: proto.Float64(0.5)}),
		servertest.Filter("approximate", epsilonDelta(pb.Budget_APPROXIMATE_ZCDP, 3, 1e-6)),
		servertest.Filter("gdp", epsilonDelta(pb.Budget_GDP, 3, 1e-5)),
		servertest.Filter("rdp", ordered(epsilonDelta(pb.Budget_RDP, 4, 1e-5), 9)),
		servertest.Filter("two", epsilonDelta(pb.Budget_ZCDP, 3, 1e-8),
			ordered(epsilonDelta(pb.Budget_RDP, 4, 1e-5), 9)),
		of("Survey", "1", servertest.Filter("of-dataset", ordered(epsilonDelta(pb.Budget_RDP, 3, 1e-6), 12))),
	} {
		s.Create(spec)
		name, charge := spec.GetName(), servertest.Gaussian(20, 2)
		switch name {
		case "empty":
			charge = nil
		case "plan", "bounded":
			charge = servertest.Gaussian(2, 2)
		case "basic":
			charge = &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 2)}}
		}
		if charge != nil {
			s.Report(name, servertest.Writer(), 1, charge)
		}
		if name == "closed" {
			_, err := s.Client.CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
				Lane:  &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
				Close: &pb.Close{Reason: "r"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if i%testaid.Every(3) == 0 {
			names = append(names, name)
		}
	}
	python := users.python(t, s.Addr, names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { s.agree(t, name, users, python[name]) })
	}
	s.LoseAfter(func() {}) // a restored copy, which is not reconciled
	python = users.python(t, s.Addr, names)
	for _, name := range names {
		t.Run(name+" restored", func(t *testing.T) { s.agree(t, name, users, python[name]) })
	}
}

// agree asks everything that shows the numbers of a ledger.
func (s *datasetServer) agree(t *testing.T, name string, users programs, python map[string]map[string]float64) {
	ctx := servertest.Context(t)
	digits := func(x float64) string { return num.FormatUp(x, 6) }
	shown := map[string]map[string]string{} // what, as shown where
	show := func(where string, numbers map[string]float64) {
		for what, x := range numbers {
			if shown[what] == nil {
				shown[what] = map[string]string{}
			}
			shown[what][where] = digits(x)
		}
	}
	ledger := &pb.QueryPrivacyRequest_Ledger{Ledger: name}
	query, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{Subject: ledger})
	if err != nil {
		t.Fatal(err)
	}
	own := query.GetDelta()
	show("query", map[string]float64{"δ": own, "ε": query.GetEpsilon(), "running": query.GetRunning()})
	asked, err := s.Client.QueryPrivacy(ctx, &pb.QueryPrivacyRequest{Subject: ledger,
		Given: &pb.QueryPrivacyRequest_Delta{Delta: own}})
	if err != nil {
		t.Fatal(err)
	}
	show("query at δ", map[string]float64{"δ": own, "ε": asked.GetEpsilon(), "running": asked.GetRunning()})
	overview, err := s.Client.QueryOverview(ctx, &pb.QueryOverviewRequest{Prefix: name})
	if err != nil || len(overview.GetRows()) != 1 {
		t.Fatal(overview, err)
	}
	row := overview.GetRows()[0]
	show("overview", map[string]float64{"δ": row.GetDelta(), "ε": row.GetEpsilon(), "running": row.GetEpsilonSpent()})
	history, err := s.Client.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: name})
	if err != nil || len(history.GetPoints()) == 0 {
		t.Fatal(history, err)
	}
	last := history.GetPoints()[len(history.GetPoints())-1]
	show("history", map[string]float64{"δ": history.GetDelta(), "ε": last.GetEpsilon(),
		"running": last.GetEpsilonSpent()})
	answer, err := s.Client.GetStatement(ctx, &pb.GetStatementRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	said := answer.GetStatement()
	found := false
	for _, p := range said.GetPrivacy() {
		if p.GetDelta() == own {
			found = true
			show("statement", map[string]float64{"ε": p.GetEpsilon(), "running": p.GetRunning(),
				"advantage": said.GetAdvantage()})
		}
	}
	head := fmt.Sprintf("(%s, %g)-differentially private", num.FormatDecimalsUp(query.GetEpsilon(), 2), own)
	if !found || !strings.Contains(said.GetSummary(), head) {
		t.Errorf("the statement opens with %q; want %q", said.GetSummary(), head)
	}
	for _, g := range said.GetGroups() {
		if g.GetDelta() != own {
			t.Errorf("groups are stated at δ = %v; want %v", g.GetDelta(), own)
		}
	}
	for where, q := range map[string]*pb.QueryPrivacyCurveRequest{"curve": {},
		"curves page": {Points: 160, MaxGap: proto.Float64(0.01)}} {
		q.Subject = &pb.QueryPrivacyCurveRequest_Ledger{Ledger: name}
		c, err := s.Client.QueryPrivacyCurve(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		show(where, map[string]float64{"advantage": c.GetAdvantage()})
	}
	s.read(t, said, own, show)
	users.compare(t, s.Addr, said, query, show)
	for where, numbers := range python {
		show("Python's "+where, numbers)
	}
	for what, by := range shown {
		distinct := map[string]bool{}
		for _, text := range by {
			distinct[text] = true
		}
		if len(distinct) > 1 {
			t.Errorf("%s is shown as %v", what, by)
		}
	}
}

// read reads what people read of a ledger: the Markdown of its statement, the pages, and the API's JSON.
func (s *datasetServer) read(t *testing.T, of *pb.Statement, own float64, show func(string, map[string]float64)) {
	name := of.GetLedger().GetName()
	markdown := statement.Markdown(of)
	pages := map[string]string{"statement": markdown}
	for _, page := range []string{"ledger", "curves", "statement"} {
		pages[page+" page"] = s.page(t, page, name)
	}
	const number = `<data value="([^"]*)">`
	for _, c := range []struct{ where, what, pattern string }{
		{"ledger page", "δ", `ε spent so far, at δ = ` + number},
		{"ledger page", "running", `ε spent so far, at δ = .*</dt><dd>≤ ` + number},
		{"ledger page", "ε", `ε guaranteed, at δ = .*</dt><dd>≤ ` + number},
		{"curves page", "advantage", `Advantage over guessing</dt><dd>≤ ` + number},
		{"statement", "advantage", `true positives minus false positives above ([0-9.e-]+) \(advantage\)`},
		{"statement", "ε", `(?m)^\| ` + regexp.QuoteMeta(spelling.Exact(own)) + ` \| ([^ ]+) \|`},
		{"statement page", "advantage", `true positives minus false positives above ([0-9.e-]+) \(advantage\)`},
	} {
		found := regexp.MustCompile(c.pattern).FindStringSubmatch(pages[c.where])
		if found == nil {
			t.Errorf("%s: nothing like %s", c.where, c.pattern)
			continue
		}
		x, err := strconv.ParseFloat(strings.Replace(found[1], "∞", "+Inf", 1), 64)
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
		}
		if c.where == "statement" || c.where == "statement page" { // rounded up already
			x = math.Nextafter(x, 0)
		}
		show(c.where+" as text", map[string]float64{c.what: x})
	}
	api := api.NewClient(&servertest.JSON{URL: "http://" + s.HTTPAddr, Client: http.DefaultClient})
	query, err := api.QueryPrivacy(servertest.Context(t),
		&pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: name}})
	if err != nil {
		t.Fatal(err)
	}
	show("JSON", map[string]float64{"δ": query.GetDelta(), "ε": query.GetEpsilon(), "running": query.GetRunning()})
}
