// SPDX-License-Identifier: Apache-2.0

// Package figure draws lines over two axes: as SVG (svg.go) and with characters in a terminal
// (text.go). Both show the same: the layout of the picture is in layout.go, its colours are in
// style.go, and the labels of axes in ticks.go.
//
// A figure never computes what it shows. Whoever makes one rounds the numbers in its texts.
package figure

import (
	"math"
)

// Figure is what is drawn. Texts may come from anywhere: they are shown as text.
type Figure struct {
	Title    string
	Subtitle string // what the numbers mean, in a sentence; may be empty
	X, Y     Axis
	Areas    []Area
	Lines    []Line
	Limit    *Mark  // a horizontal line: the most that is allowed
	Now      *Mark  // a vertical line
	Empty    string // what to say where there is nothing to draw
}

// Axis has a name in words and says how its numbers are written.
type Axis struct {
	Name string
	Kind AxisKind
}

// AxisKind is how the numbers of an axis are written.
type AxisKind int

// The kinds of axes.
const (
	Numbers  AxisKind = iota
	Powers            // the number is an exponent of ten
	Percents          // the number is in hundredths
	Times             // seconds since 1970, UTC
)

// Point is a place on both axes.
type Point struct{ X, Y float64 }

// Line is a name and points from left to right.
type Line struct {
	Name   string
	Points []Point
	Steps  bool // it keeps its height from a point to the next
	Muted  bool // it is there for comparison, or a guess
}

// Add puts a point at the line's end.
func (l *Line) Add(x, y float64) { l.Points = append(l.Points, Point{x, y}) }

// Area is what lies between two heights, which are given at the same places from left to
// right.
type Area struct {
	Name      string // may be empty
	Low, High []Point
	Steps     bool
	Hatched   bool // it is set aside, not gone
}

// Mark is a place on one axis, and what is there.
type Mark struct {
	At   float64
	Text string
}

// frame is the range of both axes that is drawn.
type frame struct{ low, high Point }

// frame covers everything that the figure shows; it is never empty.
func (f *Figure) frame() frame {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	see := func(x, y float64) {
		low.X, low.Y = math.Min(low.X, x), math.Min(low.Y, y)
		high.X, high.Y = math.Max(high.X, x), math.Max(high.Y, y)
	}
	for _, points := range f.points() {
		for _, p := range points {
			see(p.X, p.Y)
		}
	}
	if f.blank() {
		low, high = Point{0, 0}, Point{1, 1}
	}
	if f.Now != nil && !f.blank() {
		see(f.Now.At, low.Y)
	}
	if f.Limit != nil && !f.blank() {
		see(low.X, f.Limit.At)
	}
	if f.Y.Kind == Percents || f.Y.Kind == Numbers {
		low.Y = math.Min(low.Y, 0)
	}
	if high.X == low.X {
		high.X++
	}
	if high.Y == low.Y {
		high.Y++
	}
	if f.Limit != nil { // its text stands above it
		high.Y += 0.08 * (high.Y - low.Y)
	}
	return frame{low, high}
}

// Across is the range of the axis that lies, in numbers of that axis.
func (f *Figure) Across() (low, high float64) {
	r := f.frame()
	return r.low.X, r.high.X
}

// points are those of all lines and areas.
func (f *Figure) points() (all [][]Point) {
	for _, a := range f.Areas {
		all = append(all, a.Low, a.High)
	}
	for _, l := range f.Lines {
		all = append(all, l.Points)
	}
	return all
}

// blank reports whether there is nothing to draw.
func (f *Figure) blank() bool {
	for _, points := range f.points() {
		if len(points) > 0 {
			return false
		}
	}
	return true
}

// across and up say where a number lies on its axis, from 0 to 1.
func (r frame) across(x float64) float64 { return (x - r.low.X) / (r.high.X - r.low.X) }
func (r frame) up(y float64) float64     { return (y - r.low.Y) / (r.high.Y - r.low.Y) }

// stairs are the corners of a line that keeps its height from a point to the next.
func stairs(points []Point) []Point {
	var out []Point
	for i, p := range points {
		if i > 0 && points[i-1].Y != p.Y {
			out = append(out, Point{p.X, points[i-1].Y})
		}
		out = append(out, p)
	}
	return out
}

// corners are what a pen goes along.
func corners(points []Point, steps bool) []Point {
	if steps {
		return stairs(points)
	}
	return points
}

// outline goes around an area.
func (a Area) outline() []Point {
	out := append([]Point{}, corners(a.High, a.Steps)...)
	low := corners(a.Low, a.Steps)
	for i := len(low) - 1; i >= 0; i-- {
		out = append(out, low[i])
	}
	return out
}
