package figure

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

// marks tell lines apart where there are no colours.
var marks = []rune("•+×o*#%")

// hues are the lines' colours on a terminal (SGR, ECMA-48).
var hues = []int{34, 31, 32, 35, 33, 36, 37}

// Text draws the figure with characters, in at most width columns and about height
// rows.
func (f *Figure) Text(width, height int, colours bool) string {
	low, high := f.bounds()
	margin := 0
	labels := map[int]string{} // of rows
	row := func(y float64) int { return int(math.Round((high.Y - y) / (high.Y - low.Y) * float64(height-1))) }
	for _, t := range f.Y.Ticks(low.Y, high.Y) {
		if r := row(t.Value); t.Label != "" && r >= 0 && r < height {
			labels[r] = t.Label
			margin = max(margin, utf8.RuneCountInString(t.Label))
		}
	}
	columns := max(20, width-margin-3)
	cells := f.cells(columns, height, low, high)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", cli.Clean(f.Title), f.Y.Name)
	for r := range height {
		edge := "│"
		if labels[r] != "" {
			edge = "┤"
		}
		fmt.Fprintf(&b, "%*s %s", margin, labels[r], edge)
		b.WriteString(paintCells(cells[r], colours) + "\n")
	}
	fmt.Fprintf(&b, "%*s └%s\n", margin, "", strings.Repeat("─", columns))
	scale := []rune(strings.Repeat(" ", columns))
	free := 0
	for _, t := range f.X.Ticks(low.X, high.X) {
		n := utf8.RuneCountInString(t.Label)
		at := int(math.Round((t.Value - low.X) / (high.X - low.X) * float64(columns-1)))
		start := min(max(at-n/2, 0), columns-n)
		if n == 0 || at < 0 || at >= columns || start < free {
			continue
		}
		copy(scale[start:], []rune(t.Label))
		free = start + n + 1
	}
	fmt.Fprintf(&b, "%*s  %s %s\n", margin, "", strings.TrimRight(string(scale), " "), f.X.Name)
	for i, l := range f.Lines {
		fmt.Fprintf(&b, "%*s  %s %s\n", margin, "", paintCells([]int{i + 1}, colours), cli.Clean(l.Name))
	}
	return b.String()
}

// cells says which line, from 1, is seen where; 0 is none. Earlier lines lie on top.
func (f *Figure) cells(columns, rows int, low, high Point) [][]int {
	cells := make([][]int, rows)
	for r := range cells {
		cells[r] = make([]int, columns)
	}
	set := func(i int, x, y float64) {
		c := int(math.Round((x - low.X) / (high.X - low.X) * float64(columns-1)))
		r := int(math.Round((high.Y - y) / (high.Y - low.Y) * float64(rows-1)))
		if c >= 0 && c < columns && r >= 0 && r < rows {
			cells[r][c] = i
		}
	}
	for i := len(f.Lines) - 1; i >= 0; i-- {
		l := f.Lines[i]
		for j, p := range l.Points {
			set(i+1, p.X, p.Y)
			if j == 0 {
				continue
			}
			before := l.Points[j-1]
			n := 2 * (columns + rows)
			for k := 1; k < n; k++ { // between them
				t := float64(k) / float64(n)
				y := before.Y + t*(p.Y-before.Y)
				if l.Steps {
					y = before.Y
				}
				set(i+1, before.X+t*(p.X-before.X), y)
				if l.Steps {
					set(i+1, p.X, before.Y+t*(p.Y-before.Y))
				}
			}
		}
	}
	return cells
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
			fmt.Fprintf(&b, "\x1b[%dm%c\x1b[0m", hues[(i-1)%len(hues)], marks[(i-1)%len(marks)])
		default:
			b.WriteRune(marks[(i-1)%len(marks)])
		}
	}
	return b.String()
}
