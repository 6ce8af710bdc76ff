// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Somebody with the viewer's role alone sees a ledger's numbers, and instead of what names people (who has spent it,
// the entries, the refusals) which role it needs. An auditor sees all of it, and neither sees another ledger.
func TestViewersPage(t *testing.T) {
	t.Parallel()
	d := start(t, ruled(t, seen...))
	for _, name := range []string{"seen/a", "hidden"} {
		d.create(t, servertest.Filter(name, servertest.Basic(10)))
		d.Report(name, servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.5, 1)},
			Labels: map[string]string{"secret": "unlikely"}})
		_, err := d.Client.Report(servertest.Context(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: servertest.Writer(), Sequence: 1},
			Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(50, 1)}},
		})
		if err == nil {
			t.Fatal("the budget holds 50")
		}
	}
	const lacks, numbers = "needs the role auditor", "ε guaranteed"
	viewer, auditor := d.issuer.Token("viewer", nil), d.issuer.Token("auditor", nil)
	page := d.page(t, "/ledger?name=seen/a", viewer)
	if n := strings.Count(page, lacks); n != 3 || !strings.Contains(page, numbers) ||
		strings.Contains(page, "unlikely") || strings.Contains(page, "unverified:") {
		t.Errorf("a viewer is told %d times which role is lacking; want 3, the numbers, and nobody's name:\n%s", n,
			page)
	}
	page = d.page(t, "/ledger?name=seen/a", auditor)
	if strings.Contains(page, lacks) || !strings.Contains(page, numbers) || !strings.Contains(page, "unlikely") ||
		!strings.Contains(page, "unverified:") {
		t.Errorf("an auditor lacks something:\n%s", page)
	}
	for _, token := range []string{viewer, auditor} {
		if page := d.page(t, "/", token); !strings.Contains(page, "seen/a") || strings.Contains(page, "hidden") {
			t.Errorf("the overview:\n%s", page)
		}
		for _, path := range []string{"/curves?name=", "/statement?name=", "/audit?name=", "/ledger?name=",
			"/ledger/live?name="} {
			r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet,
				"http://"+d.HTTPAddr+path+"hidden", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			if code, _, body := send(t, r); code != http.StatusForbidden && code != http.StatusNotFound {
				t.Errorf("%shidden: %d\n%s", path, code, body)
			}
		}
	}
}
