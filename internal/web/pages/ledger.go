// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/charts"
	"github.com/dpaccountant/accountant/internal/figure"
)

// entriesShown is how many entries a ledger's page lists.
const entriesShown = 20

// ledgerBody is a ledger's page.
type ledgerBody struct {
	*ledgerNow
	Spending              *pb.QuerySpendingResponse
	NoSpending, NoEntries string // why they are not shown, such as a role that the reader lacks
	Grouped               string // by what
	By                    []choice
	LabelKey              string
	Entries               []*pb.Entry
	Older                 string // the address of the entries before; empty if there are none
	Newest                string // that of the newest ones; empty on their page
	Live                  string // where the page hears of changes; empty of a closed ledger that was read
}

// ledgerNow is what changes while a ledger is watched.
type ledgerNow struct {
	Ledger   *pb.Ledger
	Privacy  *pb.QueryHistoryResponse
	Reading  *pb.Reading      // how far the daemon has read the entries; then the fields below are not known yet
	Point    *pb.HistoryPoint // the newest one
	Forecast *pb.QueryForecastResponse
	Figure   *figure.Figure
	Part     part // of the time, which the figure shows
	At       time.Time

	Refusals   *pb.ListRefusalsResponse
	NoRefusals string // why they are not shown, such as a role that the reader lacks
}

func (s *site) ledger(r *http.Request) (*page, error) {
	name, err := needed(r, "name", "ledger")
	if err != nil {
		return nil, err
	}
	part, err := partOf(r)
	if err != nil {
		return nil, err
	}
	now, err := s.now(r.Context(), name, part, nil)
	if err != nil {
		return nil, err
	}
	b := ledgerBody{ledgerNow: now}
	if err := s.spending(r, name, &b); err != nil {
		return nil, err
	}
	if !now.Ledger.GetClosed() || b.reading() {
		live := part.add(url.Values{"name": {name}})
		if b.reading() { // who has spent it comes later, too
			live["by"], live["label"] = []string{r.URL.Query().Get("by")}, []string{b.LabelKey}
		}
		b.Live = "/ledger/live?" + live.Encode()
	}
	if err := s.entries(r, name, &b); err != nil {
		return nil, err
	}
	return &page{Title: name, Section: "overview", Ledger: name, Body: b, Unfinished: b.reading()}, nil
}

// reading reports whether the daemon is still reading what the page shows.
func (b *ledgerBody) reading() bool { return b.Reading != nil || b.Spending.GetReading() != nil }

// Anywhere is the address of what a group with a name has spent of all ledgers.
func (b ledgerBody) Anywhere(g *pb.SpendingGroup) string {
	q := url.Values{"by": {b.Grouped}, "name": {g.GetName()}}
	if b.Grouped == "label" {
		q.Set("label", b.LabelKey)
	}
	return "/spending?" + q.Encode()
}

// spending adds who has spent the budget, or why that is not shown.
func (s *site) spending(r *http.Request, name string, b *ledgerBody) error {
	q := r.URL.Query()
	b.LabelKey = q.Get("label")
	by, list, err := byOf(q)
	if err != nil {
		return err
	}
	b.Grouped, b.By = by, list
	ask := &pb.QuerySpendingRequest{Ledger: name, By: groupings[by], Limit: 20, Progress: true}
	if by == "label" {
		ask.LabelKey = b.LabelKey
	}
	if b.Ledger.GetPosition() > 0 && (by != "label" || b.LabelKey != "") {
		if b.Spending, err = s.api.QuerySpending(r.Context(), ask); err != nil {
			b.Spending, b.NoSpending = nil, sentence(status.Convert(err).Message())
		}
	}
	return nil
}

// Now is what changes while the ledger is watched.
func (b ledgerBody) Now() *ledgerNow { return b.ledgerNow }

// now asks for what changes while a ledger is watched; before is what was shown until now, nil if nothing was.
func (s *site) now(ctx context.Context, name string, part part, before *ledgerNow) (*ledgerNow, error) {
	got, err := s.api.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
	if err != nil {
		return nil, err
	}
	n := &ledgerNow{Ledger: got.GetLedger(), Part: part, At: time.Now().UTC()}
	if before != nil && before.NoRefusals != "" { // who lacks the role is told once, and so is the log
		n.NoRefusals = before.NoRefusals
	} else if n.Refusals, err = s.api.ListRefusals(ctx, &pb.ListRefusalsRequest{Ledger: name}); err != nil {
		n.NoRefusals = sentence(status.Convert(err).Message())
	}
	if n.Privacy, err = s.api.QueryHistory(ctx, &pb.QueryHistoryRequest{Ledger: name, Points: charts.Points,
		Progress: true}); err != nil {
		return nil, err
	}
	if n.Reading = n.Privacy.GetReading(); n.Reading != nil {
		return n, nil
	}
	if points := n.Privacy.GetPoints(); len(points) > 0 {
		n.Point = points[len(points)-1]
	}
	if n.Forecast, err = s.api.QueryForecast(ctx, &pb.QueryForecastRequest{Ledger: name,
		Progress: true}); err != nil {
		return nil, err
	}
	if n.Reading = n.Forecast.GetReading(); n.Reading != nil { // of another δ
		return n, nil
	}
	shown := n.Privacy
	if part.Chosen() {
		ask := part.history(name, charts.Points)
		ask.Progress = true
		if shown, err = s.api.QueryHistory(ctx, ask); err != nil {
			return nil, err
		}
		if n.Reading = shown.GetReading(); n.Reading != nil {
			return n, nil
		}
	}
	n.Figure = charts.Part(n.Ledger, shown, n.At, part.From, part.To)
	return n, nil
}

// mostUsed is how much is used of the budget of which most is.
type mostUsed struct {
	Used     float64
	Of, Left string
	UpOn     *timestamppb.Timestamp // when it will be used up, by a guess; nil if nothing says so
}

// Most is the number that matters first: how much is used of the budget of which most is, and what that budget is. It
// is nil where there is no budget.
func (n *ledgerNow) Most() *mostUsed {
	if n.Point == nil || len(n.Point.GetShares()) == 0 {
		return nil
	}
	most := 0
	for i, share := range n.Point.GetShares() {
		if share > n.Point.GetShares()[most] {
			most = i
		}
	}
	used, of := n.Point.GetShares()[most], ""
	if most < len(n.Privacy.GetBudgets()) {
		of = n.Privacy.GetBudgets()[most]
	}
	out := &mostUsed{Used: used, Of: of, Left: leftOf(used)}
	if used < 1 && !n.Ledger.GetClosed() {
		out.UpOn = n.Forecast.GetExhaustionTime()
	}
	return out
}

// Forgot reports whether the daemon may have refused more than it remembers.
func (n *ledgerNow) Forgot() bool {
	return n.Refusals.GetCountStartTime().AsTime().After(n.Refusals.GetStartTime().AsTime())
}

// entries adds the entries up to the position that is asked for, the newest one first.
func (s *site) entries(r *http.Request, name string, b *ledgerBody) error {
	last := b.Ledger.GetPosition()
	if text := r.URL.Query().Get("until"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return status.Errorf(codes.InvalidArgument, "until: %q; allowed: the position of an entry", text)
		}
		if n < last {
			last = n
			b.Newest = "/ledger?" + url.Values{"name": {name}}.Encode() + "#entries"
		}
	}
	if last == 0 {
		return nil
	}
	first := uint64(1)
	if last > entriesShown {
		first = last - entriesShown + 1
	}
	answer, err := s.api.ListEntries(r.Context(), &pb.ListEntriesRequest{Ledger: name, StartPosition: first,
		EndPosition: last, PageSize: entriesShown})
	if err != nil {
		b.NoEntries = sentence(status.Convert(err).Message())
		return nil
	}
	for i := len(answer.GetEntries()) - 1; i >= 0; i-- {
		b.Entries = append(b.Entries, answer.GetEntries()[i])
	}
	if first > 1 {
		older := url.Values{"name": {name}, "until": {strconv.FormatUint(first-1, 10)}}
		b.Older = "/ledger?" + older.Encode() + "#entries"
	}
	return nil
}
