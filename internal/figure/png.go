package figure

import (
	"bytes"
	"image"
	"image/color"
	"math"
	"strings"

	"git.sr.ht/~sbinet/gg"
)

// pixels is how many pixels of a PNG stand for a unit: enough for print at half a page's width.
const pixels = 2

// PNG is the picture as pixels, on light ground or, with dark, on dark ground.
func (f *Figure) PNG(dark bool) ([]byte, error) {
	c := &raster{Context: gg.NewContext(Width*pixels, Height*pixels), dark: dark}
	c.SetLineJoinRound()
	c.SetLineCapButt()
	f.draw(c)
	var b bytes.Buffer
	err := c.EncodePNG(&b)
	return b.Bytes(), err
}

// raster paints pixels.
type raster struct {
	*gg.Context
	dark bool
}

func (c *raster) colour(i ink, opacity float64) color.NRGBA {
	if c.dark {
		return rgba(i.dark, opacity)
	}
	return rgba(i.light, opacity)
}

func (c *raster) trace(points []Point) {
	for i, p := range points {
		if i == 0 {
			c.MoveTo(p.X*pixels, p.Y*pixels)
		} else {
			c.LineTo(p.X*pixels, p.Y*pixels)
		}
	}
}

func (c *raster) line(r role, points []Point) {
	s := styles[r]
	var dashes []float64
	for _, d := range s.dashes {
		dashes = append(dashes, d*pixels)
	}
	c.SetDash(dashes...)
	c.SetLineWidth(s.width * pixels)
	c.SetStrokeStyle(gg.NewSolidPattern(c.colour(*s.stroke, 0)))
	c.trace(points)
	c.Stroke()
}

func (c *raster) area(r role, points []Point) {
	if s := styles[r]; r == hatch {
		c.SetFillStyle(hatching(c.colour(*s.stroke, 0)))
	} else {
		c.SetFillStyle(gg.NewSolidPattern(c.colour(*s.fill, s.opacity)))
	}
	c.trace(points)
	c.ClosePath()
	c.Fill()
}

func (c *raster) text(r role, a anchor, at Point, s string) {
	face := r.face(pixels)
	c.SetFontFace(face)
	c.SetColor(c.colour(*styles[r].fill, 0))
	shown := strings.Map(func(letter rune) rune {
		if _, known := face.GlyphAdvance(letter); !known {
			return '□' // a letter that Go's fonts lack
		}
		return letter
	}, s)
	share := map[anchor]float64{start: 0, middle: 0.5, end: 1}[a]
	c.DrawStringAnchored(shown, at.X*pixels, at.Y*pixels, share, 0)
}

// hatching is a pattern of slanted lines of one colour.
func hatching(of color.NRGBA) gg.Pattern {
	const tile = 20 // pixels; a whole number of lines
	m := image.NewNRGBA(image.Rect(0, 0, tile, tile))
	for y := range tile {
		for x := range tile {
			// the distance from the middle of the nearest line, with a soft edge
			away := math.Abs(float64((x+y)%tile)-tile/2) / math.Sqrt2
			cover := math.Max(0, math.Min(1, 1.5-away))
			m.SetNRGBA(x, y, color.NRGBA{of.R, of.G, of.B, uint8(255 * cover)})
		}
	}
	return gg.NewSurfacePattern(m, gg.RepeatBoth)
}
