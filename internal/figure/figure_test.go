// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write the goldens anew; then look at them")

const noon = 1_769_860_800 // 2026-01-31 12:00 UTC

// figures have one of each kind of axis and mark.
func figures() map[string]*Figure {
	curve, lower, test := Line{Name: "proven: δ at most"}, Line{Name: "no proof can go below", Muted: true},
		Line{Name: "any attacker"}
	for i := range 41 {
		x := float64(i) / 10
		curve.Add(x, -x*x/2)
		lower.Add(x, -x*x/2-x/2)
		test.Add(x/4, (1-x/4)*(1-x/4))
	}
	all := Line{Name: "charged: 75 %", Steps: true,
		Points: []Point{{noon, 0}, {noon + 3600, 30}, {noon + 7200, 75}, {noon + 9000, 75}}}
	return map[string]*Figure{
		"curve": {Title: "Privacy of team/mnist at position 12", Subtitle: "The true curve lies in the band.",
			X: Axis{Name: "privacy loss ε"}, Y: Axis{"probability of failure δ", Powers},
			Areas: []Area{{Low: lower.Points, High: curve.Points}}, Lines: []Line{curve, lower}},
		"trade-off": {Title: "Errors of an attacker who tests for one record",
			X: Axis{Name: "chance of a false alarm α"}, Y: Axis{Name: "chance of a miss β"},
			Lines: []Line{test, {Name: "a guess", Points: []Point{{0, 1}, {1, 0}}, Muted: true}}},
		"budget": {Title: "Privacy budget of team/mnist", Subtitle: "This holds for the whole budget.",
			X: Axis{"time (UTC)", Times}, Y: Axis{"share of the budget", Percents},
			Areas: []Area{{Low: zero(all.Points), High: all.Points, Steps: true},
				{Name: "reserved: 15 %", Low: all.Points[2:], Steps: true, Hatched: true,
					High: []Point{{noon + 7200, 90}, {noon + 9000, 90}}}},
			Lines: []Line{all,
				{Name: "run=1", Points: []Point{{noon, 0}, {noon + 7200, 45}, {noon + 9000, 45}}, Steps: true},
				{Name: "run=2", Points: []Point{{noon, 0}, {noon + 3600, 30}, {noon + 9000, 30}}, Steps: true}},
			Limit: &Mark{100, "the limit: ε = 8 at δ = 1e-06"}, Now: &Mark{noon + 9000, "now, 31 Jan 14:30"}},
		"nothing": {Title: "Privacy budget of team/new", X: Axis{"time (UTC)", Times},
			Y: Axis{"share of the budget", Percents}, Empty: "Nothing was charged yet."},
		"hostile": {Title: `</title><script>alert("1")</script> & ` + strings.Repeat("long ", 2000),
			Subtitle: "turned \u202e around\u200f, \x1b[31mred\x1b[0m, שלום",
			X:        Axis{Name: "<b>x</b>"}, Y: Axis{Name: `"><svg onload=alert(1)>`},
			Lines: []Line{{Name: "<!-- \x00 " + strings.Repeat("w", 10000), Points: []Point{{0, 0}, {1, 1}}}},
			Limit: &Mark{0.5, "]]><script>" + strings.Repeat("m", 3000)}, Now: &Mark{0.2, "</svg>"}},
	}
}

func zero(points []Point) []Point {
	out := append([]Point{}, points...)
	for i := range out {
		out[i].Y = 0
	}
	return out
}

func TestFigures(t *testing.T) {
	for name, f := range figures() {
		golden(t, name+".txt", []byte(f.Text(72, 16, false)))
		golden(t, name+".svg", f.SVG())
	}
}

// A picture is well-formed XML whose only elements are ours, whatever its texts say.
func TestTextsStayTexts(t *testing.T) {
	allowed := map[string]bool{"svg": true, "style": true, "defs": true, "pattern": true, "path": true, "text": true}
	for name, f := range figures() {
		for _, picture := range []string{string(f.SVG()), f.Inline()} {
			d := xml.NewDecoder(strings.NewReader(picture))
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if e, ok := token.(xml.StartElement); ok {
					for _, a := range e.Attr {
						if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" {
							t.Errorf("%s: %s has %s", name, e.Name.Local, a.Name.Local)
						}
					}
					if !allowed[e.Name.Local] {
						t.Errorf("%s: element %s", name, e.Name.Local)
					}
				}
			}
			if len(picture) > 30_000 {
				t.Errorf("%s: %d bytes", name, len(picture))
			}
		}
		for _, r := range f.Text(72, 16, false) + string(f.SVG()) {
			if !unicode.IsPrint(r) && r != '\n' {
				t.Errorf("%s: %U steers whoever reads it", name, r)
			}
		}
		if strings.Contains(f.Inline(), "<style") {
			t.Errorf("%s: a picture in a page has a style sheet, which the content policy forbids", name)
		}
	}
}

func TestColouredFigure(t *testing.T) {
	text := figures()["budget"].Text(60, 10, true)
	for _, want := range []string{"\x1b[34m•\x1b[0m charged", "\x1b[91m+\x1b[0m run=1", "\x1b[31m╌\x1b[0m the limit"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTicks(t *testing.T) {
	const day = 24 * 3600
	for _, c := range []struct {
		kind      AxisKind
		low, high float64
		want      string
	}{
		{Numbers, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{Numbers, 0, 7.3, "0 2 4 6"},
		{Numbers, -2, 2, "−2 −1 0 1 2"},
		{Numbers, 0, 3e9, "0 5e+08 1e+09 1.5e+09 2e+09 2.5e+09 3e+09"},
		{Percents, 0, 108, "0 % 20 % 40 % 60 % 80 % 100 %"},
		{Powers, -10, 0, "10⁻¹⁰ 10⁻⁸ 10⁻⁶ 10⁻⁴ 10⁻² 1"},
		{Times, noon, noon + 9000, "12:00/31 Jan 2026 12:30 13:00 13:30 14:00 14:30"},
		{Times, noon, noon + 2, "12:00:00/31 Jan 2026 12:00:01 12:00:02"},
		{Times, noon, noon + 3*day, "1 Feb/2026 2 Feb 3 Feb"},
		{Times, noon, noon + 30*day, "2 Feb/2026 9 Feb 16 Feb 23 Feb 2 Mar"},
		{Times, noon, noon + 400*day, "Apr/2026 Jul Oct Jan/2027"},
		{Times, noon, noon + 4000*day, "2028 2030 2032 2034 2036"},
	} {
		var got []string
		for _, x := range (Axis{Kind: c.kind}).ticks(c.low, c.high) {
			if x.below != "" {
				x.label += "/" + x.below
			}
			got = append(got, x.label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: %s; want %s", c.low, c.high, strings.Join(got, " "), c.want)
		}
	}
}

// Colours stand out from their ground: 3 to 1 for lines and 4.5 to 1 for texts (WCAG 2.2, 1.4.3
// and 1.4.11).
func TestContrast(t *testing.T) {
	for role, s := range styles {
		for _, dark := range []bool{false, true} {
			of := func(i ink) string { return map[bool]string{false: i.light, true: i.dark}[dark] }
			colour, least := s.stroke, 3.0
			switch {
			case role == grid || role == ground || role == fill:
				continue // decoration
			case s.size > 0:
				colour, least = s.fill, 4.5
			}
			if c := contrast(of(*colour), of(groundInk)); c < least {
				t.Errorf("%s, dark %v: contrast %.2f; want %v", role, dark, c, least)
			}
		}
	}
}

// contrast is WCAG's (w3.org/TR/WCAG22, "contrast ratio").
func contrast(a, b string) float64 {
	luminance := func(hex string) float64 {
		part := func(from int) float64 {
			v, err := strconv.ParseUint(hex[from:from+2], 16, 8)
			if err != nil {
				panic(err) // of a colour in style.go
			}
			if s := float64(v) / 255; s > 0.04045 {
				return math.Pow((s+0.055)/1.055, 2.4)
			}
			return float64(v) / 255 / 12.92
		}
		return 0.2126*part(1) + 0.7152*part(3) + 0.0722*part(5)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
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
