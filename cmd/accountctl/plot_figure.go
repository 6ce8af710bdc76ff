package main

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
)

// figure is what is drawn: lines over two axes.
type figure struct {
	title string
	x, y  axis
	lines []line
}

// axis has a name and says how its numbers are written.
type axis struct {
	name string
	kind axisKind
}

type axisKind int

const (
	numbers axisKind = iota
	powers           // the number is an exponent of ten
	percents
	times // seconds since 1970, UTC
)

type point struct{ x, y float64 }

// line is a name and points from left to right.
type line struct {
	name   string
	points []point
	steps  bool // it keeps its height from a point to the next
}

// bounds are the least and largest numbers; a little apart even where all are equal.
func (f *figure) bounds() (low, high point) {
	low, high = point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, l := range f.lines {
		for _, p := range l.points {
			low.x, low.y = math.Min(low.x, p.x), math.Min(low.y, p.y)
			high.x, high.y = math.Max(high.x, p.x), math.Max(high.y, p.y)
		}
	}
	if f.y.kind == percents || f.y.kind == numbers {
		low.y = math.Min(low.y, 0)
	}
	if math.IsInf(low.x, 0) { // nothing to draw
		low, high = point{0, 0}, point{1, 1}
	}
	if high.x == low.x {
		high.x++
	}
	if high.y == low.y {
		high.y++
	}
	return low, high
}

// Ticks implements plot.Ticker: at most some eight labels.
func (a axis) Ticks(low, high float64) []plot.Tick {
	switch a.kind {
	case powers:
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
	case times:
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
		if a.kind == percents {
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

// image draws the figure as "svg" or "png", 16 by 10 centimetres.
func (f *figure) image(format string) ([]byte, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, f.x.name, f.y.name
	p.X.Tick.Marker, p.Y.Tick.Marker = f.x, f.y
	p.Legend.Top, p.Legend.Left = true, f.x.kind == times // what is spent rises to the right
	for _, style := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Title.TextStyle.Font.Size, p.Title.Padding = font.Points(12), vg.Points(8)
	p.Legend.ThumbnailWidth, p.Legend.Padding = vg.Points(18), vg.Points(2)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	for i, l := range f.lines {
		points := make(plotter.XYs, len(l.points))
		for j, at := range l.points {
			points[j].X, points[j].Y = at.x, at.y
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		if l.steps {
			drawn.StepStyle = plotter.PostStep
		}
		drawn.Color, drawn.Width = palette[i%len(palette)], vg.Points(1.5)
		p.Add(drawn)
		p.Legend.Add(clean(l.name), drawn)
	}
	low, high := f.bounds()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low.x, high.x, low.y, high.y
	const width, height = 16 * vg.Centimeter, 10 * vg.Centimeter
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	} = vgsvg.New(width, height)
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192))}
	}
	p.Draw(draw.Crop(draw.New(canvas), vg.Points(4), -vg.Points(20), vg.Points(4), -vg.Points(6))) // room for the last label
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
