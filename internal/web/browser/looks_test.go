// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/dpaccountant/accountant/internal/testaid"
)

// looked are the pages that are looked at.
var looked = []struct{ name, path string }{
	{"overview", "/"}, {"ledger", ledgerPage("team/mnist")}, {"curves", "/curves?name=team/mnist"},
	{"statement", "/statement?name=team/mnist"}, {"planner", "/planner?ask=noise"}, {"approvals", "/approvals"},
	{"spending", "/spending?by=label&label=run&name=1"},
	{"audit", "/audit"}, {"head", "/audit?name=team/mnist"},
}

// axe-core finds nothing on any page, light and dark, wide and narrow.
func TestAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	d, p := filled(t), open(t)
	pages := append(looked, struct{ name, path string }{"missing", "/none"})
	for i := len(pages) - 1; i >= 0; i -= testaid.Every(3) {
		at := pages[i]
		p.do(chromedp.Navigate(d.web + at.path))
		for _, dark := range []bool{false, true} {
			width := map[bool]int64{false: 1280, true: 380}[dark]
			p.do(theme(dark), emulation.SetDeviceMetricsOverride(width, 900, 1, false))
			p.accessible(axe, fmt.Sprintf("%s, dark %v", at.path, dark))
		}
	}
	p.meant("404")
}

// accessible fails the test if axe-core finds something on the page that is there.
func (p *tab) accessible(axe []byte, where string) {
	p.t.Helper()
	var found string
	// It is evaluated by the debugger, which the content policy does not bind.
	p.do(chromedp.Evaluate(string(axe)+";0", nil), chromedp.Evaluate(`axe.run().then((r) => JSON.stringify(
		r.violations.map((v) => [v.impact, v.id, v.help, v.nodes.map((n) => n.html + " " + n.failureSummary)])))`,
		&found, awaited))
	var violations []json.RawMessage
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range violations {
		p.t.Errorf("%s: %s", where, v)
	}
}

// awaited waits for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

func theme(dark bool) chromedp.Action {
	value := map[bool]string{false: "light", true: "dark"}[dark]
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"}})
}

// still makes a page look the same each time: times, hashes and the figure's time axis are of the moment.
const still = `
	for (const e of document.querySelectorAll("time")) e.textContent = e.className ? "1 Jan 2026, 12:00" :
		"1 Jan 2026, 12:00:00 UTC";
	for (const e of document.querySelectorAll("dd code")) e.textContent = "0".repeat(64);
	for (const e of document.querySelectorAll(".age")) e.textContent = "3 hours";
	for (const e of document.querySelectorAll(".size")) e.textContent = "24.0 KiB";
	for (const e of document.querySelectorAll("[data-live] .figure")) e.style.visibility = "hidden";
	for (const e of document.querySelectorAll("article p:last-child")) e.textContent = "Made by accountantd.";
	for (const e of document.querySelectorAll("p"))
		if (/^This is a guess|^Too little time/.test(e.textContent)) e.textContent = "This is a guess.";
	for (const e of document.querySelectorAll("#live-state")) e.textContent = "";
	document.activeElement.blur(); 0`

// Pages look as they did when somebody looked at them: at three widths, light and dark.
func TestScreens(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it looks at every page at three widths")
	d, p := filled(t), open(t)
	p.do(emulation.SetScriptExecutionDisabled(true)) // nothing changes while it is looked at
	for _, at := range looked {
		p.do(chromedp.Navigate(d.web+at.path), chromedp.Evaluate(still, nil))
		for _, width := range []int64{380, 800, 1280} {
			for _, dark := range []bool{false, true} {
				name := fmt.Sprintf("%s-%d%s.png", at.name, width, map[bool]string{true: "-dark"}[dark])
				p.do(theme(dark), emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500))
				compare(t, name, p.shot())
				var wide int64
				p.do(chromedp.Evaluate("document.documentElement.scrollWidth", &wide))
				if wide > width {
					t.Errorf("%s: the page is %d wide, and has to be moved sideways", name, wide)
				}
			}
		}
	}
}

// shot is what a tab shows. On a busy machine Chromium may lose the frame that it waits for, and would wait for ever:
// then it is asked again.
func (p *tab) shot() (shot []byte) {
	p.t.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		for ctx.Err() == nil {
			asked, late := context.WithTimeout(ctx, 15*time.Second)
			if err = page.BringToFront().Do(asked); err == nil {
				shot, err = page.CaptureScreenshot().WithCaptureBeyondViewport(false).Do(asked)
			}
			late()
			if !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
		}
		return ctx.Err()
	}))
	return shot
}

// How far a screenshot may be from what was looked at: in a sixtieth of all pixels of half the size a
// difference of more than a quarter of the range. Text that moves by a line is more than that.
const (
	pixelTolerance = 64
	shareTolerance = 1. / 60
)

func compare(t *testing.T, name string, shot []byte) {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	size := image.Rect(0, 0, full.Bounds().Dx()/2, full.Bounds().Dy()/2)
	got := image.NewPaletted(size, greys())
	for y := range size.Dy() {
		for x := range size.Dx() {
			sum := 0
			for i := range 4 {
				sum += int(bright(full.At(2*x+i%2, 2*y+i/2)))
			}
			got.Set(x, y, color.Gray{uint8(sum / 4)})
		}
	}
	path := filepath.Join("testdata", name)
	if dir := os.Getenv("ACCOUNTANT_SCREENS"); dir != "" { // to look at them in full
		if err := os.WriteFile(filepath.Join(dir, name), shot, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	want, err := png.Decode(kept)
	if err != nil {
		t.Fatal(err)
	}
	if want.Bounds() != size {
		t.Errorf("%s: %v; want %v", name, size, want.Bounds())
		return
	}
	apart := 0
	for y := range size.Dy() {
		for x := range size.Dx() {
			a, b := bright(got.At(x, y)), bright(want.At(x, y))
			if max(a, b)-min(a, b) > pixelTolerance {
				apart++
			}
		}
	}
	if share := float64(apart) / float64(size.Dx()*size.Dy()); share > shareTolerance {
		t.Errorf("%s: %.2f %% of the pixels are not as they were; look at it, and then go test -update", name,
			100*share)
	}
}

func bright(c color.Color) uint8 { return color.GrayModel.Convert(c).(color.Gray).Y }

// greys are enough to tell a layout, and make small files.
func greys() (p color.Palette) {
	for i := range 16 {
		p = append(p, color.Gray{uint8(17 * i)})
	}
	return p
}

// hostile are texts that somebody who may report could send.
var hostile = []string{`<script>alert(1)</script>`, `</title><img src=x onerror=alert(1)>`, "\u202egnp.exe\u200f",
	"\x1b[31mred\x1b]0;title\a", `"><svg onload=alert(1)>`, `javascript:alert(1)`, "[a](javascript:alert(1)) | <b>",
	strings.Repeat("w", 250)}

// Whatever others wrote is shown as text on every page: nothing of it runs, becomes an element, turns a
// line's direction, or makes the page wider than the screen.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "it shows hostile texts on every page")
	d, p := start(t), open(t)
	for i, text := range hostile {
		name := fmt.Sprintf("team/h%d", i)
		d.create(t, name, "--owner", text, "--dataset-id", text, "--dataset-version", text, "--privacy-unit",
			cut(text, 64), "--label", "note="+text)
		d.ctl(t, "report", name, "gaussian", "--standard-deviation", "2", "--sensitivity", "1", "--label", "run="+text)
	}
	d.create(t, "team/all", "--budget", "epsilon=8,delta=1e-6")
	for _, text := range hostile {
		d.report(t, "team/all", 10, "--label", "run="+text)
		d.refused(t, slices.Concat([]string{"report", "team/all"}, noise, []string{"--count", "1000000", "--label",
			"run=" + text})...)
	}
	d.ctl(t, "ledger", "close", "team/all", "--yes", "--reason", strings.Repeat(hostile[0]+"\u202e", 30))
	paths := []string{"/", "/?contains=" + escape(hostile[0]), ledgerPage("team/all") + "&by=label&label=run",
		ledgerPage(hostile[1]), "/planner?ask=noise&epsilon=" + escape(hostile[4]),
		"/planner?ask=" + escape(hostile[0]),
		"/" + escape(hostile[1]), "/?page=" + escape(hostile[0]), ledgerPage(strings.Repeat("w", 10_000)),
		"/dataset?id=" + escape(hostile[1]), "/audit?name=" + escape(hostile[0]), "/?share=" + escape(hostile[0])}
	for i := range hostile {
		name := fmt.Sprintf("team/h%d", i)
		paths = append(paths, ledgerPage(name)+"&by=label&label=run", "/statement?name="+name, "/curves?name="+name)
	}
	p.do(emulation.SetDeviceMetricsOverride(380, 900, 1, true))
	for _, path := range paths {
		var found string
		p.do(chromedp.Navigate(d.web+path), chromedp.Evaluate(`[
			...[...document.querySelectorAll("img, svg, b, script")].map((e) => e.outerHTML).filter((h) =>
				/onerror|onload|alert/.test(h.slice(0, 200).replace(/aria-label="[^"]*"/, ""))),
			...[...document.querySelectorAll("a")].filter((a) => a.protocol !== "http:").map((a) => a.outerHTML),
			/[\u202a-\u202e\u2066-\u2069\u200e\u200f\x1b\x07]/.test(document.documentElement.outerHTML) ?
				"a mark that steers" : "",
			document.documentElement.scrollWidth > 380 ? "wide: " + document.documentElement.scrollWidth : "",
		].filter(Boolean).join("\n")`, &found))
		if found != "" {
			t.Errorf("%s: %s", cut(path, 100), found)
		}
	}
	p.do(chromedp.Navigate(d.web + ledgerPage("team/all") + "&by=label&label=run"))
	p.shows("main", hostile[0], hostile[1], hostile[4])
	for _, code := range []string{"400", "404", "414", "431"} {
		p.meant("status of " + code)
	}
}

func escape(s string) string { return url.QueryEscape(s) }

func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(n, len(s))], "") }
