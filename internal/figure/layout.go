// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"math"
	"slices"
	"sort"

	"github.com/dpaccountant/accountant/internal/plain"
)

// The size of a picture, in the units of its SVG.
const (
	width     = 760.0
	height    = 440.0
	edgeSpace = 16.0
	most      = 230.0 // the widest label at a line's end
)

// anchor is which end of a text stands at its place.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// layout places a figure in a picture, later over earlier.
type layout struct {
	*Figure
	frame
	*svg
	left, right, top, bottom float64
	labels                   []endLabel
}

// endLabel is a line's name, which stands beside its end.
type endLabel struct {
	line, text role
	name       string
	at         float64 // the end's height, in the picture
	height     float64 // where the name stands
}

// draw lays the figure out.
func (f *Figure) draw(c *svg) {
	l := &layout{Figure: f, frame: f.frame(), svg: c, left: edgeSpace, top: edgeSpace}
	l.area(ground, []Point{{0, 0}, {width, 0}, {width, height}, {0, height}})
	l.heading()
	l.bottom = height - 58
	if f.blank() { // no axis has a number yet
		center := Point{width / 2, (l.top + l.bottom) / 2}
		l.text(empty, middle, center, fit(empty, plain.Text(f.Empty), width-2*edgeSpace))
		return
	}
	ticks := f.Y.ticks(l.low.Y, l.high.Y)
	widest := 0.0
	for _, t := range ticks {
		widest = math.Max(widest, measure(label, t.label))
	}
	l.left += widest + 8
	l.right = width - edgeSpace
	l.nameEnds()
	l.axes(ticks)
	l.content()
}

// heading writes the title, what the numbers mean, and the name of the upright axis, which is
// read more easily above it than along it.
func (l *layout) heading() {
	const wide = width - 2*edgeSpace
	l.top += 17
	l.text(title, start, Point{edgeSpace, l.top}, fit(title, plain.Text(l.Title), wide))
	if l.Subtitle != "" {
		l.top += 20
		l.text(subtitle, start, Point{edgeSpace, l.top}, fit(subtitle, plain.Text(l.Subtitle), wide))
	}
	l.top += 28
	if !l.blank() {
		l.text(name, start, Point{edgeSpace, l.top}, fit(name, plain.Text(l.Y.Name), wide))
	}
	l.top += 14
}

// place is where a point lies in the picture.
func (l *layout) place(p Point) Point {
	return Point{l.left + l.across(p.X)*(l.right-l.left), l.bottom - l.up(p.Y)*(l.bottom-l.top)}
}

func (l *layout) places(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = l.place(p)
	}
	return out
}

func (l *layout) axes(up []tick) {
	for _, t := range up {
		y := l.place(Point{l.low.X, t.at}).Y
		l.line(grid, []Point{{l.left, y}, {l.right, y}})
		l.text(label, end, Point{l.left - 8, y + 4}, t.label)
	}
	l.line(axis, []Point{{l.left, l.bottom}, {l.right, l.bottom}})
	free, freeBelow := 0.0, 0.0
	for _, t := range l.X.ticks(l.low.X, l.high.X) {
		x := l.place(Point{t.at, l.low.Y}).X
		l.line(axis, []Point{{x, l.bottom}, {x, l.bottom + 5}})
		if half := measure(label, t.label) / 2; x-half > free {
			l.text(label, middle, Point{x, l.bottom + 19}, t.label)
			free = x + half + 8
		}
		if half := measure(label, t.below) / 2; t.below != "" && x-half > freeBelow {
			l.text(label, middle, Point{x, l.bottom + 34}, t.below)
			freeBelow = x + half + 8
		}
	}
	l.text(name, end, Point{l.right, height - 10}, plain.Text(l.X.Name))
}

// nameEnds makes room at the right for the names of lines and areas, and moves those apart
// that would stand over each other.
func (l *layout) nameEnds() {
	add := func(line, text role, name string, points []Point) {
		if name == "" || len(points) == 0 {
			return
		}
		l.labels = append(l.labels, endLabel{line: line, text: text, name: fit(text, plain.Text(name), most),
			at: l.place(points[len(points)-1]).Y})
	}
	for _, a := range l.Areas {
		role, text := series(0), seriesText(0)
		if a.Hatched {
			role, text = edge, edgeText
		}
		add(role, text, a.Name, a.High)
	}
	for i, line := range l.Lines {
		role, text := l.roles(i)
		add(role, text, line.Name, line.Points)
	}
	widest := 0.0
	for _, e := range l.labels {
		widest = math.Max(widest, measure(e.text, e.name))
	}
	if len(l.labels) == 0 {
		return
	}
	l.right -= widest + 34
	sort.SliceStable(l.labels, func(i, j int) bool { return l.labels[i].at < l.labels[j].at })
	const apart = 17
	for i := range l.labels {
		l.labels[i].height = l.labels[i].at
		if i > 0 {
			l.labels[i].height = math.Max(l.labels[i].at, l.labels[i-1].height+apart)
		}
	}
	room := l.bottom
	for i := range slices.Backward(l.labels) {
		l.labels[i].height = math.Min(l.labels[i].height, room)
		room = l.labels[i].height - apart
	}
}

// roles are those of a line and of its name: lines for comparison have no colour of their own.
func (l *layout) roles(i int) (line, text role) {
	if l.Lines[i].Muted {
		return muted, mutedText
	}
	n := 0
	for _, before := range l.Lines[:i] {
		if !before.Muted {
			n++
		}
	}
	return series(n), seriesText(n)
}

func (l *layout) content() {
	for _, a := range l.Areas {
		role := fill
		if a.Hatched {
			role = hatch
		}
		l.area(role, l.places(a.outline()))
		if a.Hatched {
			l.line(edge, l.places(corners(a.High, a.Steps)))
		}
	}
	if m := l.Limit; m != nil {
		y := l.place(Point{l.low.X, m.At}).Y
		l.line(limit, []Point{{l.left, y}, {l.right, y}})
		l.text(limitText, start, Point{l.left + 4, y - 6}, fit(limitText, plain.Text(m.Text), l.right-l.left-8))
	}
	if m := l.Now; m != nil {
		x := l.place(Point{m.At, l.low.Y}).X
		l.line(now, []Point{{x, l.top}, {x, l.bottom}})
		a := end // above the lines, and beside the upright axis's name
		if x < (l.left+l.right)/2 {
			a = start
		}
		at := Point{x, l.top - 6}
		if a == start {
			at.X = math.Max(x, edgeSpace+measure(name, l.Y.Name)+12)
		}
		l.text(nowText, a, at, fit(nowText, plain.Text(m.Text), (l.right-l.left)/2))
	}
	for i := range slices.Backward(l.Lines) { // the first line lies on top
		role, _ := l.roles(i)
		l.line(role, l.places(corners(l.Lines[i].Points, l.Lines[i].Steps)))
	}
	for _, e := range l.labels {
		x := l.right + 8
		l.line(e.line, []Point{{x, e.height}, {x + 16, e.height}})
		l.text(e.text, start, Point{x + 22, e.height + 4}, e.name)
	}
}
