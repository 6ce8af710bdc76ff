// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// page returns a page as somebody with a token sees it.
func (d daemon) page(t *testing.T, path, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet, "http://"+d.HTTPAddr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	code, _, body := send(t, r)
	if code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, code, body)
	}
	return body
}

func (d daemon) create(t *testing.T, spec *pb.LedgerSpec) {
	t.Helper()
	_, err := d.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
}

// planned asks the planner how many epochs fit.
func (d daemon) planned(t *testing.T, noise, ledger, token string) string {
	t.Helper()
	q := url.Values{"ask": {"epochs"}, "noise": {noise}, "batch": {"256"}, "records": {"60000"}, "epsilon": {"3"},
		"delta": {"1e-6"}, "ledger": {ledger}}
	return d.page(t, "/planner?"+q.Encode(), token)
}

// The planner says that one more epoch does not fit only where that was found out: with very much noise the answer
// is the most that a question can be about, and more would fit.
func TestPlannerSaysWhatItLookedAt(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	const none, unknown = "One more\ndoes not fit.", "Whether more of them fit was not looked at."
	if body := d.planned(t, "1.1", "", ""); !strings.Contains(body, none) || strings.Contains(body, unknown) {
		t.Errorf("the largest count is not said to be that:\n%s", body)
	}
	if body := d.planned(t, "1e300", "", ""); strings.Contains(body, none) || !strings.Contains(body, unknown) {
		t.Errorf("the end of the range is said to be the largest count:\n%s", body)
	}
}

// Whoever may look at a ledger may ask the planner how many epochs fit into its budget: a privacy officer charges
// nothing, and needs no right to. Others learn nothing.
func TestPlannerAnswersReaders(t *testing.T) {
	t.Parallel()
	d := start(t, ruled(t, seen...))
	for _, name := range []string{"seen/a", "hidden"} {
		d.create(t, &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
			Budgets: []*pb.Budget{{Epsilon: new(3.0), Delta: new(1e-6), Guard: pb.Budget_RDP, Order: new(8.0)}}})
	}
	for _, who := range []string{"viewer", "auditor"} {
		token := d.issuer.Token(who, nil)
		const answer = "more epochs fit into the budget of seen/a"
		if body := d.planned(t, "2", "seen/a", token); !strings.Contains(body, answer) {
			t.Errorf("%s has no answer:\n%s", who, body)
		}
		if body := d.planned(t, "2", "hidden", token); !strings.Contains(body, "Not allowed by the access policy") {
			t.Errorf("%s has an answer about a hidden ledger:\n%s", who, body)
		}
	}
	if d.Position("seen/a") != 0 {
		t.Error("asking has charged something")
	}
}

// Wherever ε is shown for a ledger, the page says for which neighbouring datasets, as two ε for different ones
// cannot be compared, and whose data one record is.
func TestPagesNameTheNeighbours(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for name, c := range map[string]struct {
		adjacency  pb.Workload_Adjacency
		unit, want string
	}{
		"added":    {pb.Workload_ADD_OR_REMOVE_ONE, "patient", "One of them has a record more than the other"},
		"replaced": {pb.Workload_REPLACE_ONE, "", "One of them has another record in the place of one"},
		"zeroed":   {pb.Workload_ZERO_OUT, "", "One of them has an empty record in the place of one"},
	} {
		d.create(t, &pb.LedgerSpec{Name: name, Adjacency: c.adjacency, PrivacyUnit: c.unit,
			Policy: pb.LedgerSpec_DESCRIPTIVE})
		unit := "Nobody has said whose data one record is."
		if c.unit != "" {
			unit = "Whose data one record is: " + c.unit + "."
		}
		for _, path := range []string{"/ledger?name=", "/curves?name="} {
			if body := d.page(t, path+name, ""); !strings.Contains(body, c.want) || !strings.Contains(body, unit) {
				t.Errorf("%s%s names no neighbours or no unit:\n%s", path, name, body)
			}
		}
	}
	if body := d.page(t, "/planner", ""); !strings.Contains(body, "add-or-remove-one") {
		t.Error("the planner does not name the neighbouring datasets")
	}
}

// What the daemon says about its numbers stands on the page whole: its end is where an assumption may be.
func TestPagesCutNoExplanation(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.create(t, &pb.LedgerSpec{Name: "told", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
		Budgets: []*pb.Budget{{Epsilon: new(3.0), Delta: new(1e-6), Guard: pb.Budget_RDP, Order: new(8.0)}}})
	d.Report("told", servertest.Writer(), 1, servertest.Gaussian(4, 3))
	spending, err := d.Client.QuerySpending(servertest.Context(t), &pb.QuerySpendingRequest{Ledger: "told",
		By: pb.QuerySpendingRequest_PRINCIPAL})
	if err != nil {
		t.Fatal(err)
	}
	history, err := d.Client.QueryHistory(servertest.Context(t), &pb.QueryHistoryRequest{Ledger: "told"})
	if err != nil {
		t.Fatal(err)
	}
	body := html.UnescapeString(d.page(t, "/ledger?name=told", ""))
	for _, text := range []string{spending.GetText(), history.GetText()} {
		if text == "" || !strings.Contains(body, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}
