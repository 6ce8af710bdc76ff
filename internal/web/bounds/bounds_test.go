// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// callers is a listener to which connections come from given addresses.
type callers struct {
	net.Listener
	from []string
	came []*fake
}

// open are those that came from an address, or from any if it is empty, and that nobody has closed.
func (c *callers) open(at string) (n int) {
	for _, f := range c.came {
		if !f.closed && (at == "" || f.at == at) {
			n++
		}
	}
	return n
}

func (c *callers) Accept() (net.Conn, error) {
	if len(c.from) == 0 {
		return nil, net.ErrClosed
	}
	at := c.from[0]
	c.from = c.from[1:]
	f := &fake{at: at}
	c.came = append(c.came, f)
	return f, nil
}

type fake struct {
	net.Conn
	at     string
	closed bool
}

func (f *fake) RemoteAddr() net.Addr { return address(f.at) }

func (f *fake) Close() error {
	f.closed = true
	return nil
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// accept takes connections from addresses, and returns those that are served and those that are told why they are
// not. All others were closed.
func accept(l *bounds.Listener, from *callers, addresses ...string) (served, told []net.Conn) {
	from.from = addresses
	for {
		c, err := l.Accept()
		if err != nil {
			return served, told
		}
		if bounds.Of(bounds.Context(context.Background(), c)) == nil {
			served = append(served, c)
		} else {
			told = append(told, c)
		}
	}
}

// many are n connections from addresses of a form, each from another one where the form has a place for a number.
func many(n int, form string) (list []string) {
	for i := range n {
		a := form
		if strings.Contains(form, "%") {
			a = fmt.Sprintf(form, i+1)
		}
		list = append(list, a)
	}
	return list
}

// Nobody can take all connections from one address, nor from all addresses of one IPv6 network; all together take at
// most as many as there are; and what is closed can be taken again.
func TestListener(t *testing.T) {
	t.Parallel()
	const most = 100
	for name, c := range map[string]struct {
		attack []string
		served int
		other  bool // whether somebody else is served beside it
	}{
		"one address":            {many(1000, "192.0.2.1:1000"), most / 2, true},
		"an IPv6 network":        {many(1000, "[2001:db8::%x]:1000"), most / 2, true},
		"one IPv4 in IPv6":       {many(1000, "[::ffff:192.0.2.1]:1000"), most / 2, true},
		"many addresses":         {many(200, "192.0.2.%d:1000"), most, false},
		"many IPv6 networks":     {many(1000, "[2001:db8:0:%x::1]:1000"), most, false},
		"a proxy that runs here": {many(1000, "127.0.0.1:1000"), most, false},
		"a proxy here, by IPv6":  {many(1000, "[::1]:1000"), most, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := &callers{}
			l := bounds.Listen(from, most, slog.New(slog.DiscardHandler))
			served, told := accept(l, from, c.attack...)
			few := from.open("") - len(served)
			if len(served) != c.served || few == 0 || few > 32 || l.Open() != len(served) ||
				l.Refused() != uint64(len(told)) {
				t.Errorf("%d are served and %d wait to be told why not; want %d and a few; it counts %d and %d refused",
					len(served), few, c.served, l.Open(), l.Refused())
			}
			if other, _ := accept(l, from, "198.51.100.7:1"); len(other) == 1 != c.other {
				t.Errorf("somebody else: %d", len(other))
			}
			for _, gone := range append(served, told...) {
				_ = gone.Close()
				_ = gone.Close() // as net/http sometimes does
			}
			again, _ := accept(l, from, c.attack...)
			if len(again) != c.served {
				t.Errorf("afterwards %d are served, want %d", len(again), c.served)
			}
		})
	}
}

// While a few addresses hold all connections, and all that are answered once besides, somebody else is still heard,
// and stays until they have been answered: whoever opens more takes the place of their own.
func TestSpareConnectionsAreShared(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string][]string{
		"four addresses":   slices.Repeat(many(4, "192.0.2.%d:1"), 10),
		"one address":      many(100, "192.0.2.1:1"),
		"thirty addresses": slices.Concat(many(30, "192.0.2.%d:1"), many(30, "192.0.2.%d:1")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := &callers{}
			l := bounds.Listen(from, 10, slog.New(slog.DiscardHandler))
			accept(l, from, many(10, "198.51.100.%d:1")...) // it is full
			accept(l, from, attack...)
			const prober = "203.0.113.9:1"
			if _, told := accept(l, from, prober); len(told) != 1 || from.open(prober) != 1 {
				t.Fatalf("somebody else is not heard: %d", len(told))
			}
			accept(l, from, attack...)
			if from.open(prober) != 1 {
				t.Error("the place of somebody else is taken before they were answered")
			}
			if n := from.open(""); n > 10+32 {
				t.Errorf("%d connections are open", n)
			}
			own := many(20, "192.0.2.1:1") // the prober's own address may be the attacker's, behind one router
			accept(l, from, own...)
			if from.open("192.0.2.1:1") > 8 || from.open("192.0.2.1:1") == 0 {
				t.Errorf("%d of one address wait", from.open("192.0.2.1:1"))
			}
		})
	}
}

// A flood of lines becomes a few, which say how many were left out.
func TestSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := bounds.Seldom(slog.New(slog.NewTextHandler(&out, nil))).With("a", 1).WithGroup("g")
		for range 5 {
			for i := range 10_000 {
				l.Warn("a login has failed", "n", i)
			}
			time.Sleep(time.Minute)
		}
		l.Warn("the last one")
		lines := strings.Count(out.String(), "\n")
		if lines > 15 || lines < 12 || !strings.Contains(out.String(), "g.omitted=9999") {
			t.Errorf("%d lines:\n%s", lines, out.String())
		}
	})
}
