// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/login"
	"github.com/dpaccountant/accountant/internal/web/pages"
)

// door stands before pages and JSON. It turns away what a foreign web site may have sent, and finds out who
// calls; the handlers behind it find the caller in the request's context.
type door struct {
	Config
	next http.Handler
}

func newDoor(c Config) (*door, error) {
	api, err := jsonapi.New(c.Conn)
	if err != nil {
		return nil, err
	}
	site := pages.New(c.Conn)
	return &door{c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, jsonapi.Prefix) || r.URL.Path == jsonapi.DocumentPath {
			api.ServeHTTP(w, r)
			return
		}
		site.ServeHTTP(w, r)
	})}, nil
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	err := d.admit(r)
	if err == nil && d.Login != nil && d.Login.Handle(w, r) {
		return
	}
	var caller inside.Caller
	if err == nil {
		caller, err = d.caller(r)
	}
	api := strings.HasPrefix(r.URL.Path, jsonapi.Prefix)
	if large := api && jsonapi.IsLarge(r); err == nil && (large || caller.Unproven && !api) {
		var who string
		if who, err = d.verify(r, caller, large); err == nil && large {
			r = r.WithContext(jsonapi.For(r.Context(), who))
		}
	}
	switch {
	case err == nil:
		ctx := r.Context()
		if caller.Session.Principal != "" {
			var done func()
			ctx, done = d.Login.While(r)
			defer done()
		}
		ctx, answered := inside.Each(inside.With(ctx, caller))
		defer answered()
		d.next.ServeHTTP(patient(w), r.WithContext(ctx))
	case api:
		jsonapi.Refuse(w, r, err.status, err.code, err.text)
	case err.status == http.StatusUnauthorized && d.Login != nil && r.Method == http.MethodGet &&
		strings.Contains(r.Header.Get("Accept"), "text/html"):
		http.Redirect(w, r, login.Path+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
	default:
		http.Error(w, err.text, err.status)
	}
}

// unverified begins the principals of all who do not prove who they are.
const unverified = "unverified:"

// verify asks the service whether a caller who must prove who they are does, before a page or a file is shown
// that asks it nothing, and who calls before a large body is read. Other calls of the API are refused by themselves.
// It returns a principal that is proven, otherwise "": whoever proves nothing can take any number of names.
func (d *door) verify(r *http.Request, c inside.Caller, large bool) (who string, why *refusal) {
	answer, err := api.NewClient(d.Conn).GetAccess(inside.With(r.Context(), c), &pb.GetAccessRequest{})
	switch code := status.Code(err); {
	case code == codes.Unauthenticated:
		return "", &refusal{http.StatusUnauthorized, code, status.Convert(err).Message()}
	case code == codes.Unavailable:
		return "", &refusal{http.StatusServiceUnavailable, code, status.Convert(err).Message()}
	case code == codes.ResourceExhausted && large:
		return "", &refusal{http.StatusTooManyRequests, code, status.Convert(err).Message()}
	}
	if who = answer.GetPrincipal(); strings.HasPrefix(who, unverified) {
		who = ""
	}
	return who, nil // what the caller may see, the service says of each call
}

// refusal is why a request does not come in.
type refusal struct {
	status int
	code   codes.Code // where the request is a call of the API
	text   string
}

// protect sets the headers that tell a browser what an answer may do: it runs no script but ours, is not
// shown inside of other sites, is not taken for another type than it says, and is kept nowhere.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// patient gives an answer time to be computed, and bounds the time in which each part of it must be read.
func patient(w http.ResponseWriter) http.ResponseWriter {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // fails only where there is no connection
	return &patientWriter{w, control}
}

type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements http.ResponseWriter.
func (w *patientWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *patientWriter) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *patientWriter) FlushError() error {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	return w.control.Flush()
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
