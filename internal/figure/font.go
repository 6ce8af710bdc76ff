package figure

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
)

// Pictures are written with Go's own fonts (BSD licence, blog.golang.org/go-fonts), which the
// binary holds: no font of the machine is needed, and a PNG is the same everywhere.
var regular, bold = mustParse(goregular.TTF), mustParse(gobold.TTF)

func mustParse(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // of bytes that are compiled in
	}
	return f
}

// face is the font of a role's text, scale times as large.
func (r role) face(scale float64) font.Face {
	s, of := styles[r], regular
	if s.bold {
		of = bold
	}
	f, err := opentype.NewFace(of, &opentype.FaceOptions{Size: s.size * scale, DPI: 72})
	if err != nil {
		panic(err) // of a size that is compiled in
	}
	return f
}

var (
	measuring sync.Mutex
	measured  = map[role]font.Face{}
)

// wider is how much wider than Go's fonts a reader's own may be; DejaVu's are.
const wider = 1.13

// measure is how wide a text may be. A face is not for two goroutines at once.
func measure(r role, s string) float64 {
	measuring.Lock()
	defer measuring.Unlock()
	if measured[r] == nil {
		measured[r] = r.face(1)
	}
	return wider * float64(font.MeasureString(measured[r], s)) / 64
}

// fit shortens a text that is wider than wide, and marks that by "…".
func fit(r role, s string, wide float64) string {
	if len(s) < 4096 && measure(r, s) <= wide {
		return s
	}
	runes := []rune(s)
	low, high := 0, min(len(runes), 1024)
	for low < high { // the most runes that fit
		if mid := (low + high + 1) / 2; measure(r, string(runes[:mid])+"…") <= wide {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return string(runes[:low]) + "…"
}
