// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// The rate is that of the last week, or of the ledger's life where that is shorter, and the earliest and the latest
// time come from all windows within its life. The numbers are exact in binary, and worked out by hand.
func TestGuess(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ago := func(days, share float64) point {
		return point{position: uint64(1000 - days), time: now.Add(-time.Duration(days * float64(day))),
			used: []float64{0, share}}
	}
	began := func(days float64) point {
		p := ago(days, 0)
		p.position = 0
		return p
	}
	never := -1.0
	for name, c := range map[string]struct {
		points                       []point
		share                        float64
		window, rate                 float64 // in days, a day; never: there is none
		exhaustion, earliest, latest float64 // in days from now
	}{
		"nothing charged": {[]point{began(10)}, 0, never, never, never, never, never},
		"younger than a day": {[]point{began(0.9), ago(0.5, 0.1), ago(0.3, 0.2), ago(0, 0.5)},
			0.5, never, never, never, never, never},
		"two moments": {[]point{began(4), ago(2, 0.25), ago(0, 0.5)}, 0.5, never, never, never, never, never},
		"one burst": {[]point{began(4), ago(2, 0.25), ago(0.02, 0.375), ago(0.01, 0.5), ago(0, 0.625)}, 0.625,
			never, never, never, never, never},
		"half in four days": {[]point{began(4), ago(3, 0.125), ago(2, 0.25), ago(0, 0.5)},
			0.5, 1, 0.25, 2, 2, 4},
		"older than a week": {[]point{began(14), ago(9, 0.0625), ago(7, 0.125), ago(0, 0.5625)},
			0.5625, 7, 0.0625, 7, 1, 10.889},
		"nothing for a week": {[]point{began(16), ago(10, 0.125), ago(9, 0.25), ago(8, 0.5)},
			0.5, 7, 0, never, 16, 16},
		"a refund within a week": {[]point{began(8), ago(7.8, 0.125), ago(7.7, 0.25), ago(7.5, 0.5), ago(1.5, 0.25)},
			0.25, 7, 0, never, 24, 24},
		"further than ten years": {[]point{began(4000), ago(0.5, 0.125), ago(0.25, 0.1875), ago(0, 0.25)},
			0.25, 7, 0.25 / 7, 21, 3, 90},
		"only further than that": {[]point{began(8000), ago(42, 0.125), ago(41, 0.1875), ago(40, 0.25)},
			0.25, 7, 0, never, never, never},
		"more than all": {[]point{began(4), ago(0.5, 0.25), ago(0.25, 0.5), ago(0, 1.25)},
			1.25, 1, 1.25, 0, 0, 0},
		"a clock that went back": {[]point{began(8), ago(-1, 0.25), ago(7.5, 0.375), ago(0, 0.5)}, 0.5, 7,
			0.125 / 7, 28, 4, 28},
	} {
		a := &pb.QueryForecastResponse{Share: &c.share}
		guess(a, c.points, 1, now)
		days := func(at *timestamppb.Timestamp) float64 {
			if at == nil {
				return never
			}
			return at.AsTime().Sub(now).Hours() / 24
		}
		rate := never
		if a.SharePerDay != nil {
			rate = a.GetSharePerDay()
		}
		window := never
		if a.WindowStart != nil {
			window = -days(a.GetWindowStart())
		}
		for what, v := range map[string][2]float64{"window": {window, c.window}, "rate": {rate, c.rate},
			"exhaustion": {days(a.GetExhaustionTime()), c.exhaustion},
			"earliest":   {days(a.GetEarliestTime()), c.earliest},
			"latest":     {days(a.GetLatestTime()), c.latest}} {
			if d := v[0] - v[1]; d > 1e-3 || d < -1e-3 {
				t.Errorf("%s: %s %g; want %g", name, what, v[0], v[1])
			}
		}
	}
}
