// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// told is what an error page, or the planner, says is wrong.
var told = regexp.MustCompile(`(?s)<p class="problem"[^>]*>(.*?)</p>`)

// inside are words of the API, which nobody has typed who reads a page: its fields, and its types.
var inside = regexp.MustCompile(`[a-z]+_[a-z]+|[a-z]\.[a-z]|\[\d+\]|rpc error|Timestamp|protobuf|strconv|seconds:`)

// Every parameter of every page is asked for with values that nobody means: the answer is a page, or says in the
// reader's words which parameter is wrong.
func TestHostileParameters(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.Create(servertest.Spec("asked"))
	d.Report("asked", servertest.Writer(), 1, servertest.Gaussian(2, 1))
	values := []string{"", "0", "-1", "1e999", "1e-400", "NaN", "-Inf", "0x10", "99999999999999999999999999", "1_000",
		"\xff", "\x00", "a\nb", " ", "…", "../..", "<b>", strings.Repeat("9", 5000),
		"0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "0000-01-01", "2026-02-30", "2026-11-23T25:00",
		"1600-01-01", "2400-01-01T00:00"}
	pages := map[string]struct {
		given string
		asked []string
	}{
		"/":          {"", []string{"contains", "state", "page", "of", "flag", "share"}},
		"/ledger":    {"name=asked", []string{"name", "from", "to", "by", "label", "until"}},
		"/curves":    {"name=asked", []string{"name"}},
		"/statement": {"name=asked", []string{"name"}},
		"/dataset":   {"", []string{"id"}},
		"/approvals": {"", []string{"page", "of"}},
		"/spending":  {"name=asked", []string{"name", "by", "label", "prefix", "after"}},
		"/audit":     {"", []string{"name", "prefix", "page"}},
		"/planner": {"ask=noise", []string{"ask", "epsilon", "delta", "epochs", "noise", "batch", "records",
			"ledger"}},
	}
	ask := func(path, query string) {
		r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet, "http://"+d.HTTPAddr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = query
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		b, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		said := told.FindStringSubmatch(string(b))
		if len(query) > 100 {
			query = query[:100] + "…"
		}
		switch {
		case a.StatusCode >= 500:
			t.Errorf("%s?%s: status %d: %q", path, query, a.StatusCode, said)
		case a.StatusCode != http.StatusOK && said == nil:
			t.Errorf("%s?%s: status %d without a sentence", path, query, a.StatusCode)
		}
		for _, s := range said[min(1, len(said)):] {
			// What was given is quoted, and may be anything.
			text := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(html.UnescapeString(s), "")
			if found := inside.FindString(text); found != "" {
				t.Errorf("%s?%s: %q in %q", path, query, found, text)
			}
		}
	}
	for path, p := range pages {
		for _, key := range p.asked {
			for _, value := range values {
				given, err := url.ParseQuery(p.given)
				if err != nil {
					t.Fatal(err)
				}
				given.Set(key, value)
				ask(path, given.Encode())
				if path == "/planner" {
					given.Set("ask", "epochs")
					ask(path, given.Encode())
				}
			}
			ask(path, p.given+"&"+key+"=1&"+key+"=2")
			ask(path, p.given+"&"+key+"=%zz")
		}
	}
}
