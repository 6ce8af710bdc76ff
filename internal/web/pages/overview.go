// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// The overview shows overviewRows rows at once. It sorts and counts at most blockRows, which it reads by calls of
// callRows each and at most blockCalls of them; where there are more, a link leads to the next block of them, by name.
const (
	overviewRows = 50
	blockRows    = 2000
	blockCalls   = 40
	callRows     = 200
	// blockTime bounds for how long a page waits for numbers that nobody has asked for since the daemon's start. They
	// are kept, so the rest is there when the page is loaded again.
	blockTime = 2 * time.Second
)

// overviewBody is the overview: a page of ledgers, or of datasets.
type overviewBody struct {
	listed
	Rows     []*pb.OverviewRow // of this page
	Columns  []heading
	Totals   []total
	Filtered bool // by more than a name
	Searched bool // by anything

	query                       url.Values // of the address
	Page, Pages                 int
	First, Previous, Next, Last string // addresses; empty where there is no such page

	States, Flags, Shares, Orders []choice
	Warnings                      []string // what the numbers do not count
}

// listed are the rows that an address asks for, in its order.
type listed struct {
	All      []*pb.OverviewRow
	Datasets bool
	Asked    *pb.QueryOverviewRequest
	Order    order
	Part     bool   // there are others, before or after these by name
	Further  string // the token with which those after these begin; empty if there are none
	Late     bool   // there was no time for them
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

// total counts rows of one kind; a link leads to them alone.
type total struct {
	Count int
	Text  string
	Link  string // empty where the page shows nothing else already
}

// heading is a column's heading, with the address of the page that is sorted by it.
type heading struct {
	column
	Link   string
	Sorted string // "ascending", "descending" or "none"
}

// listed reads the rows that an address asks for, about most of them at once and as far as it comes in a time, and
// sorts them. Without a time it reads on.
func (s *site) listed(r *http.Request, most int, within time.Duration) (l listed, err error) {
	began := time.Now()
	q := r.URL.Query()
	l.Datasets = q.Get("of") == "datasets"
	l.Asked = &pb.QueryOverviewRequest{Contains: q.Get("contains"), State: q.Get("state"), PageSize: callRows,
		PageToken: q.Get("after")}
	if l.Datasets {
		l.Asked.Prefix = datasets
	}
	if flag := q.Get("flag"); flag != "" {
		l.Asked.Flags = []string{flag}
	}
	if share := q.Get("share"); share != "" {
		if l.Asked.MinShare, err = strconv.ParseFloat(share, 64); err != nil {
			return l, status.Errorf(codes.InvalidArgument, "share: %q; allowed: a number from 0 to 1", share)
		}
	}
	if l.Order, err = orderOf(q.Get("sort"), l.Datasets); err != nil {
		return l, err
	}
	l.Part = l.Asked.PageToken != ""
	// A call looks at a bounded number of ledgers, so an answer may be empty and not the last.
	for range blockCalls * most / blockRows {
		answer, err := s.api.QueryOverview(r.Context(), l.Asked)
		if err != nil {
			return l, err
		}
		l.All = append(l.All, answer.GetRows()...)
		l.Asked.PageToken = answer.GetNextPageToken()
		l.Late = within > 0 && time.Since(began) > within && l.Asked.PageToken != ""
		if l.Asked.PageToken == "" || len(l.All) >= most || l.Late && len(l.All) > 0 {
			break
		}
	}
	l.Further = l.Asked.PageToken
	l.Part = l.Part || l.Further != ""
	l.Order.sort(l.All)
	return l, nil
}

func (s *site) overview(r *http.Request) (*page, error) {
	q := r.URL.Query()
	number := 1
	if text := q.Get("page"); text != "" {
		var err error
		if number, err = strconv.Atoi(text); err != nil || number < 1 {
			return nil, status.Errorf(codes.InvalidArgument, "page: %q; allowed: the number of a page, from 1 on", text)
		}
	}
	l, err := s.listed(r, blockRows, blockTime)
	if err != nil {
		return nil, err
	}
	b := overviewBody{listed: l, query: q,
		Filtered: l.Asked.State != "" || len(l.Asked.Flags) > 0 || l.Asked.MinShare > 0,
		States: choices(l.Asked.State, "", "any state", "open", "open", "closed", "closed", "needs reconciling",
			"needs reconciling"),
		Shares: choices(q.Get("share"), "", "any share", "0.5", "at least half used", "0.8", "at least 80 % used",
			"1", "used up")}
	b.Searched = b.Filtered || l.Asked.Contains != ""
	b.Flags = choices(q.Get("flag"), "", "anything")
	for _, f := range []string{"refunded", "freed", "raised", "restored", "unreconciled", "loss accepted", "adopted",
		"reserved", "proposed"} {
		b.Flags = append(b.Flags, choice{f, f, f == q.Get("flag")})
	}
	b.Orders = l.Order.choices()
	for _, c := range columnsOf(l.Datasets) {
		b.Columns = append(b.Columns, heading{c, address(q, "sort", l.Order.after(c), "page", ""), l.Order.of(c)})
	}
	b.Totals = totals(l, q)
	b.paged(q, number)
	var lost questions.Uncounted
	for _, r := range b.Rows {
		lost.AddRow(r)
	}
	b.Warnings = lost.Notes()
	return &page{Title: "Overview", Section: "overview", Body: b, Unfinished: b.Late}, nil
}

// paged chooses the rows of a page, of those after the last page the last one, and finds what leads to others.
func (b *overviewBody) paged(q url.Values, number int) {
	b.Pages = max(1, (len(b.All)+overviewRows-1)/overviewRows)
	b.Page = min(number, b.Pages)
	b.Rows = b.All[min(len(b.All), (b.Page-1)*overviewRows):min(len(b.All), b.Page*overviewRows)]
	to := func(n int) string { return address(q, "page", strconv.Itoa(n)) }
	if b.Page > 1 {
		b.First, b.Previous = address(q, "page", ""), to(b.Page-1)
	}
	if b.Page < b.Pages {
		b.Next, b.Last = to(b.Page+1), to(b.Pages)
	}
}

// Files are links to files with all rows that match.
func (b overviewBody) Files() (list []link) {
	for _, kind := range []string{"CSV", "JSON", "md"} {
		text := map[string]string{"md": "Markdown"}[kind]
		list = append(list, link{cmp.Or(text, kind), "/file/overview." + strings.ToLower(kind) +
			strings.TrimPrefix(address(b.query, "page", "", "after", ""), "/")})
	}
	return list
}

// Here is the page's own address.
func (b overviewBody) Here() string { return address(b.query) }

// FurtherLink is the address of the rows that come after all that were sorted; empty if there are none.
func (b overviewBody) FurtherLink() string {
	if b.Further == "" {
		return ""
	}
	q := url.Values{"after": {b.Further}}
	for key, value := range map[string]string{"contains": b.Asked.GetContains(), "state": b.Asked.GetState(),
		"sort": b.Order.String()} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if b.Datasets {
		q.Set("of", "datasets")
	}
	for _, f := range b.Asked.GetFlags() {
		q.Set("flag", f)
	}
	if x := b.Asked.GetMinShare(); x > 0 {
		q.Set("share", strconv.FormatFloat(x, 'g', -1, 64))
	}
	return "/?" + q.Encode()
}

// totals counts the rows that need somebody. No sum of ε is among them, which would mean nothing.
func totals(l listed, q url.Values) []total {
	thing := "ledger"
	if l.Datasets {
		thing = "dataset"
	}
	kinds := []struct {
		text, key, value string
		has              func(*pb.OverviewRow) bool
	}{
		{"at least 80 % used", "share", "0.8",
			func(r *pb.OverviewRow) bool { return r.Share != nil && r.GetShare() >= 0.8 }},
		{"used up", "share", "1", func(r *pb.OverviewRow) bool { return r.Share != nil && r.GetShare() >= 1 }},
		{"waiting for approval", "flag", "proposed", flagged("proposed")},
		{"to be reconciled", "state", "needs reconciling",
			func(r *pb.OverviewRow) bool { return r.GetState() == "needs reconciling" }},
		{"with reservations", "flag", "reserved", flagged("reserved")},
		{"closed", "state", "closed", func(r *pb.OverviewRow) bool { return r.GetState() == "closed" }},
		{"without a budget", "", "", func(r *pb.OverviewRow) bool { return r.Share == nil && r.GetProblem() == "" }},
		{"without numbers", "", "", func(r *pb.OverviewRow) bool { return r.GetProblem() != "" }},
	}
	out := []total{{Count: len(l.All), Text: plural(len(l.All), thing)}}
	for _, k := range kinds {
		t := total{Text: k.text}
		for _, r := range l.All {
			if k.has(r) {
				t.Count++
			}
		}
		if k.key != "" && q.Get(k.key) != k.value {
			t.Link = address(q, k.key, k.value, "page", "", "after", "")
		}
		if t.Count > 0 {
			out = append(out, t)
		}
	}
	return out
}

func flagged(flag string) func(*pb.OverviewRow) bool {
	return func(r *pb.OverviewRow) bool { return slices.Contains(r.GetFlags(), flag) }
}

func plural(n int, thing string) string {
	if n == 1 {
		return thing
	}
	return thing + "s"
}

// address is the overview's address with other values for some keys; an empty value takes its key out.
func address(q url.Values, pairs ...string) string {
	next := url.Values{}
	for key, values := range q {
		if len(values) > 0 && values[0] != "" {
			next.Set(key, values[0])
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if next.Del(pairs[i]); pairs[i+1] != "" {
			next.Set(pairs[i], pairs[i+1])
		}
	}
	if len(next) == 0 {
		return "/"
	}
	return fmt.Sprintf("/?%s", next.Encode())
}
