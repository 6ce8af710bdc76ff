// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
	"github.com/dpaccountant/accountant/internal/web/jsonapi/conformtest"
)

// A server that stops ends the streams that somebody reads over HTTP, and waits for nobody.
func TestStopWhileWatched(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *server.Config) { c.DrainTimeout = 20 * time.Second })
	d.NewLedger("watched")
	a, err := (&http.Client{Transport: &conformtest.Transport{T: t}}).Do(d.request(t, "WatchLedger", `{"name":"watched"}`))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(a.Body)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.Stop() }()
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	<-stopped
	if !strings.HasPrefix(last, `{"error":{"code":14,"status":"UNAVAILABLE"`) {
		t.Errorf("the stream ended with %q", last)
	}
}

// Those who do not read what they asked for hold up nobody else, though all calls of the HTTP port share one
// connection to the service.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.NewLedger("large")
	lane := d.Stream("large", servertest.Writer())
	for i := range uint64(2000) {
		lane.Charge(i+1, servertest.Gaussian(1.1, 1))
	}
	lane.Acknowledged(2000)
	const body = `{"ledger": "large", "pageSize": 1000}`
	for range 6 {
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(1024)
		for range 5 { // pipelined, and none of them read
			fmt.Fprintf(conn, "POST %sAudit/ListEntries HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", jsonapi.Prefix, d.HTTPAddr, len(body), body)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 {
				if code, _, text := send(t, d.request(t, "ListEntries", body)); code != 200 || len(text) < 1000 {
					t.Errorf("%d %.200s", code, text)
				}
			}
		})
	}
	all.Wait()
}

// Calls that end, well or badly, leave nothing behind. The first ones find a server that has answered and is still
// starting its own goroutines, and open the connection from the HTTP port to the service.
func TestNothingLeft(t *testing.T) {
	d := start(t, nil)
	d.NewLedger("used")
	d.callAll(t, 20)
	before := runtime.NumGoroutine()
	for range 50 { // connections that are being closed count as little as they can
		time.Sleep(20 * time.Millisecond)
		before = min(before, runtime.NumGoroutine())
	}
	d.callAll(t, 200)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		after := runtime.NumGoroutine()
		if after <= before+10 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, after)
		}
	}
}

// callAll makes calls of all kinds.
func (d daemon) callAll(t *testing.T, calls int) {
	t.Helper()
	for i := range calls {
		method, body := "GetLedger", `{"name":"used"}`
		switch i % 4 {
		case 1:
			body = `{"name":`
		case 2:
			method = "Report"
		case 3:
			method = "WatchLedger"
		}
		r := d.request(t, method, body)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_, _ = io.Copy(io.Discard, a.Body)
		}
		_ = a.Body.Close() // a stream is left in its middle
	}
	http.DefaultClient.CloseIdleConnections()
}

// BenchmarkGetLedger compares a call as JSON with the same call by gRPC.
func BenchmarkGetLedger(b *testing.B) {
	s := servertest.StartWith(b, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Dashboard: true}})
	s.NewLedger("asked")
	b.Run("JSON", func(b *testing.B) {
		for b.Loop() {
			a, err := http.Post("http://"+s.HTTPAddr+jsonapi.Prefix+"Ledgers/GetLedger", "application/json",
				strings.NewReader(`{"name":"asked"}`))
			if err != nil || a.StatusCode != 200 {
				b.Fatal(a, err)
			}
			_, _ = io.Copy(io.Discard, a.Body)
			_ = a.Body.Close()
		}
	})
	b.Run("gRPC", func(b *testing.B) {
		for b.Loop() {
			s.Position("asked")
		}
	})
}
