// Package figure draws lines over two axes: as a picture (figure.go), or with characters
// in a terminal (text.go).
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

// Figure is what is drawn: lines over two axes.
type Figure struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// Axis has a name and says how its numbers are written.
type Axis struct {
	Name string
	Kind AxisKind
}

// AxisKind is how the numbers of an axis are written.
type AxisKind int

// The kinds of axes.
const (
	Numbers AxisKind = iota
	Powers           // the number is an exponent of ten
	Percents
	Times // seconds since 1970, UTC
)

// Point is a place on both axes.
type Point struct{ X, Y float64 }

// Line is a name and points from left to right.
type Line struct {
	Name   string
	Points []Point
	Steps  bool // it keeps its height from a point to the next
}

// Add puts a point at the line's end.
func (l *Line) Add(x, y float64) { l.Points = append(l.Points, Point{x, y}) }

// bounds are the least and largest numbers; a little apart even where all are equal.
func (f *Figure) bounds() (low, high Point) {
	low, high = Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, l := range f.Lines {
		for _, p := range l.Points {
			low.X, low.Y = math.Min(low.X, p.X), math.Min(low.Y, p.Y)
			high.X, high.Y = math.Max(high.X, p.X), math.Max(high.Y, p.Y)
		}
	}
	if f.Y.Kind == Percents || f.Y.Kind == Numbers {
		low.Y = math.Min(low.Y, 0)
	}
	if math.IsInf(low.X, 0) { // nothing to draw
		low, high = Point{0, 0}, Point{1, 1}
	}
	if high.X == low.X {
		high.X++
	}
	if high.Y == low.Y {
		high.Y++
	}
	return low, high
}

// Ticks implements plot.Ticker: at most some eight labels.
func (a Axis) Ticks(low, high float64) []plot.Tick {
	switch a.Kind {
	case Powers:
		step := max(1, int(math.Ceil((high-low)/8)))
		var ticks []plot.Tick
		for e := int(math.Ceil(low)); e <= int(math.Floor(high)); e++ {
			t := plot.Tick{Value: float64(e)}
			if e%step == 0 {
				t.Label = fmt.Sprintf("1e%d", e)
			}
			ticks = append(ticks, t)
		}
		return ticks
	case Times:
		layout := "2006-01-02"
		switch span := time.Duration((high - low) * float64(time.Second)); {
		case span < 10*time.Minute:
			layout = time.TimeOnly
		case span < 5*24*time.Hour:
			layout = "01-02 15:04"
		}
		var ticks []plot.Tick
		for i := range 4 {
			at := low + (high-low)*float64(i)/3
			ticks = append(ticks, plot.Tick{Value: at, Label: time.Unix(int64(at), 0).UTC().Format(layout)})
		}
		return ticks
	}
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label == "" {
			continue
		}
		ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 6, 64)
		if a.Kind == Percents {
			ticks[i].Label += " %"
		}
	}
	return ticks
}

// palette is Okabe and Ito's, for readers who see colours differently
// (jfly.uni-koeln.de/color).
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x00, 0x00, 0xff},
}

// Image draws the figure as "svg" or "png", 16 by 10 centimetres.
func (f *Figure) Image(format string) ([]byte, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X.Name, f.Y.Name
	p.X.Tick.Marker, p.Y.Tick.Marker = f.X, f.Y
	p.Legend.Top, p.Legend.Left = true, f.X.Kind == Times // what is spent rises to the right
	for _, style := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = font.Points(12), vg.Points(8)
	p.Legend.ThumbnailWidth, p.Legend.Padding = vg.Points(18), vg.Points(2)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	for i, l := range f.Lines {
		points := make(plotter.XYs, len(l.Points))
		for j, at := range l.Points {
			points[j].X, points[j].Y = at.X, at.Y
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		if l.Steps {
			drawn.StepStyle = plotter.PostStep
		}
		drawn.Color, drawn.Width = palette[i%len(palette)], vg.Points(1.5)
		p.Add(drawn)
		p.Legend.Add(cli.Clean(l.Name), drawn)
	}
	low, high := f.bounds()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low.X, high.X, low.Y, high.Y
	const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	} = vgsvg.New(width, height)
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192))}
	}
	// room for the last label
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(4), -vg.Points(20), vg.Points(4), -vg.Points(6)))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
