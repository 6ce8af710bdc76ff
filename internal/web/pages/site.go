// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bytes"
	"html/template"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// site serves all pages.
type site struct {
	api   api.Client
	pages map[string]*template.Template
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
	codes.Aborted: {409, "This is being done already",
		"Wait a moment, and look at what waits for approval."},
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
