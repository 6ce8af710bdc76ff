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

	"github.com/dpaccountant/accountant/internal/web/jsonapi"
)

// A body that cannot be read is refused with the true reason: one that was cut or is not in chunks as it says did not
// come late. Of one that is too large by its own account not a byte is asked for.
func TestBodiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	begin := "POST " + jsonapi.Prefix + "Ledgers/ListLedgers HTTP/1.1\r\nHost: " + d.HTTPAddr +
		"\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		text, want string
		status     int
	}{
		"cut":        {"Content-Length: 100\r\n\r\n{", "body: it ended too early", 400},
		"cut chunks": {"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"pre", "body: it ended too early", 400},
		"no chunks":  {"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", "body: it cannot be read", 400},
		"too large, and waiting to be asked for it": {"Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n",
			"body: more than 4194304 bytes", 413},
	} {
		conn, err := net.Dial("tcp", d.HTTPAddr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
		if _, err := io.WriteString(conn, begin+c.text); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %d %s", name, answer.StatusCode, body)
		}
		_ = conn.Close()
	}
}

// A Grpc-Timeout is refused where it is not of gRPC's form, with what is allowed, and 0 is no time at all.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for value, want := range map[string]int{"5S": 200, "200000m": 200, "99999999H": 200, "00000001H": 200, "0S": 504,
		"1n": 504, "x": 400, "-1S": 400, "1S2S": 400, "5": 400, "S": 400, "5s": 400, "999999999H": 400, "1.5S": 400,
		"+5S": 400} {
		code, _, body := send(t, d.request(t, "ListLedgers", "{}", "Grpc-Timeout: "+value))
		named := strings.Contains(body, `Grpc-Timeout: \"`+value+`\"; allowed: `)
		if code != want || named != (want == 400) {
			t.Errorf("%s: %d %s", value, code, body)
		}
	}
	r := d.request(t, "ListLedgers", "{}")
	r.Header["Grpc-Timeout"] = []string{"5S", "1H"}
	if code, _, body := send(t, r); code != 400 {
		t.Errorf("twice: %d %s", code, body)
	}
}
