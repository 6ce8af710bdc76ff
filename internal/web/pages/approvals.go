package pages

import (
	"context"
	"net/http"
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

// approvalsBody is what waits for another person's approval.
type approvalsBody struct {
	Waiting []waiting
	Access  *pb.GetAccessResponse
}

func (s *site) approvals(r *http.Request) (*page, error) {
	b := approvalsBody{}
	var err error
	if b.Access, err = s.api.GetAccess(r.Context(), &pb.GetAccessRequest{}); err != nil {
		return nil, err
	}
	for _, of := range []pb.QueryOverviewRequest_Subject{pb.QueryOverviewRequest_LEDGERS,
		pb.QueryOverviewRequest_DATASETS} {
		names, err := s.proposed(r.Context(), of)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			w, err := s.waiting(r.Context(), name)
			if err != nil {
				return nil, err
			}
			b.Waiting = append(b.Waiting, w)
		}
	}
	return &page{Title: "Approvals", Section: "approvals", Body: b}, nil
}

// proposed are the names of everything in which something is proposed.
func (s *site) proposed(ctx context.Context, of pb.QueryOverviewRequest_Subject) (names []string, err error) {
	ask := &pb.QueryOverviewRequest{Subject: of, Flags: []string{"proposed"}, PageSize: 200}
	for {
		answer, err := s.api.QueryOverview(ctx, ask)
		if err != nil {
			return nil, err
		}
		for _, row := range answer.GetRows() {
			names = append(names, row.GetName())
		}
		if ask.PageToken = answer.GetNextPageToken(); ask.PageToken == "" {
			return names, nil
		}
	}
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
