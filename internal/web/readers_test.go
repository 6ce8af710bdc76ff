// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
)

// Whoever finds no room for an answer over HTTP, as others do not read theirs, is told when to come back, by the API as
// JSON and by pages, and is answered when those are gone.
func TestAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.NewLedger("large")
	lane := d.Stream("large", servertest.Writer())
	for i := range uint64(2000) {
		lane.Charge(i+1, servertest.Gaussian(1.1, 1))
	}
	lane.Acknowledged(2000)
	const body = `{"ledger": "large", "pageSize": 1000}`
	var unread []net.Conn
	var refused *http.Response
	for refused == nil && len(unread) < 100 { // 32 MiB are for all who prove nothing, and a page takes 1 MiB at least
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		unread = append(unread, conn)
		_ = conn.(*net.TCPConn).SetReadBuffer(1024)
		for range 20 { // one after the other, until the kernel's buffers are full
			fmt.Fprintf(conn, "POST %sAudit/ListEntries HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", jsonapi.Prefix, d.HTTPAddr, len(body), body)
		}
		if code, header, _ := send(t, d.request(t, "ListEntries", body)); code == http.StatusTooManyRequests {
			refused = &http.Response{StatusCode: code, Header: header}
		}
	}
	if refused == nil || refused.Header.Get("Retry-After") != "1" {
		t.Fatalf("%+v; want 429 and Retry-After: 1", refused)
	}
	for _, conn := range unread {
		_ = conn.Close()
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		code, _, text := send(t, d.request(t, "ListEntries", body))
		if code == http.StatusOK {
			return
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatal(code, text)
		}
	}
}
