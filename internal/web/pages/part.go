// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// part is a part of the time, as an address names it; a time that is zero is no bound.
type part struct {
	From, To         time.Time
	FromText, ToText string // as they were given
}

// partOf reads the part that a request asks for.
func partOf(r *http.Request) (p part, err error) {
	q := r.URL.Query()
	p.FromText, p.ToText = q.Get("from"), q.Get("to")
	if p.From, err = timeOf("from", p.FromText); err == nil {
		p.To, err = timeOf("to", p.ToText)
	}
	if p.ToText != "" && p.To.IsZero() { // the earliest time there is, which would look like none
		p.To = p.To.Add(1)
	}
	if err == nil && !p.From.IsZero() && !p.To.IsZero() && !p.To.After(p.From) {
		err = status.Errorf(codes.InvalidArgument, "to: %q; allowed: a time later than from, %q", p.ToText, p.FromText)
	}
	return p, err
}

// timeOf reads a time, which is in UTC unless it says otherwise. An empty text is none.
func timeOf(key, text string) (t time.Time, err error) {
	if text == "" {
		return t, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
		"2006-01-02 15:04", time.DateOnly} {
		if t, err = time.Parse(layout, text); err == nil {
			if t = t.UTC(); t.Year() >= 1 && t.Year() <= 9999 {
				return t, nil
			}
		}
	}
	return t, status.Errorf(codes.InvalidArgument, "%s: %q; allowed: a time in UTC such as 2026-11-23T09:00, or a day "+
		"such as 2026-11-23, in the years 1 to 9999", key, text)
}

// Chosen reports whether it is not all of the time.
func (p part) Chosen() bool { return p.FromText != "" || p.ToText != "" }

// All is the address of the page about a ledger that shows all of the time.
func (p part) All(ledger string) string { return "/ledger?" + url.Values{"name": {ledger}}.Encode() }

// add adds the part to the values of an address.
func (p part) add(v url.Values) url.Values {
	for key, text := range map[string]string{"from": p.FromText, "to": p.ToText} {
		if text != "" {
			v.Set(key, text)
		}
	}
	return v
}

// history asks for points of the part.
func (p part) history(ledger string, points uint32) *pb.QueryHistoryRequest {
	ask := &pb.QueryHistoryRequest{Ledger: ledger, Points: points}
	if !p.From.IsZero() {
		ask.StartTime = timestamppb.New(p.From)
	}
	if !p.To.IsZero() {
		ask.EndTime = timestamppb.New(p.To)
	}
	return ask
}

// Span is the time that the figure covers, as a script sends it back.
func (n *ledgerNow) Span() *struct{ From, To string } {
	if n.Figure == nil || n.Point == nil {
		return nil
	}
	low, high := n.Figure.Across()
	text := func(seconds float64) string {
		return time.UnixMilli(int64(seconds * 1000)).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return &struct{ From, To string }{text(low), text(high)}
}
