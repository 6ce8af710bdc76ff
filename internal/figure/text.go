// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dpaccountant/accountant/internal/plain"
)

// marks tell lines apart where there are no colours; after them come those of an area, of what
// is set aside, of the limit and of now.
var marks = []rune("•+×o*#░╱╌┊·")

// hues are the marks' colours on a terminal (SGR, ECMA-48).
var hues = []int{34, 91, 32, 35, 36, 37, 34, 33, 31, 90, 90}

// The cells of a terminal hold 0 for nothing, a line's number from 1, or one of these.
const (
	areaCell = iota + 7
	hatchCell
	limitCell
	nowCell
	mutedCell
	lineCells = 6
)

// Text draws the figure with characters, in at most width columns and about height rows.
func (f *Figure) Text(width, height int, colours bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", fitRunes(plain.Text(f.Title), max(width, 40)))
	if f.Subtitle != "" {
		fmt.Fprintf(&b, "%s\n", fitRunes(plain.Text(f.Subtitle), max(width, 40)))
	}
	if f.blank() {
		fmt.Fprintf(&b, "%s\n", plain.Text(f.Empty))
		return b.String()
	}
	r := f.frame()
	labels := map[int]string{} // of rows
	margin := 0
	for _, t := range f.Y.ticks(r.low.Y, r.high.Y) {
		row := int(math.Round((1 - r.up(t.at)) * float64(height-1)))
		labels[row] = t.label
		margin = max(margin, utf8.RuneCountInString(t.label))
	}
	s := &screen{f: f, frame: r, columns: max(20, width-margin-3), rows: height}
	cells := s.paint()
	fmt.Fprintf(&b, "\n%s\n", plain.Text(f.Y.Name))
	for row := range height {
		edge := "│"
		if labels[row] != "" {
			edge = "┤"
		}
		fmt.Fprintf(&b, "%*s %s%s\n", margin, labels[row], edge, paintCells(cells[row], colours))
	}
	fmt.Fprintf(&b, "%*s └%s\n", margin, "", strings.Repeat("─", s.columns))
	above, below := s.scales()
	fmt.Fprintf(&b, "%*s  %s\n", margin, "", above)
	if below != "" {
		fmt.Fprintf(&b, "%*s  %s\n", margin, "", below)
	}
	fmt.Fprintf(&b, "%*s  %*s\n\n", margin, "", s.columns, plain.Text(f.X.Name))
	for _, k := range f.key() {
		fmt.Fprintf(&b, "%*s  %s %s\n", margin, "", paintCells([]int{k.cell}, colours),
			fitRunes(plain.Text(k.name), s.columns))
	}
	return b.String()
}

// named is a mark of the terminal and what it stands for.
type named struct {
	cell int
	name string
}

// key explains the marks, in the order of importance.
func (f *Figure) key() (all []named) {
	for i, l := range f.Lines {
		all = append(all, named{f.cell(i), l.Name})
	}
	for _, a := range f.Areas {
		switch {
		case a.Hatched:
			all = append(all, named{hatchCell, a.Name})
		case a.Name != "":
			all = append(all, named{areaCell, a.Name})
		}
	}
	if f.Limit != nil {
		all = append(all, named{limitCell, f.Limit.Text})
	}
	if f.Now != nil {
		all = append(all, named{nowCell, f.Now.Text})
	}
	return all
}

// cell is the mark of a line.
func (f *Figure) cell(i int) int {
	if f.Lines[i].Muted {
		return mutedCell
	}
	n := 0
	for _, before := range f.Lines[:i] {
		if !before.Muted {
			n++
		}
	}
	return 1 + n%lineCells
}

// screen is the part of a terminal between the axes.
type screen struct {
	f *Figure
	frame
	columns, rows int
	cells         [][]int
}

func (s *screen) set(cell int, x, y float64) {
	c, r := s.column(x), s.row(y)
	if c >= 0 && c < s.columns && r >= 0 && r < s.rows {
		s.cells[r][c] = cell
	}
}

func (s *screen) column(x float64) int { return int(math.Round(s.across(x) * float64(s.columns-1))) }
func (s *screen) row(y float64) int    { return int(math.Round((1 - s.up(y)) * float64(s.rows-1))) }

// paint says what is seen where: areas below, then the limit and now, and the first line on top.
func (s *screen) paint() [][]int {
	s.cells = make([][]int, s.rows)
	for r := range s.cells {
		s.cells[r] = make([]int, s.columns)
	}
	for _, a := range s.f.Areas {
		cell := areaCell
		if a.Hatched {
			cell = hatchCell
		} else if a.Name == "" {
			continue // the line above it says as much
		}
		low, high := s.heights(corners(a.Low, a.Steps)), s.heights(corners(a.High, a.Steps))
		for c := range s.columns {
			for r := high[c]; r >= 0 && r < low[c]; r++ {
				s.cells[r][c] = cell
			}
		}
	}
	if m := s.f.Limit; m != nil {
		for c := range s.columns {
			s.cells[max(0, min(s.rows-1, s.row(m.At)))][c] = limitCell
		}
	}
	if m := s.f.Now; m != nil {
		for r := range s.rows {
			s.cells[r][max(0, min(s.columns-1, s.column(m.At)))] = nowCell
		}
	}
	for i := len(s.f.Lines) - 1; i >= 0; i-- {
		s.stroke(s.f.cell(i), corners(s.f.Lines[i].Points, s.f.Lines[i].Steps))
	}
	return s.cells
}

// stroke goes along the corners in steps smaller than a cell.
func (s *screen) stroke(cell int, points []Point) {
	for j, p := range points {
		s.set(cell, p.X, p.Y)
		if j == 0 {
			continue
		}
		before := points[j-1]
		n := 1 + abs(s.column(p.X)-s.column(before.X)) + abs(s.row(p.Y)-s.row(before.Y))
		for k := 1; k < 2*n; k++ {
			t := float64(k) / float64(2*n)
			s.set(cell, before.X+t*(p.X-before.X), before.Y+t*(p.Y-before.Y))
		}
	}
}

func abs(n int) int { return max(n, -n) }

// heights are the rows of a line at each column; −1 where it is not.
func (s *screen) heights(points []Point) []int {
	out := make([]int, s.columns)
	for c := range out {
		out[c] = -1
	}
	for j := 1; j < len(points); j++ {
		p, q := points[j-1], points[j]
		from, to := s.column(p.X), s.column(q.X)
		for c := from; c <= to; c++ {
			if c < 0 || c >= s.columns {
				continue
			}
			y := q.Y
			if to > from {
				y = p.Y + float64(c-from)/float64(to-from)*(q.Y-p.Y)
			}
			out[c] = s.row(y)
		}
	}
	return out
}

// scales are the labels below the horizontal axis, and the dates below those.
func (s *screen) scales() (above, below string) {
	lines := [2][]rune{[]rune(strings.Repeat(" ", s.columns)), []rune(strings.Repeat(" ", s.columns))}
	free := [2]int{}
	for _, t := range s.f.X.ticks(s.low.X, s.high.X) {
		for i, text := range []string{t.label, t.below} {
			n := utf8.RuneCountInString(text)
			if n == 0 || n > s.columns {
				continue
			}
			at := min(max(s.column(t.at)-n/2, 0), s.columns-n)
			if at < free[i] {
				continue
			}
			copy(lines[i][at:], []rune(text))
			free[i] = at + n + 1
		}
	}
	return strings.TrimRight(string(lines[0]), " "), strings.TrimRight(string(lines[1]), " ")
}

func paintCells(cells []int, colours bool) string {
	var b strings.Builder
	for end := len(cells); end > 0 && cells[end-1] == 0; end-- {
		cells = cells[:end-1]
	}
	for _, i := range cells {
		switch {
		case i == 0:
			b.WriteByte(' ')
		case colours:
			fmt.Fprintf(&b, "\x1b[%dm%c\x1b[0m", hues[i-1], marks[i-1])
		default:
			b.WriteRune(marks[i-1])
		}
	}
	return b.String()
}
