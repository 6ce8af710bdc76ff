// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/login"
	"github.com/dpaccountant/accountant/internal/wire"
)

// admit refuses what a web site may have sent with the browser of somebody who visits it.
func (d *door) admit(r *http.Request) *refusal {
	if !d.named(r) {
		return &refusal{http.StatusMisdirectedRequest, codes.PermissionDenied, fmt.Sprintf("Host: %s; allowed: %s",
			wire.Quote(r.Host), d.names())}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return reads(r)
	}
	origins, sites := r.Header.Values("Origin"), r.Header.Values("Sec-Fetch-Site")
	for _, o := range origins {
		if !d.own(r, o) {
			return forbid("Origin: %s; allowed: only pages of this daemon send requests with a browser", wire.Quote(o))
		}
	}
	for _, s := range sites {
		if s != "same-origin" {
			return forbid("Sec-Fetch-Site: %s; allowed: same-origin", wire.Quote(s))
		}
	}
	if len(r.Header.Values("Cookie")) > 0 && len(origins)+len(sites) == 0 {
		return forbid("Origin: missing, in a request with cookies; allowed: this daemon's own origin, as browsers " +
			"send it")
	}
	return nil
}

// reads lets other sites link to pages, and nothing else: as an image or a script inside of another site a page
// would be computed for it, and how long that takes would tell something.
func reads(r *http.Request) *refusal {
	linked := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	for _, s := range r.Header.Values("Sec-Fetch-Site") {
		if s != "same-origin" && s != "none" && !linked {
			return forbid("Sec-Fetch-Site: %s; allowed: same-origin, or a link that somebody follows", wire.Quote(s))
		}
	}
	return nil
}

func forbid(form string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, codes.PermissionDenied, fmt.Sprintf(form, args...)}
}

// named reports whether a request names the daemon. A web site can have its own name lead to this machine
// (DNS rebinding); then a browser takes the daemon for a part of that site, but says the site's name here.
func (d *door) named(r *http.Request) bool {
	host := hostOf(r.Host)
	switch {
	case d.URL != nil && strings.EqualFold(r.Host, d.URL.Host):
		return true
	case d.Local && endpoint.IsLocal(host):
		return true
	}
	return !d.Local && d.Certified != nil && d.Certified(host)
}

// names lists the names that are allowed.
func (d *door) names() string {
	list := "a name of the daemon's certificate"
	if d.Local {
		list = "localhost, 127.0.0.1 or [::1]"
	}
	if d.URL != nil {
		list += ", or " + d.URL.Host
	}
	return list
}

// hostOf returns the host of HOST:PORT or HOST.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// own reports whether an origin is the daemon's own, as the request names it.
func (d *door) own(r *http.Request, origin string) bool {
	o, err := url.Parse(origin)
	if err != nil || o.Scheme+"://"+o.Host != origin {
		return false // such as "null"
	}
	if d.URL != nil && o.Scheme == d.URL.Scheme && strings.EqualFold(o.Host, d.URL.Host) {
		return true
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return o.Scheme == scheme && strings.EqualFold(o.Host, r.Host)
}

// forwarding are headers by which a proxy says that somebody else than it asks, beside those whose names begin with
// X-Forwarded.
var forwarding = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip",
	"Cf-Connecting-Ip", "X-Envoy-External-Address", "X-Original-Forwarded-For"}

// distant reports whether somebody on another machine may have sent a request: then only proof counts.
func (d *door) distant(r *http.Request) bool {
	if !d.Local || !endpoint.IsLocal(hostOf(r.Host)) {
		return true
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(forwarding, name) {
			return true
		}
	}
	return false
}

// passed are the headers that are passed on to the service, and their names there.
var passed = map[string]string{"Authorization": "authorization", "Accountant-Principal": "accountant-principal",
	"X-Request-Id": "x-request-id"}

// maxPassed bounds a header that is passed on: a token has at most 8 KiB.
const maxPassed = 9 << 10

// caller finds out who calls, as far as HTTP tells; the service verifies tokens.
func (d *door) caller(r *http.Request) (inside.Caller, *refusal) {
	proof, err := endpoint.OfRequest(r)
	if err != nil {
		return inside.Caller{}, &refusal{http.StatusForbidden, codes.Unauthenticated, err.Error()}
	}
	c := inside.Caller{Proof: proof, Address: r.RemoteAddr, Metadata: metadata.MD{}}
	for name, key := range passed {
		for _, value := range r.Header.Values(name) {
			if len(value) > maxPassed || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
				text := fmt.Sprintf("%s: a value of %d bytes; allowed: at most %d bytes of printable ASCII", name,
					len(value), maxPassed)
				return c, &refusal{http.StatusBadRequest, codes.InvalidArgument, text}
			}
			c.Metadata.Append(key, value)
		}
	}
	if d.Login != nil {
		c.Session, c.CanLogIn = d.Login.Session(r), true
	}
	if m := api.At(r.URL.Path); m != nil && m.Name() == "Approve" && c.Session.Principal != "" && !c.Session.Fresh &&
		len(c.Metadata["authorization"]) == 0 { // as on the page: a copied cookie alone is no second person
		return c, forbid("your login is older than 10 minutes; allowed: a new one, at %s", login.Again("/approvals"))
	}
	c.Unproven = c.Principal == "" && (d.Certificates || d.distant(r))
	or := ""
	if c.CanLogIn {
		or = " or a login at " + login.Path
	}
	if c.Unproven && c.Session.Principal == "" && len(c.Metadata["authorization"]) == 0 {
		return c, &refusal{http.StatusUnauthorized, codes.Unauthenticated,
			"nothing proves who you are; allowed: a token (Authorization: Bearer TOKEN), a client certificate" + or}
	}
	return c, nil
}
