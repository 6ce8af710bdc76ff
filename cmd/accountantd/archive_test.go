// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/archive"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// archived makes the store of an archive again and verifies it. It returns a digest of its ledgers and entries.
func archived(t *testing.T, dir string) [32]byte {
	t.Helper()
	return archivedBy(t, dir, "")
}

// archivedBy is archived of what a key has encrypted.
func archivedBy(t *testing.T, dir, key string) [32]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rebuilt")
	_, err := archive.Rebuild(t.Context(), archive.Place{Dir: dir, Key: blobs.Key(key)}, time.Time{}, path,
		func(uint64, uint64) {})
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, path)
}

// contents verifies the file of a store that nobody uses.
func contents(t *testing.T, path string) [32]byte {
	t.Helper()
	result, err := verify.File(t.Context(), verify.Config{Path: path, AnyRoot: true, Progress: func(uint64, uint64) {}})
	if err != nil {
		t.Fatal(err)
	}
	return result.Contents.Sum()
}

// An archive has everything once the daemon has stopped, and after a kill what was written until some moment before. A
// restore makes ledgers of it, up to a time, as it does of a backup.
func TestArchive(t *testing.T) {
	ctl := accountctl(t)
	dir, kept := dataDir(t), filepath.Join(t.TempDir(), "kept")
	with := []string{"--archive", kept, "--archive-interval", "1s"}
	d := start(t, dir, with...)
	run := func(says string, args ...string) {
		t.Helper()
		code, out := ctl(append(args, "--server", "unix:"+d.ready["socket"])...)
		if code != 0 || !strings.Contains(out, says) {
			t.Fatalf("accountctl %s: %d, %s; want %q", strings.Join(args, " "), code, out, says)
		}
	}
	file := filepath.Join(dir, persist.FileName)
	for _, name := range []string{"s/a", "s/b"} {
		run("created", "ledger", "create", name, "--adjacency", "add-or-remove-one", "--budget",
			"epsilon=5,guard=basic")
	}
	run("charged", "report", "s/a,s/b", "pure-dp", "--epsilon", "0.1", "--contribution", "over-all")
	run("reserved", "reservation", "create", "s/a", "--lifetime", "24h", "pure-dp", "--epsilon", "0.5")
	d.stop(syscall.SIGTERM)
	early := contents(t, file)
	if archived(t, kept) != early {
		t.Fatal("the archive of a stopped daemon does not have its ledgers")
	}
	time.Sleep(time.Second) // times are given in seconds
	until := time.Now().UTC().Format(time.RFC3339)
	time.Sleep(time.Second)

	d = start(t, dir, with...)
	for i := range 30 {
		run("charged", "report", "s/b", "pure-dp", "--epsilon", "0.1", "--request-id", fmt.Sprint(i))
	}
	d.kill()
	archived(t, kept)
	d = start(t, dir, with...) // it goes on where the archive ends
	run("raised", "raise", "s/b", "--budget", "epsilon=6,guard=basic", "--reason", "a test")
	d.stop(syscall.SIGTERM)
	late := contents(t, file)
	if late == early || archived(t, kept) != late {
		t.Fatal("the archive does not have what came after a kill")
	}

	for _, c := range []struct {
		until []string
		says  string // of s/b
	}{{nil, "entries           33"}, {[]string{"--until", until}, "entries           2\n"}} {
		to := filepath.Join(dataDir(t), "r")
		code, out, stderr := exitCode(t, append([]string{"restore", kept, "--data", to}, c.until...)...)
		if code != 0 || !strings.Contains(out, "restored: 2 ledgers, which need reconciling") {
			t.Fatalf("%d: %s%s", code, out, stderr)
		}
		d = start(t, to)
		run(c.says, "ledger", "show", "s/b")
		d.stop(syscall.SIGTERM)
		if code, _, stderr := exitCode(t, "--data", to, "--archive", kept); code != 1 ||
			!strings.Contains(stderr, "is of store") {
			t.Errorf("a restored store goes on in the archive of the one before: %d, %s", code, stderr)
		}
	}

	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"restore", kept, "--data", filepath.Join(t.TempDir(), "r"), "--until", "2001-02-03T00:00:00Z"}, 1,
			"after 2001-02-03T00:00:00Z"},
		{[]string{"restore", kept, "--data", filepath.Join(t.TempDir(), "r"), "--until", "yesterday"}, 2,
			"a time such as"},
		{[]string{"restore", file, "--data", filepath.Join(t.TempDir(), "r"), "--until", until}, 2, "is no archive"},
		{[]string{"restore", t.TempDir(), "--data", filepath.Join(t.TempDir(), "r")}, 1, "has no complete segment"},
		{[]string{"--data", dir, "--archive", kept, "--archive-interval", "1ms"}, 2, "a duration from 1s on"},
		{[]string{"--data", dir, "--archive", kept, "--store", "postgres://db/x"}, 2, "only without --store"},
	} {
		if code, out, stderr := exitCode(t, c.args...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: %d, %s%s; want %d with %q", c.args, code, out, stderr, c.code, c.says)
		}
	}

	// An older file in the place of the store's is noticed, and a missing segment is named.
	segments, err := filepath.Glob(filepath.Join(kept, "*.segment"))
	if err != nil || len(segments) < 3 {
		t.Fatalf("%v, %v", segments, err)
	}
	if err := os.Remove(segments[1]); err != nil {
		t.Fatal(err)
	}
	d = start(t, dir, with...) // it starts, and says so again and again
	run("charged", "report", "s/b", "pure-dp", "--epsilon", "0.1")
	said := func() int { return strings.Count(d.stderr.String(), segments[1]+" is missing") }
	for began := time.Now(); said() < 2; time.Sleep(time.Second / 10) {
		if time.Since(began) > time.Minute {
			t.Fatalf("a missing segment: %s", d.stderr)
		}
	}
	d.stop(syscall.SIGTERM)
}
