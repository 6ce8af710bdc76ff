// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// web returns what the daemon's HTTP port says.
func (d *daemon) web(path string) (code int, body string) {
	d.t.Helper()
	answer, err := http.Get("http://" + d.ready["http"] + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// shows reports whether the metrics have a line within half a minute: what a store is asked for is missing from a
// reading that it does not answer in time.
func (d *daemon) shows(line string) bool {
	d.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, metrics := d.web("/metrics"); strings.Contains(metrics, "\n"+line+"\n") {
			return true
		}
	}
	return false
}

// A daemon whose file is damaged while it runs finds that by itself: health turns red,
// the metric and the log say so, and whatever needs the file is refused. It does not end,
// and does not start anew.
func TestDamageIsFoundWhileServing(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir, "--scrub-interval", "20ms")
	c := dial(t, d.ready["listen"])
	create(t, c, "a")
	report := func(writer string) error {
		_, err := c.Report(patiently(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "a", Writer: writer, Sequence: 1},
			Charge: charge(),
		})
		return err
	}
	if err := report("request/one"); err != nil {
		t.Fatal(err)
	}
	if code, body := d.web("/healthz"); code != http.StatusOK {
		t.Fatalf("healthz: %d %s", code, body)
	}
	path := filepath.Join(dir, persist.FileName)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for at := 0; ; at++ { // in every version of the page that names the buckets
		next := bytes.Index(content[at:], []byte("sequences"))
		if next < 0 {
			break
		}
		at += next
		if _, err := file.WriteAt([]byte{'s'}, int64(at+1)); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(5 * time.Minute)
	for {
		code, body := d.web("/healthz")
		if code == http.StatusServiceUnavailable && strings.Contains(body, "page ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("healthz: %d %s\n%s", code, body, d.stderr)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := report("request/two"); status.Code(err) != codes.DataLoss {
		t.Errorf("a charge: %v", err)
	}
	if _, err := c.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: "a"}); status.Code(err) != codes.DataLoss {
		t.Errorf("a question: %v", err)
	}
	if !d.shows("accountant_store_damaged 1") {
		t.Error("no accountant_store_damaged 1")
	}
	if !strings.Contains(d.stderr.String(), "the store's file is damaged") {
		t.Errorf("log: %s", d.stderr)
	}
	d.stop(syscall.SIGTERM)
	if code, _, stderr := exitCode(t, "--listen", "127.0.0.1:0", "--http", "", "--data", dir); code != 1 ||
		!strings.Contains(stderr, "damaged") {
		t.Errorf("started anew: %d, %s", code, stderr)
	}
}
