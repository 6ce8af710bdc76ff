// SPDX-License-Identifier: Apache-2.0

// Package site_test opens the site that `make site` has built, as a reader does who has only its files.
package site_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A reader opens the first page from the disk, types a word, and gets pages that have it; a page
// of mathematics shows its formulas.
func TestSearchWorksOverFiles(t *testing.T) {
	site := os.Getenv("SITE")
	if site == "" {
		t.Skip("SITE is not set to a built site; run: make site")
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		if os.Getenv("NEEDS_BROWSER") != "" {
			t.Fatal("no chromium is installed")
		}
		t.Skip("no chromium is installed (apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox,
		chromedp.WindowSize(1280, 900))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	tab, end := chromedp.NewContext(allocator)
	defer end()
	tab, cancel := context.WithTimeout(tab, 2*time.Minute)
	defer cancel()

	for word, page := range map[string]string{
		"reservation": "docs/budgets.html", "shuffled batches": "docs/which-mechanism.html"} {
		var hits, first string
		if err := chromedp.Run(tab,
			chromedp.Navigate("file://"+filepath.Join(site, "index.html")),
			chromedp.SendKeys(`input[name="q"]`, word+kb.Enter, chromedp.ByQuery),
			chromedp.WaitVisible(`ul.search li a`, chromedp.ByQuery),
			chromedp.Poll(`document.querySelector("ul.search").innerHTML.includes("`+page+`")`, nil),
			chromedp.OuterHTML(`ul.search`, &hits, chromedp.ByQuery),
			chromedp.Evaluate(`document.querySelector("ul.search li a").getAttribute("href")`, &first)); err != nil {
			t.Fatalf("%q did not lead to %s: %v\n%s", word, page, err, hits)
		}
		if strings.Contains(first, "/math/") || strings.Contains(first, "/decisions/") {
			t.Errorf("%q leads first to %s, before the pages for users", word, first)
		}
	}
	var formulas, scripts string
	if err := chromedp.Run(tab,
		chromedp.Navigate("file://"+filepath.Join(site, "docs", "math", "cumulant.html")),
		chromedp.WaitVisible(`math[display="block"]`, chromedp.ByQuery),
		chromedp.OuterHTML(`math[display="block"]`, &formulas, chromedp.ByQuery),
		chromedp.Evaluate(`Array.from(document.querySelectorAll("[src], link[href]"),
			(e) => e.src || e.href).filter((u) => !u.startsWith("file:")).join(" ")`, &scripts)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(formulas, "<mi>") {
		t.Errorf("a formula is shown as %s", formulas)
	}
	if scripts != "" {
		t.Errorf("the page loads from elsewhere: %s", scripts)
	}
}
