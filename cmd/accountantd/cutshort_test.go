// SPDX-License-Identifier: Apache-2.0

package main

import (
	order "encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// The file is cut short under a running daemon: everything is refused at once and with
// the same words, health turns red, also while nobody asks, and the daemon can be stopped.
func TestFileCutShort(t *testing.T) {
	if os.Getpagesize() != rootPageSize {
		t.Skip("pages of another size")
	}
	const says = "the file was cut short while the daemon uses it"
	for name, c := range map[string]struct {
		size int64
		idle bool
	}{
		"to nothing":                  {size: 0},
		"to nothing, nobody asks":     {size: 0, idle: true},
		"to one root page":            {size: 4096},
		"to the root pages":           {size: 8192},
		"to some pages, nobody asks":  {size: 16384, idle: true},
		"within a root page":          {size: 100},
		"to half of the second page":  {size: 6000},
		"to the last page but a byte": {size: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			d := start(t, dir, "--scrub-interval", "0", "--grace-period", "10s")
			api := dial(t, d.ready["listen"])
			create(t, api, "a")
			report := func(writer string) error {
				_, err := api.Report(patiently(t),
					&pb.ReportRequest{Lane: &pb.Lane{Ledger: "a", Writer: writer, Sequence: 1}, Charge: charge()})
				return err
			}
			if err := report("request/one"); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, persist.FileName)
			size := c.size
			if size < 0 {
				size = used(t, path) - 1
			}
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			if !c.idle {
				var calls sync.WaitGroup
				for i := range 20 {
					calls.Go(func() {
						if err := report("request/" + string(rune('a'+i))); status.Code(err) != codes.DataLoss ||
							!strings.Contains(err.Error(), says) {
							t.Errorf("a charge: %v", err)
						}
						_, err := api.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: "a"})
						if status.Code(err) != codes.DataLoss || !strings.Contains(err.Error(), says) {
							t.Errorf("a question: %v", err)
						}
					})
				}
				calls.Wait()
			}
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				code, body := d.web("/healthz")
				if code == http.StatusServiceUnavailable && strings.Contains(body, says) {
					break
				}
				if time.Since(began) > 5*time.Minute {
					t.Fatalf("healthz: %d %s\n%s", code, body, d.stderr)
				}
			}
			d.stop(syscall.SIGTERM)
			if code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dir); code != 1 ||
				size > 0 && size < 8192 && !strings.Contains(stderr, "a store has at least 16384: it was cut short") {
				t.Errorf("started anew: %d, %s", code, stderr)
			}
		})
	}
}

// used is how many bytes of a store's file are in use, as its newest root page says.
func used(t *testing.T, path string) int64 {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pages := order.NativeEndian.Uint64(content[newestRoot(content)*rootPageSize+rootFields+40:])
	return int64(pages) * rootPageSize
}
