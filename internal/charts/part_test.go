// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// The figure of a part of the time begins where the part does, however far away that is, and ends with it; only a part
// that now belongs to says where now is.
func TestPart(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return time.Date(2026, 11, 23, hours, 0, 0, 0, time.UTC) }
	l := &pb.Ledger{Name: "team/a", Position: 2}
	h := &pb.QueryHistoryResponse{Delta: 1e-6, Points: []*pb.HistoryPoint{
		{Position: 1, Time: timestamppb.New(at(1)), EpsilonSpent: 1},
		{Position: 2, Time: timestamppb.New(at(3)), EpsilonSpent: 2}}}
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		since, until, low, high time.Time
		now                     bool
	}{
		{low: at(1), high: at(9), now: true},
		{since: at(2), low: at(2), high: at(9), now: true},
		{since: at(2), until: at(5), low: at(2), high: at(5)},
		{until: at(20), low: at(1), high: at(9), now: true},
		{since: year(2), until: year(9999), low: at(1), high: at(9), now: true},
		{since: year(9999), low: year(9999), high: year(9999).Add(time.Second), now: true},
		{until: year(2), low: at(1), high: at(3)},
	} {
		f := Part(l, h, at(9), c.since, c.until)
		low, high := f.Across()
		if low != Seconds(c.low) || high != Seconds(c.high) || (f.Now != nil) != c.now {
			t.Errorf("from %s to %s: %v to %v, now %v; want %v to %v", c.since, c.until, low, high, f.Now,
				Seconds(c.low), Seconds(c.high))
		}
		if picture := f.Inline(); !strings.Contains(picture, "</svg>") || strings.Contains(picture, "NaN") {
			t.Errorf("from %s to %s: %s", c.since, c.until, picture)
		}
	}
}
