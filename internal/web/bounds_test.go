// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
)

// Somebody opens connections and sends nothing. Whoever comes then is told why nobody serves them, and the daemon
// still says that it is healthy. Once the connections are closed everything is as before.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	const most = 20
	d := start(t, func(c *server.Config) { c.HTTPConnections = most })
	var opened []net.Conn
	began := time.Now()
	for range most {
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		// A request that has come is a connection that was counted, and the next one's headers never end.
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n")
		if a, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || a.StatusCode != http.StatusOK {
			t.Fatal(a, err)
		}
		opened = append(opened, conn)
	}
	ask := func(path string) (int, string) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r := d.request(t, "ListLedgers", "{}")
		if r.URL.Path = path; path != jsonapi.Prefix+"Ledgers/ListLedgers" {
			r.Method = http.MethodGet
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		body, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(body)
	}
	for _, path := range []string{"/", jsonapi.Prefix + "Ledgers/ListLedgers"} {
		if code, body := ask(path); code != http.StatusServiceUnavailable ||
			!strings.Contains(body, "20 connections already; allowed: at most that (--http-connections)") {
			t.Errorf("%s with too many connections: %d %s", path, code, body)
		}
	}
	// Nor do the places of those who are told so run out: four addresses open connections and send nothing on them.
	for n := range 4 * 9 {
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+n%4))}}
		conn, err := from.DialContext(t.Context(), "tcp", d.HTTPAddr)
		if err != nil {
			t.Skip("this machine has no loopback addresses besides 127.0.0.1:", err)
		}
		defer func() { _ = conn.Close() }()
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		code, body := ask(path)
		open := "accountant_http_connections 20\n"
		if time.Since(began) > 5*time.Second { // on a loaded machine the daemon has given up the first of them
			open = "accountant_http_connections "
		}
		if code != http.StatusOK {
			t.Errorf("%s with too many connections: %d %.300s", path, code, body)
		} else if path == "/metrics" && (!strings.Contains(body, open) ||
			!strings.Contains(body, "accountant_http_connections_limit 20\n") ||
			!strings.Contains(body, "accountant_http_connections_refused_total ")) {
			t.Errorf("the metrics do not say how many connections there are:\n%s", body)
		}
	}
	for _, conn := range opened {
		_ = conn.Close()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		code, body := ask("/")
		if code == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("afterwards: %d %s", code, body)
		}
	}
}

// One caller cannot follow ledgers by any number of streams, as lines or as pages: one too many is refused in words,
// somebody else is heard meanwhile, and a stream that ends makes room.
func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.NewLedger("watched")
	const each = 64
	open := func(who, page string) *http.Response {
		r := d.request(t, "WatchLedger", `{"name":"watched"}`, "Authorization: Bearer "+d.issuer.Token(who, nil))
		if page != "" {
			r.Method, r.URL.Path, r.URL.RawQuery = http.MethodGet, page, "name=watched"
		}
		a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Body.Close() })
		return a
	}
	var opened []*http.Response
	for range each {
		a := open("eve", "")
		if a.StatusCode != http.StatusOK {
			t.Fatal(a.Status)
		}
		opened = append(opened, a)
	}
	for _, page := range []string{"", "/ledger/live"} {
		a := open("eve", page)
		body, _ := io.ReadAll(a.Body)
		if text := string(body); a.StatusCode != http.StatusTooManyRequests ||
			!strings.Contains(text, "ou follow ledgers by 64 streams over HTTP already; allowed: 64 for each caller") ||
			!strings.Contains(text, "close a page or a stream") {
			t.Errorf("%q: one too many: %d %s", page, a.StatusCode, text)
		}
	}
	if a := open("ann", "/ledger/live"); a.StatusCode != http.StatusOK {
		t.Errorf("somebody else: %s", a.Status)
	}
	for _, a := range opened {
		_ = a.Body.Close()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		a := open("eve", "")
		if a.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("afterwards: %s", a.Status)
		}
	}
}
