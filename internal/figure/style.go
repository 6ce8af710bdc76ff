// SPDX-License-Identifier: Apache-2.0

package figure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// role is what a mark is in the figure, which decides how it looks.
type role string

const (
	ground   role = "ground" // the whole picture
	grid     role = "grid"
	axis     role = "axis"
	muted    role = "muted" // a line for comparison
	limit    role = "limit"
	now      role = "now"
	fill     role = "fill"  // an area
	hatch    role = "hatch" // an area that is set aside
	edge     role = "edge"  // the edge of an area that is set aside
	title    role = "title"
	subtitle role = "subtitle"
	name     role = "name" // of an axis
	label    role = "label"
	empty    role = "empty"
	// limitText, nowText, mutedText and series0Text … are the texts of such lines.
	limitText role = "limit-text"
	nowText   role = "now-text"
	mutedText role = "muted-text"
	edgeText  role = "edge-text"
)

func series(i int) role     { return role("series" + strconv.Itoa(i%len(seriesInks))) }
func seriesText(i int) role { return series(i) + "-text" }

// ink is a colour on light and on dark ground.
type ink struct{ light, dark string }

// The colours of lines are Okabe and Ito's, which people tell apart who see colours differently
// (jfly.uni-koeln.de/color); on light ground those that are too pale for a line are darkened,
// and on dark ground those that are too dark are lightened, to a contrast of at least 3 to 1
// for lines and 4.5 to 1 for text. No two lines differ by colour alone: each has its own dashes
// and its own name at its end.
var (
	groundInk  = ink{"#ffffff", "#16181d"}
	textInk    = ink{"#1b1f24", "#e8eaed"}
	quietInk   = ink{"#57606a", "#a3abb5"}
	gridInk    = ink{"#e4e7eb", "#2c3138"}
	axisInk    = ink{"#8c959f", "#6b7480"}
	limitInk   = ink{"#b3261e", "#ff8a80"}
	reserveInk = ink{"#8a6100", "#e6b422"}
	seriesInks = []ink{{"#0072b2", "#56b4e9"}, {"#b34a00", "#ff9d5c"}, {"#00795a", "#3ddbac"}, {"#a6447f", "#e9a1c9"},
		{"#2f3b8f", "#a5b4ff"}, {"#5c4a3d", "#d7c3b3"}}
	seriesDashes = [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}, {4, 2}, {12, 4}}
)

// style is how marks of a role look. Colours that are nil are not there.
type style struct {
	stroke, fill *ink
	width        float64
	dashes       []float64
	opacity      float64 // of the fill; 0 is opaque
	size         float64 // of text
	bold         bool
}

// styles are those of all roles, from which the CSS is made.
var styles = func() map[role]style {
	all := map[role]style{
		ground:    {fill: &groundInk},
		grid:      {stroke: &gridInk, width: 1},
		axis:      {stroke: &axisInk, width: 1},
		muted:     {stroke: &quietInk, width: 1.5, dashes: []float64{4, 4}},
		limit:     {stroke: &limitInk, width: 1.5, dashes: []float64{8, 4}},
		now:       {stroke: &quietInk, width: 1, dashes: []float64{2, 3}},
		fill:      {fill: &seriesInks[0], opacity: 0.16},
		hatch:     {stroke: &reserveInk, width: 1},
		edge:      {stroke: &reserveInk, width: 1},
		title:     {fill: &textInk, size: 17, bold: true},
		subtitle:  {fill: &quietInk, size: 13},
		name:      {fill: &textInk, size: 13},
		label:     {fill: &quietInk, size: 12},
		empty:     {fill: &quietInk, size: 14},
		limitText: {fill: &limitInk, size: 12},
		nowText:   {fill: &quietInk, size: 12},
		mutedText: {fill: &quietInk, size: 12},
		edgeText:  {fill: &reserveInk, size: 12},
	}
	for i := range seriesInks {
		all[series(i)] = style{stroke: &seriesInks[i], width: 2.2, dashes: seriesDashes[i]}
		all[seriesText(i)] = style{fill: &seriesInks[i], size: 12}
	}
	return all
}()

// fonts are the reader's own.
const fonts = `system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif`

// Stylesheet is the look of every SVG of this package, for a page's own style sheet: pages show
// figures without styles of their own, which a strict content security policy would forbid.
func Stylesheet() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".figure text{font-family:%s}\n", fonts)
	rules(&b, func(i ink) string { return i.light })
	b.WriteString("@media (prefers-color-scheme:dark){\n")
	rules(&b, func(i ink) string { return i.dark })
	b.WriteString("}\n")
	return b.String()
}

func rules(b *strings.Builder, of func(ink) string) {
	var roles []role
	for r := range styles {
		roles = append(roles, r)
	}
	slices.Sort(roles)
	for _, r := range roles {
		s := styles[r]
		fmt.Fprintf(b, ".figure-%s{", r)
		switch {
		case r == hatch:
			fmt.Fprintf(b, "stroke:%s;stroke-width:%g;fill:none", of(*s.stroke), s.width)
		case s.stroke != nil:
			fmt.Fprintf(b, "fill:none;stroke:%s;stroke-width:%g;stroke-linejoin:round", of(*s.stroke), s.width)
		default:
			fmt.Fprintf(b, "fill:%s", of(*s.fill))
		}
		if s.opacity > 0 {
			fmt.Fprintf(b, ";fill-opacity:%g", s.opacity)
		}
		if len(s.dashes) > 0 {
			fmt.Fprintf(b, ";stroke-dasharray:%s", strings.Trim(fmt.Sprint(s.dashes), "[]"))
		}
		if s.size > 0 {
			fmt.Fprintf(b, ";font-size:%gpx", s.size)
		}
		if s.bold {
			b.WriteString(";font-weight:600")
		}
		b.WriteString("}\n")
	}
}
