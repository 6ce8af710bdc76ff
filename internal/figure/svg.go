// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpaccountant/accountant/internal/plain"
)

// SVG is a picture that stands alone: it has its style sheet, and follows the reader's choice of
// light or dark.
func (f *Figure) SVG() []byte {
	return []byte(f.svg(`xmlns="http://www.w3.org/2000/svg" `, "<style>\n"+Stylesheet()+"</style>\n"))
}

// Inline is a picture for a page that has Stylesheet.
func (f *Figure) Inline() string { return f.svg("", "") }

func (f *Figure) svg(namespace, styles string) string {
	c := &svg{}
	fmt.Fprintf(&c.Builder, `<svg %sclass="figure" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n%s", namespace,
		width, height, escape(f.spoken()), styles)
	for _, a := range f.Areas {
		if a.Hatched {
			fmt.Fprintf(&c.Builder, `<defs><pattern id="figure-hatching" width="7" height="7" `+
				`patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="figure-%s" d="M3.5 0V7"/>`+
				"</pattern></defs>\n", hatch)
			break
		}
	}
	f.draw(c)
	c.WriteString("</svg>\n")
	return c.String()
}

// spoken is what the figure says to somebody who does not see it.
func (f *Figure) spoken() string {
	parts := []string{f.Title}
	if f.Subtitle != "" {
		parts = append(parts, f.Subtitle)
	}
	if f.blank() {
		return plain.Text(strings.Join(append(parts, f.Empty), ". "))
	}
	parts = append(parts, "The axes are "+f.X.Name+" and "+f.Y.Name)
	for _, a := range f.Areas {
		if a.Name != "" {
			parts = append(parts, "It shows "+a.Name)
		}
	}
	for _, l := range f.Lines {
		parts = append(parts, "It shows "+l.Name)
	}
	for _, m := range []*Mark{f.Limit, f.Now} {
		if m != nil {
			parts = append(parts, "Marked is "+m.Text)
		}
	}
	return fitRunes(plain.Text(strings.Join(parts, ". ")), 1000)
}

// fitRunes shortens a text to n runes.
func fitRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// svg writes SVG's elements.
type svg struct{ strings.Builder }

func (c *svg) line(r role, points []Point) {
	if len(points) > 0 {
		fmt.Fprintf(c, `<path class="figure-%s" d="%s"/>`+"\n", r, path(points))
	}
}

func (c *svg) area(r role, points []Point) {
	if r == hatch {
		fmt.Fprintf(c, `<path fill="url(#figure-hatching)" d="%sZ"/>`+"\n", path(points))
		return
	}
	fmt.Fprintf(c, `<path class="figure-%s" d="%sZ"/>`+"\n", r, path(points))
}

func (c *svg) text(r role, a anchor, at Point, s string) {
	if s == "" {
		return
	}
	anchor := ""
	if a != start {
		anchor = fmt.Sprintf(` text-anchor="%s"`, a)
	}
	fmt.Fprintf(c, `<text class="figure-%s" x="%s" y="%s"%s>%s</text>`+"\n", r, short(at.X), short(at.Y), anchor, escape(s))
}

func path(points []Point) string {
	var b strings.Builder
	b.WriteString("M")
	for i, p := range points {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(short(p.X) + " " + short(p.Y))
	}
	return b.String()
}

// short is a coordinate to a tenth of a unit.
func short(x float64) string {
	s := strconv.FormatFloat(x, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func escape(s string) string { return escaper.Replace(s) }
