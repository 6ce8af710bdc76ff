// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// hostile is a client that speaks frames of HTTP/2, and says on seen what it is answered with until the server closes
// the connection.
type hostile struct {
	*http2.Framer
	conn *tls.Conn
	seen chan frames
	pong chan struct{} // closed when a ping was answered
}

// frames is what a hostile client was answered.
type frames struct {
	streams          uint32 // that the server allows at once
	refused, answers int    // streams that were refused, and answered
	gone             bool   // the server said that it wants no more
}

func newHostile(t *testing.T, address string, config *tls.Config) *hostile {
	t.Helper()
	config.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if p := conn.ConnectionState().NegotiatedProtocol; p != "h2" {
		t.Fatalf("the HTTP port speaks %q; the test is of HTTP/2", p)
	}
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute)) // the test's own bound
	h := &hostile{http2.NewFramer(conn, conn), conn, make(chan frames, 1), make(chan struct{})}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := h.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go h.listen()
	return h
}

func (h *hostile) listen() {
	var seen frames
	defer func() { h.seen <- seen }()
	for {
		f, err := h.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if n, ok := f.Value(http2.SettingMaxConcurrentStreams); ok {
				seen.streams = n
			}
		case *http2.RSTStreamFrame:
			seen.refused++
		case *http2.HeadersFrame:
			seen.answers++
		case *http2.PingFrame:
			close(h.pong)
		case *http2.GoAwayFrame:
			seen.gone = true
		}
	}
}

// over returns what was seen when the server has taken all that was sent, which it says by answering a ping, or has
// closed the connection.
func (h *hostile) over() frames {
	if h.WritePing(false, [8]byte{1}) == nil {
		select {
		case <-h.pong:
			_ = h.conn.Close()
		case seen := <-h.seen:
			return seen
		}
	}
	return <-h.seen
}

func headers(method, path string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "127.0.0.1"},
		{":path", path}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return b.Bytes()
}

// A client of HTTP/2 that resets each request at once, opens streams without end, or sends headers that never end, is
// refused after a bounded part of that, and others are answered meanwhile and afterwards.
func TestHostileHTTP2(t *testing.T) {
	t.Parallel()
	authority := servertest.NewAuthority(t)
	files := endpoint.TLSFiles{}
	files.Cert, files.Key = authority.Issue("server", nil)
	d := start(t, func(c *server.Config) { c.TLS = files })
	answered := func() {
		t.Helper()
		client := http.Client{Transport: &http.Transport{TLSClientConfig: authority.Client(""),
			DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet,
			"https://"+d.HTTPAddr+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		if b, _ := io.ReadAll(a.Body); a.StatusCode != http.StatusOK || !strings.Contains(string(b), "serving") {
			t.Errorf("somebody else is answered %d %q", a.StatusCode, b)
		}
	}
	open := func(h *hostile, id uint32, method, path string, whole bool) error {
		return h.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(method, path),
			EndHeaders: true, EndStream: whole})
	}
	t.Run("resets", func(t *testing.T) {
		h := newHostile(t, d.HTTPAddr, authority.Client(""))
		sent := 0
		for ; sent < 5000; sent++ {
			id := uint32(2*sent + 1)
			if open(h, id, "GET", "/healthz", true) != nil || h.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
				break
			}
			if sent == 1000 {
				answered()
			}
		}
		seen := h.over()
		t.Logf("%d resets were taken, %+v", sent, seen)
		answered()
	})
	t.Run("streams", func(t *testing.T) {
		h := newHostile(t, d.HTTPAddr, authority.Client(""))
		const asked = 2000
		sent := 0
		for ; sent < asked && open(h, uint32(2*sent+1), "POST", "/v1/GetLedger", false) == nil; sent++ {
			if sent == 1000 {
				answered()
			}
		}
		answered()
		seen := h.over()
		t.Logf("%d streams were sent, %+v", sent, seen)
		if seen.streams == 0 || seen.streams > 100 {
			t.Errorf("%d streams are allowed at once", seen.streams)
		}
		if !seen.gone && seen.refused+seen.answers < sent-int(seen.streams) {
			t.Errorf("of %d streams %d were refused and %d answered: more than %d are open", sent, seen.refused,
				seen.answers, seen.streams)
		}
	})
	t.Run("headers without an end", func(t *testing.T) {
		h := newHostile(t, d.HTTPAddr, authority.Client(""))
		const most = 64 << 20
		if err := h.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
			BlockFragment: headers("GET", "/healthz")}); err != nil {
			t.Fatal(err)
		}
		var more bytes.Buffer
		e := hpack.NewEncoder(&more)
		for range 100 { // a field that is not kept in the table, so that its bytes are sent each time
			_ = e.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 100), Sensitive: true})
		}
		sent := 0
		for sent < most && h.WriteContinuation(1, false, more.Bytes()) == nil {
			sent += more.Len()
		}
		seen := h.over()
		t.Logf("%d bytes of headers were taken, %+v", sent, seen)
		if sent >= most {
			t.Errorf("%d bytes of headers were taken, and there was no end", sent)
		}
		answered()
	})
}
