package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// waiting is a ledger, or a dataset's record, with what waits there for approval.
type waiting struct {
	Name      string
	Proposals []proposal
}

type proposal struct {
	*pb.Proposal
	Over bool // its time is over
}

// approvalsShown is about how many ledgers and datasets one page shows: less than twice as many. Each of them is asked
// for by a call of its own, and the list is looked through by at most approvalsCalls calls.
const (
	approvalsShown = 25
	approvalsCalls = 20
)

// approvalsBody is what waits for another person's approval.
type approvalsBody struct {
	Waiting []waiting
	Access  *pb.GetAccessResponse
	More    string // the address of the next page; empty on the last
	Later   bool   // it is not the first page
}

func (s *site) approvals(r *http.Request) (*page, error) {
	b := approvalsBody{Later: r.URL.RawQuery != ""}
	var err error
	if b.Access, err = s.api.GetAccess(r.Context(), &pb.GetAccessRequest{}); err != nil {
		return nil, err
	}
	names, more, err := s.proposed(r)
	if err != nil {
		return nil, err
	}
	b.More = more
	for _, name := range names {
		w, err := s.waiting(r.Context(), name)
		if err != nil {
			return nil, err
		}
		b.Waiting = append(b.Waiting, w)
	}
	return &page{Title: "Approvals", Section: "approvals", Body: b}, nil
}

// proposed are the names of ledgers, and after all of these of datasets, in which something is proposed, and the
// address of the page with further ones. A call looks at a bounded number of ledgers, so a page may be empty and not
// the last.
func (s *site) proposed(r *http.Request) (names []string, more string, err error) {
	q := r.URL.Query()
	ask := &pb.QueryOverviewRequest{Subject: pb.QueryOverviewRequest_LEDGERS, Flags: []string{"proposed"},
		PageSize: approvalsShown, PageToken: q.Get("page")}
	if q.Get("of") == "datasets" {
		ask.Subject = pb.QueryOverviewRequest_DATASETS
	}
	next := url.Values{}
	for range approvalsCalls {
		answer, err := s.api.QueryOverview(r.Context(), ask)
		if err != nil {
			return nil, "", err
		}
		for _, row := range answer.GetRows() {
			names = append(names, row.GetName())
		}
		ask.PageToken = answer.GetNextPageToken()
		switch {
		case ask.PageToken != "":
		case ask.Subject == pb.QueryOverviewRequest_DATASETS:
			return names, "", nil
		default:
			ask.Subject = pb.QueryOverviewRequest_DATASETS
		}
		if len(names) >= approvalsShown {
			break
		}
	}
	if ask.PageToken != "" {
		next.Set("page", ask.PageToken)
	}
	if ask.Subject == pb.QueryOverviewRequest_DATASETS {
		next.Set("of", "datasets")
	}
	return names, "/approvals?" + next.Encode(), nil
}

func (s *site) waiting(ctx context.Context, name string) (waiting, error) {
	w := waiting{Name: name}
	answer, err := s.api.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
	if err != nil {
		return w, err
	}
	for _, p := range answer.GetLedger().GetProposals() {
		w.Proposals = append(w.Proposals, proposal{p, time.Now().After(p.GetExpireTime().AsTime())})
	}
	return w, nil
}

// Dataset is the identifier of the dataset whose record it is; empty of a ledger.
func (w waiting) Dataset() string {
	id, is := strings.CutPrefix(w.Name, "dataset:")
	if !is {
		return ""
	}
	return id
}
