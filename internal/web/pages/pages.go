// SPDX-License-Identifier: Apache-2.0

// Package pages is the dashboard: pages for people who do not read command lines.
//
// A page computes nothing about privacy. Every ε, δ and share on it is what a call of the API has
// answered for the person who asks, rounded up where it is shortened; the whole number stands in
// the page's source beside it, as "accountctl --output json" shows it. Pages work without
// JavaScript; with it a ledger's page follows the ledger (live.go).
//
// It is a package of its own because nobody who calls the API needs HTML.
package pages

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/figure"
	"github.com/dpaccountant/accountant/internal/plain"
)

//go:embed templates/*.html assets/*
var files embed.FS

// New returns the handler of all pages. It asks over conn; a call's context must be the request's, which
// says for whom the call is made.
func New(conn grpc.ClientConnInterface) http.Handler {
	_, handler := newSite(conn)
	return handler
}

func newSite(conn grpc.ClientConnInterface) (*site, http.Handler) {
	s := &site{api: api.NewClient(conn), pages: map[string]*template.Template{}}
	shared := template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/layout.html",
		"templates/parts.html"))
	mux := http.NewServeMux()
	for pattern, p := range map[string]struct {
		file string
		make func(*http.Request) (*page, error)
	}{
		"GET /{$}":       {"overview", s.overview},
		"GET /ledger":    {"ledger", s.ledger},
		"GET /curves":    {"curves", s.curves},
		"GET /statement": {"statement", s.statement},
		"GET /dataset":   {"statement", s.statement},
		"GET /spending":  {"spending", s.spendingAnywhere},
		"GET /planner":   {"planner", s.planner},
		"GET /approvals": {"approvals", s.approvals},
		"GET /approval":  {"approval", s.approval},
		"GET /audit":     {"audit", s.audit},
	} {
		s.pages[p.file] = template.Must(template.Must(shared.Clone()).ParseFS(files, "templates/"+p.file+".html"))
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := checkAddress(r)
			var made *page
			if err == nil {
				made, err = p.make(r)
			}
			if err != nil {
				s.fail(w, r, err)
				return
			}
			s.show(w, r, http.StatusOK, p.file, made)
		})
	}
	s.pages["error"] = template.Must(template.Must(shared.Clone()).ParseFS(files, "templates/error.html"))
	mux.HandleFunc("POST /approval", s.approve)
	mux.HandleFunc("GET /ledger/live", s.live)
	mux.HandleFunc("GET /file/{file}", s.file)
	mux.HandleFunc("GET /assets/{file}", asset)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, status.Errorf(codes.NotFound, "there is no page at %s", plain.Text(r.URL.Path)))
	})
	return s, mux
}

// asset serves an embedded file. The style sheet ends with that of all figures.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	content, err := files.ReadFile("assets/" + name)
	types := map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8",
		"zoom.js":  "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml"}
	if err != nil || types[name] == "" {
		http.Error(w, fmt.Sprintf("there is no file %q", name), http.StatusNotFound)
		return
	}
	if name == "style.css" {
		content = append(content, figure.Stylesheet()...)
	}
	w.Header().Set("Content-Type", types[name])
	_, _ = w.Write(content)
}
