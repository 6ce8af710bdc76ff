// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/csv"
	"encoding/json"
	"html"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Each page leads to files with what it shows, under its own rights: a viewer gets no entries, and nobody anything of a
// ledger that is hidden from them. What others wrote is no formula in them.
func TestFiles(t *testing.T) {
	t.Parallel()
	d := start(t, ruled(t, seen...))
	for _, name := range []string{"seen/a", "hidden"} {
		spec := servertest.Filter(name, servertest.Basic(10))
		spec.Owner = "=1+1"
		if name == "seen/a" {
			spec.DatasetId, spec.DatasetVersion = "people", "1"
		}
		d.create(t, spec)
		d.Report(name, servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.5, 1)},
			Labels: map[string]string{"secret": "unlikely"}})
	}
	viewer, auditor := d.issuer.Token("viewer", nil), d.issuer.Token("auditor", nil)
	ask := func(at, token string) (int, http.Header, string) {
		r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet, "http://"+d.HTTPAddr+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return send(t, r)
	}
	links := map[string]bool{}
	for _, page := range []string{"/", "/ledger?name=seen/a", "/curves?name=seen/a", "/statement?name=seen/a",
		"/spending?name=unverified:anonymous"} {
		text := d.page(t, page, auditor)
		for _, m := range regexp.MustCompile(`href="(/file/[^"]*)"`).FindAllStringSubmatch(text, -1) {
			links[html.UnescapeString(m[1])] = true
		}
	}
	if len(links) != 17 {
		t.Errorf("%d files: %v; want 17", len(links), links)
	}
	for at := range links {
		code, header, body := ask(at, auditor)
		if code != http.StatusOK || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment; filename=") ||
			header.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(body, "hidden") || body == "" {
			t.Errorf("%s: %d %v\n%.500s", at, code, header, body)
		}
		switch {
		case strings.Contains(at, ".csv"):
			rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body, "\ufeff"))).ReadAll()
			if err != nil || len(rows) < 2 || strings.Contains(body, ",=1+1") {
				t.Errorf("%s: %v\n%s", at, err, body)
			}
		case strings.Contains(at, ".json"):
			if !json.Valid([]byte(body)) {
				t.Errorf("%s is no JSON: %s", at, body)
			}
		case strings.Contains(at, ".svg"):
			if !strings.HasPrefix(body, "<svg xmlns=") {
				t.Errorf("%s: %.200s", at, body)
			}
		case !strings.Contains(body, "|---|"):
			t.Errorf("%s: %.500s", at, body)
		}
		wanted := http.StatusOK
		if strings.Contains(at, "/entries.") || strings.Contains(at, "/spending.") {
			wanted = http.StatusForbidden
		}
		if code, _, body = ask(at, viewer); code != wanted || strings.Contains(body, "unlikely") {
			t.Errorf("%s to a viewer: %d; want %d\n%.500s", at, code, wanted, body)
		}
		if !strings.Contains(at, "seen%2Fa") {
			continue
		}
		at = strings.ReplaceAll(at, "seen%2Fa", "hidden")
		if code, _, body = ask(at, auditor); code != http.StatusForbidden && code != http.StatusNotFound {
			t.Errorf("%s: %d\n%.500s", at, code, body)
		}
	}
	for _, at := range []string{"/file/", "/file/overview", "/file/overview.svg", "/file/entries.exe?name=seen/a",
		"/file/statement.csv?name=seen/a", "/file/../assets/style.css?x"} {
		if code, _, body := ask(at, auditor); code != http.StatusNotFound && code != http.StatusTemporaryRedirect &&
			code != http.StatusMovedPermanently && code != http.StatusOK || strings.Contains(body, "seen/a,") {
			t.Errorf("%s: %d\n%.500s", at, code, body)
		}
	}
}

// A dataset's statement is a file as well: what accountctl writes as Markdown, and the API's answer as JSON. Its
// ledgers are a table for spreadsheets. Whoever may not see the dataset gets none of them.
func TestFilesOfADataset(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *server.Config) {
		ruled(t, "grants:",
			"  - {roles: [reporter, manager], to: ['unverified:**'], on: [everything]}",
			"  - {roles: [viewer], to: ['oidc:ISSUER#viewer'], on: ['dataset:people']}",
			"  - {roles: [viewer], to: ['oidc:ISSUER#other'], on: ['prefix:other/']}")(c)
		c.Socket = filepath.Join(t.TempDir(), "own")
	})
	spec := servertest.Filter("in/a", servertest.Basic(4))
	spec.DatasetId = "people"
	if _, err := d.Owner(t).CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{Spec: &pb.DatasetSpec{
		Id: "people", Adjacency: spec.GetAdjacency(), Budgets: []*pb.Budget{servertest.Basic(10)},
		MaxRecordsPerUnit: 1, BoundEnforcedBy: "the loader", Independence: "other people"}}); err != nil {
		t.Fatal(err)
	}
	d.create(t, spec)
	d.Report("in/a", servertest.Writer(), 1, pureOf(0.5))
	ask := func(at, who string) (int, string) {
		r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet, "http://"+d.HTTPAddr+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+d.issuer.Token(who, nil))
		code, _, body := send(t, r)
		return code, body
	}
	page := d.page(t, "/dataset?id=people", d.issuer.Token("viewer", nil))
	for _, ending := range []string{"csv", "json", "md"} {
		at := "/file/statement." + ending + "?id=people"
		if !strings.Contains(page, `href="`+at+`"`) {
			t.Errorf("the page does not lead to %s", at)
		}
		code, body := ask(at, "viewer")
		right := map[string]func() bool{
			"csv": func() bool {
				rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body, "\ufeff"))).ReadAll()
				// Of the dataset's budget of 10 the open ledger takes its own 4.
				return err == nil && len(rows) == 2 && rows[1][0] == "in/a" && rows[1][1] == "people" &&
					rows[1][5] == "1" && rows[1][6] == "0.4"
			},
			"json": func() bool {
				var answer struct {
					Markdown string
					Ledgers  []struct{ Name string }
				}
				return json.Unmarshal([]byte(body), &answer) == nil && len(answer.Ledgers) == 1 &&
					answer.Ledgers[0].Name == "in/a" && answer.Markdown != ""
			},
			"md": func() bool {
				return strings.HasPrefix(body, "# Privacy statement: dataset people") &&
					strings.Contains(body, "| in/a |")
			},
		}[ending]
		if code != http.StatusOK || !right() {
			t.Errorf("%s: %d\n%s", at, code, body)
		}
		if code, body := ask(at, "other"); code == http.StatusOK || strings.Contains(body, "in/a") {
			t.Errorf("%s to somebody who may not see it: %d\n%s", at, code, body)
		}
	}
}

func pureOf(epsilon float64) *pb.Charge {
	return &pb.Charge{Events: []*pb.Event{servertest.Pure(epsilon, 1)}}
}
