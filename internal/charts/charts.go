// SPDX-License-Identifier: Apache-2.0

// Package charts makes figures of what the API answers, for the commands and the pages: the
// privacy curve, an attacker's errors, and how a budget was used up.
package charts

import (
	"math"
	"slices"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// Points is how many points of an answer are asked for, so that a command's figure and a page's are the same.
const Points = 200

// Curve is δ's logarithm against ε, with the lower bound where it is known.
func Curve(a *pb.QueryPrivacyCurveResponse, of string) *figure.Figure {
	upper := figure.Line{Name: "proven: δ at most"}
	lower := figure.Line{Name: "no accountant can prove less", Muted: true}
	var band figure.Area
	for _, x := range a.GetPoints() {
		high := figure.Point{X: x.GetEpsilon(), Y: x.GetLogDelta() / math.Ln10}
		low := figure.Point{X: x.GetEpsilon(), Y: x.GetLogDeltaLower() / math.Ln10}
		if math.IsInf(high.Y, 0) {
			continue
		}
		upper.Points = append(upper.Points, high)
		if x.LogDeltaLower != nil && !math.IsInf(low.Y, 0) {
			lower.Points = append(lower.Points, low)
			band.High, band.Low = append(band.High, high), append(band.Low, low)
		}
	}
	f := &figure.Figure{Title: "Privacy of " + of, Subtitle: meaning(a.GetGuarantee()),
		X: figure.Axis{Name: "privacy loss ε"}, Y: figure.Axis{Name: "probability of failure δ", Kind: figure.Powers},
		Lines: []figure.Line{upper}, Empty: "δ is 0 at every ε that was asked for: nothing can fail."}
	if len(lower.Points) > 1 && !sameLine(upper, lower) {
		f.Lines, f.Areas = append(f.Lines, lower), []figure.Area{band}
	}
	return f
}

// meaning says in a sentence what a guarantee means.
func meaning(guarantee string) string {
	if g := spelling.Guarantees[guarantee]; g != "" {
		return "This " + g + "."
	}
	return ""
}

// sameLine reports whether a drawing cannot tell the lines apart.
func sameLine(a, b figure.Line) bool {
	return slices.EqualFunc(a.Points, b.Points,
		func(p, q figure.Point) bool { return p.X == q.X && math.Abs(p.Y-q.Y) < 0.02 })
}

// TradeOff is the least β of any test against its α, and what guessing reaches.
func TradeOff(a *pb.QueryPrivacyCurveResponse, of string) *figure.Figure {
	test := figure.Line{Name: "the best test"}
	for _, x := range a.GetTradeOff() {
		test.Add(x.GetAlpha(), x.GetBeta())
	}
	guess := figure.Line{Name: "guessing", Points: []figure.Point{{X: 0, Y: 1}, {X: 1, Y: 0}}, Muted: true}
	return &figure.Figure{Title: "How often an attacker errs about one record in " + of,
		Subtitle: "No test of whether the record is in the data errs less than the lower line.",
		X:        figure.Axis{Name: "chance of a false alarm α"}, Y: figure.Axis{Name: "chance of a miss β"},
		Areas: []figure.Area{{High: test.Points, Low: level(test.Points, 0)}}, Lines: []figure.Line{guess, test}}
}

// level is the same places at one height.
func level(points []figure.Point, y float64) []figure.Point {
	out := slices.Clone(points)
	for i := range out {
		out[i].Y = y
	}
	return out
}

// Part is how the budget of which most is used was used up, with what is reserved, and the limit. Of a ledger without a
// budget it is ε. It goes on to now, unless the ledger is closed. It is of a part of the time, as the history is: from
// since, and until a time that may be over. Zero is no bound.
func Part(l *pb.Ledger, h *pb.QueryHistoryResponse, now, since, until time.Time) *figure.Figure {
	f := &figure.Figure{Title: "Privacy budget of " + l.GetName(),
		X: figure.Axis{Name: "time (UTC)", Kind: figure.Times}, Empty: "Nothing was charged yet."}
	points := h.GetPoints()
	if len(points) == 0 || l.GetPosition() == 0 {
		f.Y = figure.Axis{Name: "share of the budget", Kind: figure.Percents}
		return f
	}
	newest := points[len(points)-1]
	which := Fullest(newest.GetShares())
	f.Subtitle = "What was charged. " + meaning("descriptive")
	if which >= 0 {
		f.Subtitle = "What was charged and is reserved, as the guard counts it."
	}
	var total, reserved []figure.Point
	for _, p := range points {
		at := p.GetTime().AsTime()
		if at.Before(since) { // how it stood when the part begins
			at = since
		}
		x := Seconds(at)
		all, held := p.GetEpsilonSpent(), 0.0
		if which >= 0 && which < len(p.GetShares()) {
			all, held = 100*p.GetShares()[which], 100*p.GetReservedShares()[which]
		}
		if math.IsInf(all, 0) || math.IsNaN(all) {
			continue
		}
		total = append(total, figure.Point{X: x, Y: all})
		reserved = append(reserved, figure.Point{X: x, Y: all - held})
	}
	if len(total) == 0 {
		f.Empty = "What was charged has no finite ε."
		return f
	}
	end, text := Seconds(now), "now, "
	if last := total[len(total)-1].X; l.GetClosed() || end < last {
		end = last
	}
	if l.GetClosed() {
		text = "closed, "
	}
	if over := Seconds(until); !until.IsZero() && over < end {
		end = math.Max(over, total[len(total)-1].X)
	} else {
		f.Now = &figure.Mark{At: end, Text: text + time.Unix(int64(end), 0).UTC().Format("2 Jan 15:04")}
	}
	total, reserved = goOn(total, end), goOn(reserved, end)
	line := figure.Line{Points: reserved, Steps: true}
	f.Areas = []figure.Area{{Low: level(reserved, 0), High: reserved, Steps: true}}
	if which < 0 {
		f.Y = figure.Axis{Name: "privacy loss ε at δ = " + spelling.Exact(h.GetDelta())}
		line.Name = "charged: ε ≤ " + num.FormatUp(newest.GetEpsilonSpent(), 3)
		f.Lines = []figure.Line{line}
		return f
	}
	f.Y = figure.Axis{Name: "share of the budget", Kind: figure.Percents}
	line.Name = "charged"
	if held := newest.GetReservedShares()[which]; held > 0 {
		f.Areas = append(f.Areas, figure.Area{Name: "reserved: " + spelling.Share(held), Low: reserved, High: total,
			Steps: true, Hatched: true})
	} else {
		line.Name = "used: " + spelling.Share(newest.GetShares()[which])
	}
	f.Lines = []figure.Line{line}
	f.Limit = &figure.Mark{At: 100, Text: "the limit"}
	if which < len(h.GetBudgets()) {
		f.Limit.Text += ": " + spelling.Counted(h.GetBudgets()[which])
	}
	return f
}

// Seconds are since 1970. Somebody's part of the time may lie where nanoseconds do not reach.
func Seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

// Fullest is the budget of which most is used; −1 if there is none.
func Fullest(shares []float64) int {
	most := -1
	for i, s := range shares {
		if most < 0 || s > shares[most] {
			most = i
		}
	}
	return most
}

// goOn goes on at the same height.
func goOn(points []figure.Point, x float64) []figure.Point {
	last := points[len(points)-1]
	if last.X >= x {
		return points
	}
	return append(points, figure.Point{X: x, Y: last.Y})
}
