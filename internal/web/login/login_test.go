// SPDX-License-Identifier: Apache-2.0

package login_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/login"
)

const at = "https://accountant.test"

// site is a daemon that other machines reach as accountant.test, and at which people log in.
type site struct {
	*servertest.Server
	issuer *bearertest.Issuer
	trust  *x509.CertPool
	log    *testaid.Log
	clock  *clock
}

// clock is a time that a test sets.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

func start(t *testing.T, key []byte, issuer *bearertest.Issuer) *site {
	t.Helper()
	s := &site{issuer: issuer, log: &testaid.Log{}, clock: &clock{}}
	authority := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	named := func(c *x509.Certificate) { c.DNSNames = []string{"accountant.test"} }
	files.Cert, files.Key = authority.Issue("server", named)
	s.trust = authority.Client("").RootCAs
	pem, err := os.ReadFile(s.issuer.CA)
	if err != nil || !s.trust.AppendCertsFromPEM(pem) {
		t.Fatal(err)
	}
	public, _ := url.Parse(at)
	logger := slog.New(slog.NewTextHandler(s.log, nil))
	from := bearer.Issuer{URL: s.issuer.URL, CA: s.issuer.CA, Audiences: []string{bearertest.Audience},
		Patience: bearertest.Patience}
	l, err := login.New(login.Config{Issuer: from, Groups: "groups", Client: bearertest.Client,
		Secret: bearertest.Secret, URL: public, Key: key, Logger: logger, Now: s.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	s.Server = servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Dashboard: true,
		TLS: files, Issuers: []bearer.Issuer{from}, Login: l, PublicURL: public, Logger: logger}})
	return s
}

// browser keeps cookies as a browser does, and follows redirections and the page after a login.
type browser struct {
	*http.Client
	t   *testing.T
	jar http.CookieJar
}

func (s *site) browser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{&http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.trust},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "accountant.test:443" {
				address = s.HTTPAddr
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}, t, jar}
}

func (b browser) do(method, address, body string, headers ...string) (int, http.Header, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(servertest.Context(b.t), method, address, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a, err := b.Client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(text)
}

// who returns whom the daemon takes the browser for, as its own page would ask.
func (b browser) who() (int, string) {
	b.t.Helper()
	code, _, body := b.do("POST", at+jsonapi.Prefix+"Admin/GetAccess", "{}", "Content-Type: application/json",
		"Origin: "+at)
	_, after, _ := strings.Cut(body, `"principal": "`)
	name, _, _ := strings.Cut(after, `"`)
	return code, name
}

// Somebody logs in, is who the issuer says, may write from the daemon's pages, and is nobody again after a
// logout or an hour.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := start(t, nil, bearertest.New(t))
	s.issuer.Login("ann", func(c map[string]any) { c["groups"] = []string{"privacy"} })
	b := s.browser(t)
	if code, name := b.who(); code != 401 || name != "" {
		t.Fatalf("before: %d %q", code, name)
	}
	code, header, body := b.do("GET", at+"/login?to=%2Fledgers%3Fq%3Da", "")
	if code != 200 || !strings.Contains(body, `url=/ledgers?q=a"`) {
		t.Fatalf("login: %d %v %s", code, header, body)
	}
	session := ""
	for _, cookie := range header.Values("Set-Cookie") {
		if !strings.HasPrefix(cookie, "__Host-accountant-session=") {
			continue
		}
		session = cookie
		for _, needed := range []string{"; Path=/", "; HttpOnly", "; Secure", "; SameSite=Strict", "; Max-Age=3600"} {
			if !strings.Contains(cookie, needed) || strings.Contains(cookie, "Domain") {
				t.Errorf("the cookie %s has no %q", cookie, needed)
			}
		}
		if strings.Contains(cookie, "ann") {
			t.Error("the cookie says who it is of")
		}
	}
	if session == "" {
		t.Fatalf("no session in %v", header)
	}
	ann := "oidc:" + s.issuer.URL + "#ann"
	if code, name := b.who(); code != 200 || name != ann {
		t.Fatalf("after: %d %q", code, name)
	}
	create := `{"spec": {"name": "hers", "adjacency": "ADD_OR_REMOVE_ONE"}}`
	for origin, want := range map[string]int{"": 403, "https://evil.example": 403, "http://accountant.test": 403,
		"https://accountant.test:444": 403, at: 200} {
		headers := []string{"Content-Type: application/json"}
		if origin != "" {
			headers = append(headers, "Origin: "+origin)
		}
		if code, _, body := b.do("POST", at+jsonapi.Prefix+"Ledgers/CreateLedger", create, headers...); code != want {
			t.Errorf("a write from %q: %d %s", origin, code, body)
		}
	}
	if code, _, _ := b.do("POST", at+login.LogoutPath, "", "Origin: https://evil.example"); code != 403 {
		t.Errorf("a foreign site logs out: %d", code)
	}
	address, _ := url.Parse(at)
	stolen := b.jar.Cookies(address)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if code, _, body := b.do("POST", at+login.LogoutPath, "", "Origin: "+at); code != 303 {
		t.Errorf("logout: %d %s", code, body)
	}
	if code, _ := b.who(); code != 401 || len(b.jar.Cookies(address)) != 0 {
		t.Errorf("after the logout: %d, %v", code, b.jar.Cookies(address))
	}
	b.jar.SetCookies(address, stolen)
	if code, _ := b.who(); code != 401 {
		t.Errorf("a copy of the cookie after the logout: %d", code)
	}
	b.CheckRedirect = nil
	b.do("GET", at+"/login", "")
	if code, name := b.who(); code != 200 || name != ann {
		t.Fatalf("again: %d %q", code, name)
	}
	s.clock.advance(61 * time.Minute)
	if code, _ := b.who(); code != 401 {
		t.Errorf("after an hour: %d", code)
	}
}

// changed returns a text with another first character.
func changed(s string) string {
	if s[0] == 'A' {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}

// A session, or a part of a login, that is not this browser's own leads nowhere.
func TestForged(t *testing.T) {
	t.Parallel()
	s := start(t, nil, bearertest.New(t))
	s.issuer.Login("ann", nil)
	address, _ := url.Parse(at)
	b := s.browser(t)
	b.do("GET", at+"/login", "")
	good := b.jar.Cookies(address)[0]
	for name, value := range map[string]string{"empty": "", "other": "x", "JSON": "eyJQcmluY2lwYWwiOiJjbjphbm4ifQ",
		"cut": good.Value[:len(good.Value)-1], "changed": changed(good.Value), "of another key": func() string {
			other := start(t, nil, s.issuer)
			c := other.browser(t)
			c.do("GET", at+"/login", "")
			return c.jar.Cookies(address)[0].Value
		}()} {
		forged := s.browser(t)
		forged.jar.SetCookies(address, []*http.Cookie{{Name: good.Name, Value: value, Path: "/", Secure: true}})
		if code, who := forged.who(); code != 401 {
			t.Errorf("%s: %d %q", name, code, who)
		}
	}
	// Twice the same name: a host beside ours may have put in one of them.
	code, _, _ := s.browser(t).do("POST", at+jsonapi.Prefix+"Admin/GetAccess", "{}", "Content-Type: application/json",
		"Origin: "+at, "Cookie: "+good.Name+"="+good.Value+"; "+good.Name+"="+good.Value)
	if code != 401 {
		t.Errorf("two cookies: %d", code)
	}
	// The cookie of a login under way is no session.
	c := s.browser(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	code, header, _ := c.do("GET", at+"/login", "")
	begun := c.jar.Cookies(address)
	if code != 303 || len(begun) != 1 || !strings.Contains(header.Get("Set-Cookie"), "SameSite=Lax") ||
		!strings.Contains(header.Get("Set-Cookie"), "Max-Age=600") {
		t.Fatalf("a login begins with %d, %v", code, header)
	}
	d := s.browser(t)
	d.jar.SetCookies(address, []*http.Cookie{{Name: good.Name, Value: begun[0].Value, Path: "/", Secure: true}})
	if code, who := d.who(); code != 401 {
		t.Errorf("a login under way as a session: %d %q", code, who)
	}
	to, err := url.Parse(header.Get("Location"))
	if err != nil || to.Query().Get("code_challenge_method") != "S256" || to.Query().Get("nonce") == "" {
		t.Fatalf("to the issuer: %s, %v", to, err)
	}
	state := to.Query().Get("state")
	// A foreign site leads a browser to the end of its own login (login CSRF), or says something else.
	for name, q := range map[string]string{"another state": "code=x&state=other", "no state": "code=x",
		"another issuer": "code=x&state=" + state + "&iss=https://evil.example",
		"an error":       "error=<script>alert(1)</script>&error_description=x&state=" + state,
		"a wrong code":   "code=wrong&state=" + state, "no code": "state=" + state} {
		e := s.browser(t)
		e.jar.SetCookies(address, begun)
		code, h, body := e.do("GET", at+"/login/callback?"+q, "")
		if code < 400 || strings.Contains(body, "<script") || strings.Contains(h.Get("Set-Cookie"), "session=") {
			t.Errorf("%s: %d %v %s", name, code, h, body)
		}
		if code, _ := e.who(); code != 401 {
			t.Errorf("%s: logged in", name)
		}
	}
	e := s.browser(t) // of somebody who has begun no login
	if code, _, body := e.do("GET", at+"/login/callback?code=x&state="+state, ""); code != 400 {
		t.Errorf("without a login under way: %d %s", code, body)
	}
	s.clock.advance(11 * time.Minute)
	f := s.browser(t)
	f.jar.SetCookies(address, begun)
	if code, _, body := f.do("GET", at+"/login/callback?code=x&state="+state, ""); code != 400 {
		t.Errorf("too late: %d %s", code, body)
	}
}

// An ID token that is not for this daemon, this login or now begins no session, whoever signed it.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	s := start(t, nil, bearertest.New(t))
	for name, change := range map[string]func(map[string]any){
		"another audience":         func(c map[string]any) { c["aud"] = bearertest.Audience },
		"another issuer":           func(c map[string]any) { c["iss"] = "https://evil.example" },
		"another nonce":            func(c map[string]any) { c["nonce"] = "other" },
		"no nonce":                 func(c map[string]any) { delete(c, "nonce") },
		"expired":                  func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() },
		"no end":                   func(c map[string]any) { delete(c, "exp") },
		"nobody":                   func(c map[string]any) { c["sub"] = "" },
		"another party":            func(c map[string]any) { c["azp"] = "other" },
		"two audiences, no party":  func(c map[string]any) { c["aud"] = []string{bearertest.Client, "other"} },
		"groups that are no texts": func(c map[string]any) { c["groups"] = []int{1} },
		"too many groups for a cookie": func(c map[string]any) {
			c["groups"] = strings.Fields(strings.Repeat("a-group-with-a-long-name ", 500))
		},
	} {
		s.issuer.Login("ann", change)
		b := s.browser(t)
		code, h, body := b.do("GET", at+"/login", "")
		if code != 403 || strings.Contains(strings.Join(h.Values("Set-Cookie"), " "), "session=") {
			t.Errorf("%s: %d %v %s", name, code, h, body)
		}
		if code, who := b.who(); code != 401 {
			t.Errorf("%s: %d %q", name, code, who)
		}
	}
	if strings.Contains(s.log.String(), "eyJ") {
		t.Errorf("a token is in the log: %s", s.log.String())
	}
}

// After a login the browser stays here, whatever the link asked for.
func TestOpenRedirection(t *testing.T) {
	t.Parallel()
	s := start(t, nil, bearertest.New(t))
	s.issuer.Login("ann", nil)
	for _, to := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, `\/evil.example`,
		"javascript:alert(1)", "/\t/evil.example", "evil.example", "/%0d%0aSet-Cookie:x=y",
		`/"><script>alert(1)</script>`,
		"http:/evil.example", "https:evil.example", "/\\/evil.example", "///evil.example"} {
		_, h, body := s.browser(t).do("GET", at+"/login?to="+url.QueryEscape(to), "")
		for _, bad := range []string{"<script", "url=//", "url=http", "javascript", `url=/\`} {
			if strings.Contains(body, bad) {
				t.Errorf("%q: %v %s", to, h, body)
			}
		}
		if !strings.Contains(body, "url=/") {
			t.Errorf("%q: %v %s", to, h, body)
		}
	}
}

// Daemons with one key take each other's sessions; a page sends who has none to the login and back.
func TestFleet(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", 32))
	issuer := bearertest.New(t)
	one, two := start(t, key, issuer), start(t, key, issuer)
	issuer.Login("ann", nil)
	address, _ := url.Parse(at)
	b, c := one.browser(t), two.browser(t)
	if code, _, body := b.do("GET", at+"/ledgers", "", "Accept: text/html"); !strings.Contains(body, "url=/ledgers\"") {
		t.Errorf("a page without a session: %d %s", code, body)
	}
	c.jar.SetCookies(address, b.jar.Cookies(address))
	if code, who := c.who(); code != 200 || who != "oidc:"+issuer.URL+"#ann" {
		t.Errorf("%d %q", code, who)
	}
}

// What cannot be a login's configuration is refused.
func TestConfig(t *testing.T) {
	t.Parallel()
	issuer := bearer.Issuer{URL: "https://issuer.example"}
	for _, c := range []struct{ client, at, issuer, key string }{
		{"", at, issuer.URL, ""}, {"x", "http://accountant.test", issuer.URL, ""}, {"x", at + "/path", issuer.URL, ""},
		{"x", at + "?q", issuer.URL, ""}, {"x", "https://u@accountant.test", issuer.URL, ""},
		{"x", "x", issuer.URL, ""},
		{"x", at, "http://issuer.example", ""}, {"x", at, issuer.URL, "short"},
	} {
		u, err := url.Parse(c.at)
		if err != nil {
			t.Fatal(err)
		}
		config := login.Config{Client: c.client, URL: u, Issuer: bearer.Issuer{URL: c.issuer}}
		if c.key != "" {
			config.Key = []byte(c.key)
		}
		if _, err := login.New(config); err == nil || !strings.Contains(err.Error(), "allowed: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	local, _ := url.Parse("http://localhost:7879")
	if _, err := login.New(login.Config{Client: "x", URL: local, Issuer: issuer}); err != nil {
		t.Error(err)
	}
}
