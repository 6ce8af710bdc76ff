// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// get returns a page.
func get(t *testing.T, s *servertest.Server, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet, "http://"+s.HTTPAddr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := send(t, r)
	if code != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, code, body)
	}
	return body
}

// The page of a ledger whose entries are read for the first time is there at once, says how far the reading is, loads
// itself again where there is no JavaScript, and completes itself by events. That holds of a closed ledger, too.
func TestPageWhileALedgerIsRead(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("closed %v", closed), func(t *testing.T) {
			t.Parallel()
			pageWhileRead(t, closed)
		})
	}
}

func pageWhileRead(t *testing.T, closed bool) {
	store := servertest.NewGated()
	defer store.Open()
	s := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{HTTP: "127.0.0.1:0",
		Dashboard: true, Socket: filepath.Join(t.TempDir(), "s")}})
	s.Create(servertest.Filter("long", servertest.Basic(1e4)))
	for range 30 {
		s.Report("long", servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1)}})
	}
	if closed {
		if _, err := s.Owner(t).CloseLedger(servertest.Context(t), &pb.CloseLedgerRequest{
			Lane: &pb.Lane{Ledger: "long", Writer: servertest.Writer(), Sequence: 1}, Close: &pb.Close{},
		}); err != nil {
			t.Fatal(err)
		}
	}
	store.Shut(1, 10)
	const refresh, numbers, groups = `http-equiv="refresh"`, "ε guaranteed", "ε as if alone"
	page := get(t, s, "/ledger?"+url.Values{"name": {"long"}, "by": {"month"}}.Encode())
	if strings.Count(page, "are read. The numbers") != 2 || !strings.Contains(page, refresh) ||
		strings.Contains(page, numbers) || strings.Contains(page, groups) {
		t.Errorf("want how far the reading is, twice, and no numbers:\n%s", page)
	}
	_, live, _ := strings.Cut(page, `data-live="`)
	live, _, _ = strings.Cut(live, `"`)
	r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet,
		"http://"+s.HTTPAddr+strings.ReplaceAll(live, "&amp;", "&"), nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Body.Close() }()
	var seen, event string
	var sawReading, sawNumbers, sawGroups bool
	for lines := bufio.NewScanner(events.Body); lines.Scan() && !(sawNumbers && sawGroups); {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		}
		seen += line + "\n"
		switch {
		case strings.Contains(line, "are read") && !sawReading:
			sawReading = true
			store.Open()
		case event == "now" && strings.Contains(line, numbers):
			sawNumbers = true
		case event == "who" && strings.Contains(line, groups):
			sawGroups = true
		}
	}
	if !sawReading || !sawNumbers || !sawGroups {
		t.Errorf("events: reading %v, numbers %v, groups %v\n%s", sawReading, sawNumbers, sawGroups, seen)
	}
	page = get(t, s, "/ledger?name=long")
	if strings.Contains(page, refresh) || !strings.Contains(page, numbers) || !strings.Contains(page, groups) {
		t.Errorf("want a page that is whole:\n%s", page)
	}
}
