package figure

import "slices"

// Lacks returns the letters of the figure's texts that the font of a PNG does not have, each once. They are shown as
// □ there. An SVG is written with the fonts of whoever looks at it, and has them.
func (f *Figure) Lacks() string {
	var found lacks
	f.draw(&found)
	return string(found)
}

// lacks draws nothing, and notes the letters that Go's fonts do not have.
type lacks []rune

func (*lacks) line(role, []Point) {}
func (*lacks) area(role, []Point) {}

func (l *lacks) text(r role, _ anchor, _ Point, s string) {
	face := r.face(1)
	for _, letter := range s {
		if _, known := face.GlyphAdvance(letter); !known && !slices.Contains(*l, letter) {
			*l = append(*l, letter)
		}
	}
}
