// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

const (
	day = 24 * time.Hour
	// shortest is the least time from which anything is guessed, moments at how many moments something was spent then,
	// each at least apart from the one before, and farthest how far ahead is guessed.
	shortest = day
	moments  = 3
	apart    = time.Hour
	farthest = 10 * 365 * day
)

// QueryForecast implements the API.
func (h *Handlers) QueryForecast(ctx context.Context, req *pb.QueryForecastRequest) (*pb.QueryForecastResponse, error) {
	if err := questions.CheckAsked("ledger", req.GetLedger()); err != nil {
		return nil, err
	}
	v, err := h.Ledgers.View(ctx, req.GetLedger())
	if err != nil {
		return nil, err
	}
	answer := &pb.QueryForecastResponse{Position: v.Head.Position, WindowEnd: timestamppb.New(h.Now()),
		Warnings: questions.NotCounted(v.Assumptions)}
	share, _, of, ok := LargestShare(v)
	if !ok {
		answer.Text = questions.ForecastText(answer, questions.NoBudget)
		return answer, nil
	}
	answer.Share, answer.ShareOf = &share, of
	switch {
	case v.Closed:
		answer.Text = questions.ForecastText(answer, questions.Closed)
		return answer, nil
	case share >= 1:
		answer.Text = questions.ForecastText(answer, questions.UsedUp)
		return answer, nil
	}
	key := wholePast(v, deltaOf(v, nil), nil)
	if req.GetProgress() {
		if reading, err := h.reading(ctx, v, key); err != nil || reading != nil {
			return &pb.QueryForecastResponse{Reading: reading}, err
		}
	}
	points, err := h.past(ctx, v, key, questions.MaxHistoryPoints)
	if err != nil {
		return nil, err
	}
	guess(answer, points, largestIndex(v), h.Now())
	answer.Text = questions.ForecastText(answer, "")
	return answer, nil
}

// largestIndex is that of the share of which most is used.
func largestIndex(v ledger.View) (most int) {
	used, _ := sharesOf(v)
	for i := range used {
		if used[i] > used[most] {
			most = i
		}
	}
	return most
}

// guess takes the rates of several windows that end now for the future.
func guess(answer *pb.QueryForecastResponse, points []point, budget int, now time.Time) {
	share := func(p point) float64 {
		if budget < len(p.used) {
			return p.used[budget]
		}
		return 0
	}
	last := points[len(points)-1]
	life := now.Sub(points[0].time)
	if life < shortest {
		return
	}
	spent := 0
	var latest time.Time
	for i := 1; i < len(points); i++ {
		at, more := points[i].time, share(points[i]) > share(points[i-1])
		if more && (spent == 0 || at.Sub(latest).Abs() >= apart) {
			spent, latest = spent+1, at
		}
	}
	if spent < moments {
		return
	}
	left := max(0, 1-answer.GetShare())
	for _, window := range []time.Duration{7 * day, day, 30 * day, life} {
		if window > life {
			continue
		}
		from := now.Add(-window)
		before := points[0]
		for _, p := range points { // by position: the clock may have been set back
			if !p.time.After(from) {
				before = p
			}
		}
		rate := (share(last) - share(before)) / window.Hours() * 24 // a day
		if answer.WindowStart == nil {
			answer.WindowStart = timestamppb.New(from)
			rate := max(0, rate)
			answer.SharePerDay = &rate
			answer.ExhaustionTime = ahead(now, left, rate)
		}
		at := ahead(now, left, rate)
		if at == nil {
			continue
		}
		if answer.EarliestTime == nil || at.AsTime().Before(answer.EarliestTime.AsTime()) {
			answer.EarliestTime = at
		}
		if answer.LatestTime == nil || at.AsTime().After(answer.LatestTime.AsTime()) {
			answer.LatestTime = at
		}
	}
}

// ahead is when what is left is used up at so much a day; nil if that is too far ahead, or never.
func ahead(now time.Time, left, rate float64) *timestamppb.Timestamp {
	days := left / rate
	if !(rate > 0) || !(days < farthest.Hours()/24) {
		return nil
	}
	return timestamppb.New(now.Add(time.Duration(days * float64(day))))
}
