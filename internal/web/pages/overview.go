package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// overviewRows is how many rows a page of the overview has.
const overviewRows = 50

// overviewBody is the overview: a page of ledgers, or of datasets.
type overviewBody struct {
	Rows     []*pb.OverviewRow
	Datasets bool
	Asked    *pb.QueryOverviewRequest
	Filtered bool
	More     string // the address of the next page; empty on the last
	Later    bool   // it is not the first page
	States   []choice
	Flags    []choice
	Shares   []choice
	Warnings []string // what the numbers do not count
}

// choice is an option of a list in a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

func choices(chosen string, pairs ...string) []choice {
	var out []choice
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, choice{pairs[i], pairs[i+1], pairs[i] == chosen})
	}
	return out
}

func (s *site) overview(r *http.Request) (*page, error) {
	q := r.URL.Query()
	ask := &pb.QueryOverviewRequest{Subject: pb.QueryOverviewRequest_LEDGERS, Contains: q.Get("contains"),
		State: q.Get("state"), PageSize: overviewRows, PageToken: q.Get("page")}
	if q.Get("of") == "datasets" {
		ask.Subject = pb.QueryOverviewRequest_DATASETS
	}
	if flag := q.Get("flag"); flag != "" {
		ask.Flags = []string{flag}
	}
	if share := q.Get("share"); share != "" {
		x, err := strconv.ParseFloat(share, 64)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "share: %q; allowed: a number from 0 to 1", share)
		}
		ask.MinShare = x
	}
	b := overviewBody{Datasets: q.Get("of") == "datasets", Asked: ask, Later: ask.PageToken != "",
		Filtered: ask.Contains != "" || ask.State != "" || len(ask.Flags) > 0 || ask.MinShare > 0,
		States: choices(ask.State, "", "any state", "open", "open", "closed", "closed", "needs reconciling",
			"needs reconciling"),
		Shares: choices(q.Get("share"), "", "any share", "0.5", "at least half used", "0.8", "at least 80 % used",
			"1", "used up")}
	b.Flags = choices(q.Get("flag"), "", "anything")
	for _, f := range []string{"refunded", "freed", "raised", "restored", "unreconciled", "loss accepted", "adopted",
		"reserved", "proposed"} {
		b.Flags = append(b.Flags, choice{f, f, f == q.Get("flag")})
	}
	// A call looks at a bounded number of ledgers, so a page may be empty and not the last.
	for range 20 {
		answer, err := s.api.QueryOverview(r.Context(), ask)
		if err != nil {
			return nil, err
		}
		b.Rows = append(b.Rows, answer.GetRows()...)
		ask.PageToken = answer.GetNextPageToken()
		if len(b.Rows) > 0 || ask.PageToken == "" {
			break
		}
	}
	var lost questions.Uncounted
	for _, r := range b.Rows {
		lost.AddRow(r)
	}
	b.Warnings = lost.Notes()
	if ask.PageToken != "" {
		next := url.Values{}
		for k, v := range q {
			next[k] = slices.Clone(v)
		}
		next.Set("page", ask.PageToken)
		b.More = "/?" + next.Encode()
	}
	return &page{Title: "Overview", Section: "overview", Body: b}, nil
}
