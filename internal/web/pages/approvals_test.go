// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// proposals is a service in which something is proposed in each of many ledgers and datasets. A call looks at 200
// of them at most and finds none in the first half of the ledgers.
type proposals struct {
	ledgers, datasets int
	overviews, gets   int // calls
}

func (p *proposals) Invoke(_ context.Context, _ string, request, answer any, _ ...grpc.CallOption) error {
	switch r := request.(type) {
	case *pb.GetLedgerRequest:
		p.gets++
		proto.Merge(answer.(proto.Message), &pb.GetLedgerResponse{Ledger: &pb.Ledger{
			Proposals: []*pb.Proposal{{Position: 1, Principal: "oidc:ann"}}}})
	case *pb.QueryOverviewRequest:
		p.overviews++
		name, all, empty := "ledger-%04d", p.ledgers, p.ledgers/2
		if r.GetPrefix() == "dataset:" {
			name, all, empty = "dataset:d-%04d", p.datasets, 0
		}
		from, _ := strconv.Atoi(r.GetPageToken())
		out := &pb.QueryOverviewResponse{}
		at := from
		for ; at < all && at < from+200 && len(out.Rows) < int(r.GetPageSize()); at++ {
			if at >= empty {
				out.Rows = append(out.Rows, &pb.OverviewRow{Name: fmt.Sprintf(name, at)})
			}
		}
		if at < all {
			out.NextPageToken = strconv.Itoa(at)
		}
		proto.Merge(answer.(proto.Message), out)
	}
	return nil
}

func (p *proposals) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream,
	error) {
	return nil, nil
}

// However much waits for approval, one page asks a bounded number of calls, and its links lead to everything once.
func TestApprovalsAreShownInPages(t *testing.T) {
	t.Parallel()
	for _, c := range []proposals{{}, {ledgers: 1}, {datasets: 1}, {ledgers: 20_000, datasets: 60},
		{ledgers: 100, datasets: 25}, {ledgers: 50, datasets: 26}} {
		var want, got []string
		for i := c.ledgers / 2; i < c.ledgers; i++ {
			want = append(want, fmt.Sprintf("ledger-%04d", i))
		}
		for i := range c.datasets {
			want = append(want, fmt.Sprintf("dataset:d-%04d", i))
		}
		service := c
		site := New(&service)
		for at, pages := "/approvals", 0; at != "" && pages < 10_000; pages++ {
			service.overviews, service.gets = 0, 0
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil))
			if w.Code != http.StatusOK || service.gets > 2*approvalsShown || service.overviews > approvalsCalls {
				t.Fatalf("%s: %d, %d calls of GetLedger and %d of QueryOverview", at, w.Code, service.gets,
					service.overviews)
			}
			body := w.Body.String()
			for _, m := range regexp.MustCompile(`accountctl approvals approve (\S+)`).FindAllStringSubmatch(body, -1) {
				got = append(got, m[1])
			}
			at = ""
			if m := regexp.MustCompile(`href="(/approvals\?[^"]*)" rel="next"`).FindStringSubmatch(body); m != nil {
				at = strings.ReplaceAll(m[1], "&amp;", "&")
			} else if len(got) == 0 && !strings.Contains(body, "Nothing waits for approval") {
				t.Errorf("an empty list says nothing: %s", body)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d ledgers, %d datasets: %d are shown, want %d", c.ledgers, c.datasets, len(got), len(want))
		}
	}
}
