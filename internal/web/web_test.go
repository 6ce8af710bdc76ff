// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/jsonapi/conformtest"
)

// daemon is a server with a dashboard on loopback that takes tokens.
type daemon struct {
	*servertest.Server
	issuer *bearertest.Issuer
}

func start(t *testing.T, change func(*server.Config)) daemon {
	t.Helper()
	issuer := bearertest.New(t)
	config := server.Config{HTTP: "127.0.0.1:0", Dashboard: true, Issuers: []bearer.Issuer{{URL: issuer.URL,
		Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}}}
	if change != nil {
		change(&config)
	}
	return daemon{servertest.StartWith(t, servertest.Config{Server: config}), issuer}
}

// ruled gives a daemon an access policy with these lines. ISSUER in them is the issuer of its tokens.
func ruled(t *testing.T, lines ...string) func(*server.Config) {
	return func(c *server.Config) {
		t.Helper()
		policy := "version: 1\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "ISSUER", c.Issuers[0].URL) + "\n"
		c.AccessPolicy = filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(c.AccessPolicy, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// seen lets a viewer and an auditor see the ledgers below seen/, and every program write.
var seen = []string{"grants:",
	"  - {roles: [manager, reporter], to: ['unverified:**'], on: [everything]}",
	"  - {roles: [viewer], to: ['oidc:ISSUER#viewer'], on: ['prefix:seen/']}",
	"  - {roles: [auditor], to: ['oidc:ISSUER#auditor'], on: ['prefix:seen/']}"}

// request is a call of a method with headers of the form "Name: value".
func (d daemon) request(t *testing.T, method, body string, headers ...string) *http.Request {
	t.Helper()
	path := jsonapi.Prefix + method
	if m := api.Method(method); m != nil {
		path = api.Path(m)
	}
	url := "http://" + d.HTTPAddr + path
	r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	return r
}

// send returns an answer's status, headers and body.
func send(t *testing.T, r *http.Request) (int, http.Header, string) {
	t.Helper()
	client := http.Client{Transport: &conformtest.Transport{T: t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(b)
}

const create = `{"spec": {"name": "attacked", "adjacency": "ADD_OR_REMOVE_ONE"}}`

// A write with what a foreign web site can have a browser send is refused, and nothing is written; the
// daemon's own pages, and programs, are heard.
func TestForeignSites(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	own, token := "Origin: http://"+d.HTTPAddr, "Authorization: Bearer "+d.issuer.Token("ann", nil)
	_, port, _ := net.SplitHostPort(d.HTTPAddr)
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"a foreign origin":           {[]string{"Origin: https://evil.example"}, 403},
		"an origin of a sandbox":     {[]string{"Origin: null"}, 403},
		"our name, another port":     {[]string{"Origin: http://127.0.0.1:1"}, 403},
		"our name, another scheme":   {[]string{"Origin: https://" + d.HTTPAddr}, 403},
		"our name inside of another": {[]string{"Origin: http://" + d.HTTPAddr + ".evil.example"}, 403},
		"our name before an @":       {[]string{"Origin: http://" + d.HTTPAddr + "@evil.example"}, 403},
		"our origin with a path":     {[]string{own + "/"}, 403},
		"cross-site":                 {[]string{"Sec-Fetch-Site: cross-site"}, 403},
		"same-site":                  {[]string{"Sec-Fetch-Site: same-site"}, 403},
		"typed by the user":          {[]string{"Sec-Fetch-Site: none"}, 403},
		"our origin, cross-site":     {[]string{own, "Sec-Fetch-Site: cross-site"}, 403},
		"a cookie and no origin":     {[]string{"Cookie: accountant=x"}, 403},
		"a form":                     {[]string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		"a form with a file":         {[]string{"Content-Type: multipart/form-data; boundary=x"}, 415},
		"plain text":                 {[]string{"Content-Type: text/plain"}, 415},
		"no type":                    {[]string{"Content-Type: "}, 415},
		"two types":                  {[]string{"Content-Type: text/plain, application/json"}, 415},
		"another encoding":           {[]string{"Content-Type: application/json; charset=utf-16"}, 415},
		"compressed":                 {[]string{"Content-Encoding: gzip"}, 415},
		"an override of the method": {[]string{"X-HTTP-Method-Override: GET",
			"Content-Type: application/x-www-form-urlencoded"}, 415},
		"a name that is led here": {[]string{"Host: rebound.evil.example:" + port}, 421},
		"a name that is led here, with our origin by it": {[]string{"Host: rebound.evil.example:" + port,
			"Origin: http://rebound.evil.example:" + port, "Sec-Fetch-Site: same-origin"}, 421},
		"a name that ends as ours":   {[]string{"Host: evil.localhost:" + port}, 421},
		"a name that begins as ours": {[]string{"Host: localhost.evil.example:" + port}, 421},
		"our address with a dot":     {[]string{"Host: 127.0.0.1.:" + port}, 421},
		"another address":            {[]string{"Host: 192.0.2.1:" + port}, 421},
		"every address":              {[]string{"Host: 0.0.0.0:" + port}, 421},
	} {
		status, header, body := send(t, d.request(t, "CreateLedger", create, append(c.headers, token)...))
		if status != c.want || !strings.HasPrefix(body, `{"error":`) || !strings.Contains(body, "allowed: ") {
			t.Errorf("%s: %d %s; want %d", name, status, body, c.want)
		}
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s", name, header)
			}
		}
	}
	if code, _, body := send(t, d.request(t, "GetLedger", `{"name":"attacked"}`)); code != 404 {
		t.Errorf("a ledger was written: %d %s", code, body)
	}
	for name, headers := range map[string][]string{
		"a program":            {},
		"our page":             {own, "Sec-Fetch-Site: same-origin"},
		"our page, cookies":    {own, "Cookie: accountant=x"},
		"our page, by a name":  {"Host: localhost:" + port, "Origin: http://localhost:" + port},
		"a forwarded port":     {"Host: [::1]:9000", "Origin: http://[::1]:9000"},
		"an encoding of JSON":  {"Content-Type: application/json; charset=UTF-8"},
		"in capitals":          {"Content-Type: Application/JSON", "Host: LOCALHOST:" + port},
		"an old browser's way": {"Sec-Fetch-Site: same-origin", "Cookie: accountant=x"},
	} {
		if code, _, body := send(t, d.request(t, "CreateLedger", create, append(headers, token)...)); code != 200 {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// No answer allows another site to read it, not even one to the question whether it may (a preflight).
func TestNoCORS(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, path := range []string{"/", jsonapi.Prefix + "Ledgers/ListLedgers", jsonapi.DocumentPath, "/nowhere"} {
		for _, method := range strings.Fields("OPTIONS GET HEAD POST PUT DELETE PATCH TRACE CONNECT get") {
			r := d.request(t, "", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: content-type")
			r.Method, r.URL.Path = method, path
			code, header, _ := send(t, r)
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: %s", method, path, header)
				}
			}
			if code < 300 && method != "GET" && method != "HEAD" {
				t.Errorf("%s %s of a foreign site: %d", method, path, code)
			}
		}
	}
}

// Every answer tells browsers to run no foreign script, to show it in no frame and to keep it nowhere, and
// has no cookie.
func TestHeaders(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, path := range []string{"/", jsonapi.Prefix + "Ledgers/ListLedgers", jsonapi.DocumentPath, "/nowhere",
		"/%2e%2e/etc/passwd"} {
		for _, host := range []string{d.HTTPAddr, "evil.example"} {
			r := d.request(t, "", "", "Host: "+host)
			r.Method, r.URL.Path = http.MethodGet, path
			_, h, body := send(t, r)
			csp := h.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
				strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") ||
				h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") == "" ||
				h.Get("Set-Cookie") != "" {
				t.Errorf("%s of %s: %v", path, host, h)
			}
			if strings.Contains(body, "root:") {
				t.Errorf("%s: %s", path, body)
			}
		}
	}
}

// A path leads to a method or nowhere, however it is written.
func TestPaths(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, path := range []string{jsonapi.Prefix, jsonapi.Prefix + "Ledgers/listledgers", jsonapi.Prefix +
		"Ledgers/ListLedgers/",
		jsonapi.Prefix + "../accountant.v1.Ledgers/ListLedgers", jsonapi.Prefix + "Ledgers/%2e%2e/ListLedgers",
		jsonapi.Prefix + "Charges/ListLedgers",
		"//accountant.v1.Ledgers/ListLedgers", jsonapi.Prefix + "Ledgers/ListLedgers%00",
		jsonapi.Prefix + "Ledgers/ListLedgers:x",
		"/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/debug/pprof/",
		jsonapi.Prefix + "Ledgers/ListLedgers;x=y", jsonapi.Prefix + strings.Repeat("A", 4000)} {
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\n"+
			"Content-Length: 2\r\n\r\n{}", path, d.HTTPAddr)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode < 300 {
			t.Errorf("%.80s: %v, %v", path, answer, err)
		}
		_ = conn.Close()
	}
}

// Raw requests that a proxy and the daemon could read differently (request smuggling) end with an error, and
// what follows on the connection is no request.
func TestAmbiguousRequests(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	host := "Host: " + d.HTTPAddr + "\r\n"
	for name, text := range map[string]string{
		"a length and chunks, of which the chunks count": "POST / HTTP/1.1\r\n" + host + "Content-Length: 6\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
		"two lengths":          "POST / HTTP/1.1\r\n" + host + "Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello",
		"a length with a sign": "POST / HTTP/1.1\r\n" + host + "Content-Length: +5\r\n\r\nhello",
		"another encoding":     "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"an encoding twice": "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n" +
			"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"a space before the colon":      "POST / HTTP/1.1\r\n" + host + "Content-Length : 5\r\n\r\nhello",
		"two hosts":                     "GET / HTTP/1.1\r\n" + host + "Host: evil.example\r\n\r\n",
		"no host":                       "GET / HTTP/1.1\r\n\r\n",
		"an empty host":                 "GET / HTTP/1.1\r\nHost: \r\n\r\n",
		"a foreign address in the line": "GET http://evil.example/ HTTP/1.1\r\n" + host + "\r\n",
		"a bare return":                 "GET / HTTP/1.1\r\n" + host + "X: a\rY: b\r\n\r\n",
		"a null":                        "GET / HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
		if _, err := io.WriteString(conn, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode < 400 || answer.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		_ = conn.Close()
	}
}

// A header that goes on in the next line, or that ends with a bare newline, is read as RFC 9112 §2.2 and §5.2
// allow; nothing of what it says becomes a header of the answer.
func TestHeaderInjection(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, injected := range []string{"X-Request-Id: a\r\n Set-Cookie: b=c", "X-Request-Id: a\nSet-Cookie: b=c",
		"X-Request-Id: a%0d%0aSet-Cookie: b=c", "Accountant-Principal: a\r\n\tSet-Cookie: b=c"} {
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %sLedgers/GetLedger HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s\r\n"+
			"Content-Length: 2\r\n\r\n{}", jsonapi.Prefix, d.HTTPAddr, injected)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != 400 || len(answer.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%q: %v, %v", injected, answer, err)
		}
		_ = conn.Close()
	}
}

// Headers and bodies are bounded, and what comes too slowly is not waited for.
func TestBounds(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for name, c := range map[string]struct {
		body    string
		headers []string
		want    int
	}{
		"large headers":             {"{}", []string{"X: " + strings.Repeat("x", 64<<10)}, 431},
		"a large token":             {"{}", []string{"Authorization: Bearer " + strings.Repeat("x", 10<<10)}, 400},
		"a large identifier":        {"{}", []string{"X-Request-Id: " + strings.Repeat("x", 10<<10)}, 400},
		"a name with other letters": {"{}", []string{"Accountant-Principal: gr\xc3\xb6\xc3\x9fe"}, 400},
		"a large body":              {`{"prefix":"` + strings.Repeat("x", 5<<20) + `"}`, nil, 413},
		"deep JSON":                 {`{"prefix":` + strings.Repeat("[", 1<<20), nil, 400},
		"deep messages":             {strings.Repeat(`{"spec":`, 1000) + "{}" + strings.Repeat("}", 1000), nil, 400},
		"an empty body":             {"", nil, 400},
		"no JSON":                   {"name=x", nil, 400},
		"two messages":              {"{} {}", nil, 400},
		"a field twice":             {`{"prefix":"a","prefix":"b"}`, nil, 400},
		"a wrong type":              {`{"pageSize":"many"}`, nil, 400},
	} {
		code, _, body := send(t, d.request(t, "ListLedgers", c.body, c.headers...))
		if code != c.want || c.want != 431 && !strings.Contains(body, `"message":`) || len(body) > 4096 {
			t.Errorf("%s: %d %.300s", name, code, body)
		}
	}
	if testing.Short() {
		return
	}
	for name, text := range map[string]string{"headers": "POST / HTTP/1.1\r\nHost: x\r\n",
		"a body": "POST " + jsonapi.Prefix + "Ledgers/ListLedgers HTTP/1.1\r\nHost: " + d.HTTPAddr +
			"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"} {
		t.Run("slow "+name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", d.HTTPAddr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("the daemon waits: %v", err)
			}
		})
	}
}

// A call whose caller has gone is given up, also the stream that would never end.
func TestCancelled(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.NewLedger("watched")
	ctx, cancel := context.WithCancel(servertest.Context(t))
	defer cancel()
	a, err := (&http.Client{Transport: &conformtest.Transport{T: t}}).Do(d.request(t, "WatchLedger", `{"name":"watched"}`).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(a.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"result":{"`) ||
		a.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	d.Report("watched", servertest.Writer(), 1, servertest.Gaussian(1, 1))
	if !lines.Scan() || !strings.Contains(lines.Text(), `"position":1`) {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	if n := d.inFlight(t); n != 1 {
		t.Errorf("%d streams while one is read", n)
	}
	cancel()
	for deadline := time.Now().Add(2 * time.Minute); d.inFlight(t) != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the stream goes on without a reader")
		}
	}
	code, _, body := send(t, d.request(t, "ListLedgers", "{}", "Grpc-Timeout: 1n"))
	if code != 504 || !strings.Contains(body, "DEADLINE_EXCEEDED") {
		t.Errorf("a call with no time: %d %s", code, body)
	}
}

// inFlight returns how many streams of WatchLedger are open.
func (d daemon) inFlight(t *testing.T) (n int) {
	t.Helper()
	r := d.request(t, "", "")
	r.Method, r.URL.Path = http.MethodGet, "/metrics"
	_, _, text := send(t, r)
	started, handled := 0, 0
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"WatchLedger"`) {
			continue
		}
		var v int
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &v); err != nil {
			continue
		}
		if strings.HasPrefix(line, "grpc_server_started_total") {
			started += v
		} else if strings.HasPrefix(line, "grpc_server_handled_total") {
			handled += v
		}
	}
	return started - handled
}

// Where other machines reach the port, pages and JSON need TLS and a proven identity. Without them only
// metrics and health answer.
func TestOtherMachines(t *testing.T) {
	t.Parallel()
	authority := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = authority.Issue("server", nil)
	authority.Issue("ann", nil)
	withCA := files
	withCA.ClientCA = authority.File
	for name, c := range map[string]struct {
		change   func(*server.Config)
		bare     int // without proof
		proven   int // with a token, or a certificate
		metrics  int
		withCert bool
	}{
		"plain text":              {func(c *server.Config) { c.Insecure = true }, 404, 404, 200, false},
		"TLS without an identity": {func(c *server.Config) { c.TLS, c.Issuers = files, nil }, 404, 404, 200, false},
		"TLS and tokens":          {func(c *server.Config) { c.TLS = files }, 401, 200, 200, false},
		"mutual TLS":              {func(c *server.Config) { c.TLS, c.Issuers = withCA, nil }, 401, 200, 403, true},
		"mutual TLS, or tokens":   {func(c *server.Config) { c.TLS = withCA }, 401, 200, 403, false},
		"without a dashboard":     {func(c *server.Config) { c.TLS, c.Dashboard = files, false }, 404, 404, 200, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, func(config *server.Config) { config.HTTP = "0.0.0.0:0"; c.change(config) })
			_, port, _ := net.SplitHostPort(d.HTTPAddr)
			scheme, plain := "http://", &http.Client{}
			if d.TLS() {
				scheme, plain.Transport = "https://", &http.Transport{TLSClientConfig: authority.Client("")}
			}
			proven, token := plain, ""
			if c.withCert {
				proven = &http.Client{Transport: &http.Transport{TLSClientConfig: authority.Client("ann")}}
			} else {
				token = "Bearer " + d.issuer.Token("ann", nil)
			}
			ask := func(client *http.Client, method, path, token, host string) int {
				r, _ := http.NewRequestWithContext(servertest.Context(t), method, scheme+"127.0.0.1:"+port+path,
					strings.NewReader("{}"))
				r.Header.Set("Content-Type", "application/json")
				if token != "" {
					r.Header.Set("Authorization", token)
				}
				if host != "" {
					r.Host = host
				}
				a, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = a.Body.Close()
				return a.StatusCode
			}
			list := jsonapi.Prefix + "Ledgers/ListLedgers"
			for _, s := range []struct {
				what      string
				got, want int
			}{
				{"JSON", ask(plain, "POST", list, "", ""), c.bare},
				{"the document", ask(plain, "GET", jsonapi.DocumentPath, "", ""), c.bare},
				{"a page", ask(plain, "GET", "/", "", ""), c.bare},
				{"JSON, proven", ask(proven, "POST", list, token, ""), c.proven},
				{"metrics", ask(plain, "GET", "/metrics", "", ""), c.metrics},
				{"health", ask(plain, "GET", "/healthz", "", ""), 200},
				{"metrics by another name", ask(plain, "GET", "/metrics", "", "other.example"), c.metrics},
			} {
				if s.got != s.want {
					t.Errorf("%s: %d; want %d", s.what, s.got, s.want)
				}
			}
			if c.proven == 200 {
				if got := ask(proven, "POST", list, token, "rebound.example"); got != 421 {
					t.Errorf("by a name that the certificate does not have: %d", got)
				}
				for _, path := range []string{"/", jsonapi.DocumentPath, "/nowhere"} {
					for _, bad := range []string{"Bearer x.y.z", "Basic eA==", "x"} {
						if got := ask(plain, "GET", path, bad, ""); got != 401 {
							t.Errorf("%s with %s: %d", path, bad, got)
						}
					}
				}
				if got := ask(proven, "POST", list, "Bearer x.y.z", ""); d.issuer != nil && !c.withCert && got != 401 {
					t.Errorf("with a token that is none: %d", got)
				}
			}
		})
	}
}

// On loopback, too, whoever comes by a proxy on the same machine has to prove who they are: they may be
// anybody.
func TestProxyOnLoopback(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	token := "Authorization: Bearer " + d.issuer.Token("ann", nil)
	for _, header := range []string{"X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "Via: 1.1 proxy",
		"X-Real-Ip: 192.0.2.1", "X-Forwarded-Host: accountant.example.org", "X-Forwarded-Server: proxy",
		"X-Forwarded-Prefix: /accountant", "True-Client-Ip: 192.0.2.1", "Cf-Connecting-Ip: 192.0.2.1",
		"X-Client-Ip: 192.0.2.1", "X-Cluster-Client-Ip: 192.0.2.1", "X-Envoy-External-Address: 192.0.2.1",
		"X-Original-Forwarded-For: 192.0.2.1"} {
		if code, _, body := send(t, d.request(t, "ListLedgers", "{}", header)); code != 401 {
			t.Errorf("%s: %d %s", header, code, body)
		}
		if code, _, body := send(t, d.request(t, "ListLedgers", "{}", header, token)); code != 200 {
			t.Errorf("%s, with a token: %d %s", header, code, body)
		}
	}
}

// What names come in is said back as text: nothing of it becomes a header, a line of the log or HTML.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, name := range []string{`<script>alert(1)</script>`, `</title>`, "a\\u001b[31mb", "a\\u202eb",
		"a\\r\\nSet-Cookie: x=y",
		"a\\u0000b", strings.Repeat("x", 10<<10)} {
		code, h, body := send(t, d.request(t, "GetLedger", `{"name":"`+name+`"}`))
		if code != 400 || h.Get("Content-Type") != "application/json" || strings.Contains(body, "<") ||
			strings.ContainsAny(body, "\x1b\u202e\r\x00") || len(body) > 2048 || h.Get("Set-Cookie") != "" {
			t.Errorf("%.40q: %d %v %.300q", name, code, h, body)
		}
	}
}

// What only the daemon's own socket takes, it does not take over HTTP, whoever asks.
func TestOwnSocket(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	token := "Authorization: Bearer " + d.issuer.Token("ann", nil)
	for _, method := range strings.Fields("Expire Free Refund Raise Reconcile Propose Approve Withdraw CreateDataset " +
		"AmendDataset Backup") {
		for _, headers := range [][]string{{token}, {"Accountant-Principal: root"}, {}} {
			code, _, body := send(t, d.request(t, method, "{}", headers...))
			if code != 403 || !strings.Contains(body, "socket") {
				t.Errorf("%s with %v: %d %s", method, headers, code, body)
			}
		}
	}
}

// Another site may link to the daemon's pages, and do nothing else with them.
func TestForeignReads(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, c := range []struct {
		site, mode, dest string
		want             bool
	}{
		{"cross-site", "no-cors", "image", false}, {"cross-site", "no-cors", "script", false},
		{"same-site", "cors", "empty", false}, {"cross-site", "navigate", "iframe", false},
		{"cross-site", "", "", false}, {"cross-site", "navigate", "document", true},
		{"none", "navigate", "document", true},
		{"same-origin", "cors", "empty", true},
	} {
		r := d.request(t, "", "", "Sec-Fetch-Site: "+c.site, "Sec-Fetch-Mode: "+c.mode, "Sec-Fetch-Dest: "+c.dest)
		r.Method, r.URL.Path = http.MethodGet, jsonapi.DocumentPath
		if code, _, body := send(t, r); (code == 200) != c.want {
			t.Errorf("%+v: %d %.100s", c, code, body)
		}
	}
}
