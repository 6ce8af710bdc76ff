// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
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

// Whoever asks what is wrong is told of segments that are missing, a place that does not answer, a key that was
// exchanged and an archive that is behind, and what to do, by a daemon that runs, and of one that has stopped.
func TestDoctorOfPlaces(t *testing.T) {
	ctl := accountctl(t)
	dir, away := dataDir(t), t.TempDir()
	at := func(name string) string { return filepath.Join(away, name) }
	write := func(key string) (content string) {
		t.Helper()
		identity, err := age.GenerateX25519Identity()
		if err := errors.Join(err, os.WriteFile(at(key), []byte(identity.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
		return identity.String()
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	key, _ := write("key"), write("archive.key")
	d := start(t, dir)
	fillOld(t, d, "old")
	d.stop(syscall.SIGTERM)
	with := []string{"--cold", at("cold"), "--cold-after", "0s", "--cold-key", at("key"), "--archive", at("archive"),
		"--archive-key", at("archive.key"), "--archive-interval", "1s"}
	d = startUntilMoved(t, dir, with...)
	says := func(what string, wrong ...string) {
		t.Helper()
		out, said := "", false
		for began := time.Now(); !said && time.Since(began) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
			_, out = ctl("doctor", "--server", "unix:"+d.ready["socket"], "--data", dir, "--output", "json")
			said = true
			for _, w := range wrong {
				said = said && strings.Contains(out, w)
			}
			if len(wrong) == 0 {
				said = !strings.Contains(out, "old entries") && !strings.Contains(out, "Nothing was added")
			}
		}
		if !said {
			t.Errorf("%s: %s\nwant %q", what, out, wrong)
		}
	}
	says("as it should be")
	move(at("cold"), at("cold.away"))
	says("a folder that is gone", "The old entries in "+at("cold")+" cannot be read")
	move(at("cold.away"), at("cold"))
	says("a folder that is back")
	move(at("archive"), at("archive.away"))
	says("an archive that is gone", "Nothing was added to the archive "+at("archive"), "the daemon adds it")
	move(at("archive.away"), at("archive"))
	says("an archive that is back")
	write("archive.key")
	says("another key of the archive", "Nothing was added to the archive", "lacks a key that has sealed what is there")
	write("key")
	says("another key", "The old entries in "+at("cold")+" cannot be read", "lacks a key that has sealed what is there")
	d.stop(syscall.SIGTERM)
	for _, flags := range [][]string{with[:6], with[6:]} {
		if code, _, stderr := exitCode(t, append([]string{"--data", dir}, flags...)...); code == 0 ||
			!strings.Contains(stderr, "lacks a key that has sealed what is there") {
			t.Errorf("%q: a start with another key: %d, %s", flags, code, stderr)
		}
	}
	says("another key, without a daemon", "lacks a key that has sealed what is there", "after newer ones")
	if err := os.WriteFile(at("key"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(at("cold/*.cold"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	move(segments[0], segments[0]+".away")
	missing := fmt.Sprintf("1 of %d segments with old entries", len(segments))
	says("a missing segment, without a daemon", missing, "put them back")
	d = start(t, dir) // also without --cold
	if !d.shows("accountant_cold_unreadable_segments 1") {
		t.Error("the metric does not say that a segment is missing")
	}
	says("a missing segment", missing, "Put them back")
	d.stop(syscall.SIGTERM)
	move(segments[0]+".away", segments[0])
	whole, err := os.ReadFile(segments[0])
	if err := errors.Join(err, os.WriteFile(segments[0], whole[:len(whole)/2], 0o600)); err != nil {
		t.Fatal(err)
	}
	d = start(t, dir)
	says("a damaged segment", "could not read everything that is stored", "is damaged in "+at("cold"), "put it back")
	d.stop(syscall.SIGTERM)
	if err := os.WriteFile(segments[0], whole, 0o600); err != nil {
		t.Fatal(err)
	}
	move(segments[0], segments[0]+".away")
	move(at("cold"), at("cold.away"))
	says("no folder, without a daemon", "cannot be reached", "make that place answer")
	d = start(t, dir)
	if !d.shows(fmt.Sprint("accountant_cold_unreadable_segments ", len(segments))) {
		t.Error("the metric does not say that all segments are out of reach")
	}
	says("no folder", "The old entries in "+at("cold")+" cannot be read")
	d.stop(syscall.SIGTERM)
	// An empty folder may be one on which the disk is not mounted: nothing moves there.
	if err := os.Mkdir(at("cold"), 0o700); err != nil {
		t.Fatal(err)
	}
	d = start(t, dir, with[:6]...)
	fillOld(t, d, "more")
	d.stop(syscall.SIGTERM)
	d = start(t, dir, with[:6]...)
	says("an empty folder", fmt.Sprintf("%d of %[1]d segments with old entries are missing", len(segments)))
	d.stop(syscall.SIGTERM)
	if err := os.Remove(at("cold")); err != nil {
		t.Errorf("an empty folder in the place of the one with segments: %v", err)
	}
	move(at("cold.away"), at("cold"))
	move(segments[0]+".away", segments[0])
	d = start(t, dir)
	if !d.shows("accountant_cold_unreadable_segments 0") {
		t.Error("the metric does not say that all segments are back")
	}
	says("as before")
	d.stop(syscall.SIGTERM)
}

// An archive that was behind has everything after a stop, also what has left the file meanwhile.
func TestArchiveCatchesUp(t *testing.T) {
	dir, kept := dataDir(t), filepath.Join(t.TempDir(), "kept")
	with := []string{"--archive", kept, "--archive-interval", "1h"}
	d := start(t, dir, with...)
	fillOld(t, d, "old")
	d.kill()
	if err := errors.Join(os.Rename(kept, kept+".away"), os.WriteFile(kept, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	d = startUntilMoved(t, dir, append(with, "--cold", filepath.Join(t.TempDir(), "cold"), "--cold-after", "0s")...)
	if err := errors.Join(os.Remove(kept), os.Rename(kept+".away", kept)); err != nil {
		t.Fatal(err)
	}
	d.stop(syscall.SIGTERM)
	if archived(t, kept) != contents(t, filepath.Join(dir, persist.FileName)) {
		t.Errorf("the archive has something else: %s", d.stderr)
	}
}
