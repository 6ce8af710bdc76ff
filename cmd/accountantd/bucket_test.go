// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/blobs/blobstest"
)

// A stop ends what waits for a bucket that hangs: the question of a client, the copy to the archive, what is about to
// move. What was charged meanwhile is there after the next start.
func TestStopWhileABucketHangs(t *testing.T) {
	b := blobstest.New(t)
	dir := dataDir(t)
	d := start(t, dir)
	fillOld(t, d, "old")
	d.stop(syscall.SIGTERM)
	with := []string{"--cold", b.Place, "--cold-after", "0s", "--archive", b.Place, "--archive-interval", "1s"}
	d = startUntilMoved(t, dir, with...)
	b.Hang.Store(true)
	c := dial(t, "unix:"+d.ready["socket"])
	create(t, c, "new") // which the archive is to have
	asked := b.Asked.Load()
	answer := make(chan error, 1)
	go func() {
		_, err := c.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: "old", PageSize: 1})
		answer <- err
	}()
	for b.Asked.Load() < asked+2 { // the question, and the archive
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	d.stop(syscall.SIGTERM)
	t.Logf("stopped within %v", time.Since(began))
	if err := <-answer; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "terminated signal") {
		t.Errorf("%v; want that the stop has ended it", err)
	}
	b.Hang.Store(false)
	d = start(t, dir, with...)
	if _, err := dial(t, "unix:"+d.ready["socket"]).GetLedger(patiently(t),
		&pb.GetLedgerRequest{Name: "new"}); err != nil {
		t.Error(err)
	}
	d.stop(syscall.SIGTERM)
}

// A backup is restored on another machine, where neither the folder of old entries nor its key is where it was.
func TestRestoreElsewhere(t *testing.T) {
	ctl := accountctl(t)
	here, there, dir := t.TempDir(), t.TempDir(), dataDir(t)
	identity, err := age.GenerateX25519Identity()
	if err := errors.Join(err, os.WriteFile(filepath.Join(here, "key"), []byte(identity.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := start(t, dir)
	first := fillOld(t, d, "old")
	d.stop(syscall.SIGTERM)
	d = startUntilMoved(t, dir, "--cold", filepath.Join(here, "cold"), "--cold-after", "0s", "--cold-key",
		filepath.Join(here, "key"))
	backup := filepath.Join(t.TempDir(), "backup")
	run := func(args ...string) string {
		t.Helper()
		code, out := ctl(append(args, "--server", "unix:"+d.ready["socket"])...)
		if code != 0 {
			t.Fatalf("accountctl %s: %d, %s", strings.Join(args, " "), code, out)
		}
		return out
	}
	entries := run("ledger", "entries", "old", "--raw", "--output", "jsonl")
	run("backup", backup)
	d.stop(syscall.SIGTERM)
	for _, name := range []string{"cold", "key"} {
		if err := os.Rename(filepath.Join(here, name), filepath.Join(there, name)); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(dataDir(t), "r")
	folder, key := filepath.Join(there, "cold"), filepath.Join(there, "key")
	for _, c := range []struct {
		code int
		says string
		with []string
	}{
		{1, "say where they are now: --cold, --cold-key", nil},
		{1, "it is missing in " + filepath.Join(here, "cold"), []string{"--cold-key", key}},
		{1, "cannot be read now: the key: ", []string{"--cold", folder}},
		{2, "--cold-key: the key: ", []string{"--cold", folder, "--cold-key", folder + "/none"}},
		{2, "gs is unknown", []string{"--cold", "gs://b/x"}},
		{0, "restored: 0 ledgers", []string{"--cold", folder, "--cold-key", key}},
	} {
		code, out, stderr := exitCode(t, append([]string{"restore", backup, "--data", to}, c.with...)...)
		if code != c.code || !strings.Contains(out+stderr, c.says) {
			t.Fatalf("%q: %d, %s%s; want %d with %q", c.with, code, out, stderr, c.code, c.says)
		}
		if _, err := os.Stat(to); (err == nil) != (code == 0) {
			t.Fatalf("%q: %v", c.with, err)
		}
	}
	d = start(t, to)
	if now := run("ledger", "entries", "old", "--raw", "--output", "jsonl"); now != entries {
		t.Errorf("%d bytes of entries; want the same %d", len(now), len(entries))
	}
	run("verify", "old")
	if again := run("report", "old", "pure-dp", "--epsilon", "0.1", "--request-id", "first", "--output",
		"json"); hashOf(again) != first {
		t.Errorf("the same request gets %s", again)
	}
	d.stop(syscall.SIGTERM)
	verified(t, to)
	for _, args := range [][]string{{"restore", here, "--data", to + "2", "--cold", folder},
		{"restore", filepath.Join(dir, persist.FileName), "--data", to + "2", "--cold", folder + "2"}} {
		if code, _, stderr := exitCode(t, args...); code == 0 {
			t.Errorf("%q: %s", args, stderr)
		}
	}
}
