// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

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

// datasets begins the names of all datasets' records.
const datasets = "dataset:"

// proposed are the names of ledgers, and after all of these of datasets, in which something is proposed, and the
// address of the page with further ones. A call looks at a bounded number of ledgers, so a page may be empty and not
// the last.
func (s *site) proposed(r *http.Request) (names []string, more string, err error) {
	q := r.URL.Query()
	ask := &pb.QueryOverviewRequest{Flags: []string{"proposed"}, PageSize: approvalsShown,
		PageToken: q.Get("page")}
	if q.Get("of") == "datasets" {
		ask.Prefix = datasets
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
		case ask.Prefix == datasets:
			return names, "", nil
		default:
			ask.Prefix = datasets
		}
		if len(names) >= approvalsShown {
			break
		}
	}
	if ask.PageToken != "" {
		next.Set("page", ask.PageToken)
	}
	if ask.Prefix == datasets {
		next.Set("of", "datasets")
	}
	return names, "/approvals?" + next.Encode(), nil
}

func (s *site) waiting(ctx context.Context, name string) (waiting, error) {
	answer, err := s.api.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
	if err != nil {
		return waiting{}, err
	}
	return waitingIn(name, answer.GetLedger()), nil
}

// waitingIn are the proposals of a ledger.
func waitingIn(name string, l *pb.Ledger) waiting {
	w := waiting{Name: name}
	for _, p := range l.GetProposals() {
		w.Proposals = append(w.Proposals, proposal{p, time.Now().After(p.GetExpireTime().AsTime())})
	}
	return w
}

// Joined are the proposals in groups of those that would do the same, each by position.
func (w waiting) Joined() (groups [][]proposal) {
next:
	for _, p := range w.Proposals {
		for i, g := range groups {
			if sameAction(g[0].GetPropose(), p.GetPropose()) {
				groups[i] = append(g, p)
				continue next
			}
		}
		groups = append(groups, []proposal{p})
	}
	return groups
}

// sameAction reports whether two proposals would do the same, whoever made them and why.
func sameAction(a, b *pb.Propose) bool {
	return a != nil && b != nil && proto.Equal(bare(a), bare(b))
}

// bare is what a proposal does, without who proposes it, for how long and why.
func bare(p *pb.Propose) *pb.Propose {
	out := proto.Clone(p).(*pb.Propose)
	out.Person, out.LifetimeSeconds = "", 0
	r := out.ProtoReflect()
	if field := r.WhichOneof(r.Descriptor().Oneofs().ByName("action")); field != nil {
		action := r.Mutable(field).Message()
		if reason := action.Descriptor().Fields().ByName("reason"); reason != nil {
			action.Clear(reason)
		}
	}
	return out
}

// Dataset is the identifier of the dataset whose record it is; empty of a ledger.
func (w waiting) Dataset() string {
	id, is := strings.CutPrefix(w.Name, datasets)
	if !is {
		return ""
	}
	return id
}
