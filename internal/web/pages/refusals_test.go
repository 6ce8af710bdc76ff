// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/charts"
)

// Whatever stands in a refusal is shown as text, and shortened; a daemon that has forgotten some says so.
func TestHostileRefusals(t *testing.T) {
	t.Parallel()
	const bad = "<script>alert(1)</script>\u202e\x1b[31m"
	at := timestamppb.New(time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC))
	later := timestamppb.New(time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC))
	now := &ledgerNow{Ledger: &pb.Ledger{Name: "team/a"}, Privacy: &pb.QueryHistoryResponse{},
		Refusals: &pb.ListRefusalsResponse{Count: 1, StartTime: at, CountStartTime: later, Refusals: []*pb.Refusal{
			{Time: later, Principal: bad, Detail: bad + strings.Repeat("long ", 1000), SetLedgers: 3}}}}
	now.Figure = charts.Part(now.Ledger, now.Privacy, now.At, time.Time{}, time.Time{})
	s, _ := newSite(nil)
	var b bytes.Buffer
	if err := s.pages["ledger"].ExecuteTemplate(&b, "now", now); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, never := range []string{"<script", "\u202e", "\x1b"} {
		if strings.Contains(page, never) {
			t.Errorf("%q is on the page: %s", never, page)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(1)", "it may have forgotten what was refused before",
		"23 Nov 2026, 02:00:00 UTC", "ledgers together: "} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page: %s", want, page)
		}
	}
	if n := strings.Count(page, "long "); n > longest {
		t.Errorf("%d words of one refusal are shown", n)
	}
}
