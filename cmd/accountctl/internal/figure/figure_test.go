package figure

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the goldens anew; then look at them")

// figures have one of each kind of axis and line.
func figures() map[string]*Figure {
	curve, test := Line{Name: "δ at most"}, Line{Name: "any test: β at least"}
	for i := range 41 {
		x := float64(i) / 10
		curve.Points = append(curve.Points, Point{x, -x * x / 2})
		test.Points = append(test.Points, Point{x / 4, (1 - x/4) * (1 - x/4)})
	}
	const noon = 1_769_860_800 // 2026-01-31 12:00 UTC
	return map[string]*Figure{
		"curve": {"Privacy of a test", Axis{Name: "ε"}, Axis{"δ", Powers}, []Line{curve}},
		"trade-off": {"Errors of a test", Axis{Name: "α"}, Axis{Name: "β"},
			[]Line{test, {Name: "a coin", Points: []Point{{0, 1}, {1, 0}}}}},
		"budget": {"Spent of team/mnist", Axis{"time (UTC)", Times}, Axis{"of epsilon=8", Percents}, []Line{
			{"all", []Point{{noon, 0}, {noon + 3600, 30}, {noon + 7200, 75}, {noon + 9000, 70}}, true},
			{"run=1", []Point{{noon, 0}, {noon + 7200, 45}, {noon + 9000, 45}}, true},
			{"run=2", []Point{{noon, 0}, {noon + 3600, 30}, {noon + 9000, 25}}, true}}},
		"nothing": {"Nothing", Axis{Name: "x"}, Axis{Name: "y"}, nil},
	}
}

func TestFigures(t *testing.T) {
	for name, f := range figures() {
		golden(t, name+".txt", []byte(f.Text(72, 16, false)))
		svg, err := f.Image("svg")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", svg)
		picture, err := f.Image("png")
		if err != nil {
			t.Fatal(err)
		}
		if decoded, err := png.Decode(bytes.NewReader(picture)); err != nil || decoded.Bounds().Dx() != 1209 ||
			decoded.Bounds().Dy() != 756 {
			t.Errorf("%s: %v, %v; want 16 by 10 cm at 192 dpi", name, decoded.Bounds(), err)
		}
		if *update {
			if err := os.WriteFile(filepath.Join(os.TempDir(), name+".png"), picture, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// golden compares with a file that somebody has looked at.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is no longer what it was:\n%s", name, got)
	}
}

func TestColouredFigure(t *testing.T) {
	text := figures()["budget"].Text(60, 10, true)
	for _, want := range []string{"\x1b[34m•\x1b[0m all", "\x1b[31m+\x1b[0m run=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
