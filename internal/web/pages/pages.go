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
	"bytes"
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
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/bounds"
)

//go:embed templates/*.html assets/*
var files embed.FS

// site serves all pages.
type site struct {
	api   api.Client
	pages map[string]*template.Template
}

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
		"GET /dataset":   {"statement", s.dataset},
		"GET /planner":   {"planner", s.planner},
		"GET /approvals": {"approvals", s.approvals},
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
	mux.HandleFunc("GET /ledger/live", s.live)
	mux.HandleFunc("GET /assets/{file}", asset)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, status.Errorf(codes.NotFound, "there is no page at %s", plain.Text(r.URL.Path)))
	})
	return s, mux
}

// page is what a template shows.
type page struct {
	Title   string
	Section string // the part of the site, for the navigation
	Ledger  string // the ledger that the page is about; empty if none
	Body    any
	// Unfinished is set where the daemon is still finding what the page shows. Without JavaScript the page is loaded
	// again by itself.
	Unfinished bool

	Who      string // who has logged in; empty if nobody has
	CanLogIn bool
}

// show writes a page whole or not at all.
func (s *site) show(w http.ResponseWriter, r *http.Request, code int, file string, p *page) {
	caller, _ := inside.From(r.Context())
	p.Who, p.CanLogIn = caller.Session.Principal, caller.CanLogIn
	var b bytes.Buffer
	if err := s.pages[file].ExecuteTemplate(&b, "layout.html", p); err != nil {
		http.Error(w, "this page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}

// failures are what went wrong, by gRPC code: the status of HTTP, a heading, and what to do.
var failures = map[codes.Code]struct {
	status    int
	title, do string
}{
	codes.NotFound: {404, "This is not here",
		"Look for it in the overview. Names are compared letter by letter, and you may lack the right to see it."},
	codes.InvalidArgument: {400, "This question cannot be answered as it is",
		"Go back, correct what the sentence above names, and ask again."},
	codes.FailedPrecondition: {409, "This is not possible now", "The sentence above says what has to be done first."},
	codes.PermissionDenied: {403, "You may not see this",
		"Ask an administrator of the access policy for the role that is named above."},
	codes.Unauthenticated: {401, "Nobody knows who you are",
		"Log in, or come with a certificate or a token that this daemon trusts."},
	codes.Unavailable:       {503, "The daemon does not answer now", "Wait a moment, and load this page again."},
	codes.DeadlineExceeded:  {504, "This took too long", "Load this page again; the daemon may be busy."},
	codes.ResourceExhausted: {429, "Too much was asked at once", "Wait a moment, and load this page again."},
	codes.DataLoss: {503, "The daemon has found damage",
		"Tell whoever runs the daemon at once: nothing is decided until somebody has looked at it."},
}

// failure is what the error page shows.
type failure struct{ Text, Do string }

func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for it
	}
	f, known := failures[status.Code(err)]
	if !known {
		f.status, f.title, f.do = 500, "Something went wrong", "Load this page again; if that does not help, "+
			"show the sentence above to whoever runs the daemon."
	}
	bounds.RetryAfter(w.Header(), err)
	s.show(w, r, f.status, "error", &page{Title: f.title, Body: failure{sentence(inWords(err)), f.do}})
}

// needed is a parameter of a page's address that must be there.
func needed(r *http.Request, key, what string) (string, error) {
	if v := r.URL.Query().Get(key); v != "" {
		return v, nil
	}
	return "", status.Errorf(codes.InvalidArgument, "the address names no %s", what)
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
