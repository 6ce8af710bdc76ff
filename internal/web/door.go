package web

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/pages"
	"github.com/dpaccountant/accountant/internal/wire"
)

// door stands before pages and JSON. It turns away what a foreign web site may have sent, and finds out who
// calls; the handlers behind it find the caller in the request's context.
type door struct {
	Config
	next http.Handler
}

func newDoor(c Config) *door {
	mux := http.NewServeMux()
	mux.Handle("/", pages.New(c.Conn))
	return &door{c, mux}
}

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if err := d.admit(r); err != nil {
		err.write(w)
		return
	}
	caller, err := d.caller(r)
	if err != nil {
		err.write(w)
		return
	}
	d.next.ServeHTTP(patient(w), r.WithContext(inside.With(r.Context(), caller)))
}

// refusal is an answer to a request that does not come in.
type refusal struct {
	status int
	text   string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

func (e *refusal) write(w http.ResponseWriter) { http.Error(w, e.text, e.status) }

// protect sets the headers that tell a browser what an answer may do: it runs no script but ours, is not
// shown inside of other sites, is not guessed to be of another type, and is kept nowhere.
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

// admit refuses a request that was sent under a name that is not the daemon's. A web site can have its own
// name lead to this machine (DNS rebinding), and then a browser takes the daemon for a part of that site.
func (d *door) admit(r *http.Request) *refusal {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if d.Local && (host == "localhost" || net.ParseIP(host).IsLoopback()) {
		return nil
	}
	if r.TLS != nil && !d.Local {
		return nil // a browser has compared the name with the certificate
	}
	return refuse(http.StatusMisdirectedRequest, "Host: %s; allowed: localhost, 127.0.0.1 or [::1]", wire.Quote(r.Host))
}

// caller finds out who calls, as far as HTTP tells; the gRPC service verifies tokens.
func (d *door) caller(r *http.Request) (inside.Caller, *refusal) {
	proof, err := endpoint.OfRequest(r)
	if err != nil {
		return inside.Caller{}, refuse(http.StatusForbidden, "%v", err)
	}
	proof.Unproven = proof.Principal == "" && (d.Certificates || !d.Local)
	c := inside.Caller{Proof: proof, Address: r.RemoteAddr, Metadata: metadata.MD{}}
	for name, key := range map[string]string{"Authorization": "authorization",
		"Accountant-Principal": "accountant-principal", "X-Request-Id": "x-request-id"} {
		for _, value := range r.Header.Values(name) {
			if len(value) > maxValue || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
				return c, refuse(http.StatusBadRequest, "%s: a value of %d bytes; allowed: at most %d printable ASCII "+
					"characters", name, len(value), maxValue)
			}
			c.Metadata.Append(key, value)
		}
	}
	return c, nil
}

// maxValue bounds a header that is passed on: a token has at most 8 KiB.
const maxValue = 9 << 10

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

func (w *patientWriter) Write(b []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *patientWriter) Flush() {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTime))
	_ = w.control.Flush()
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
