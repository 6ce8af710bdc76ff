// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// randomLabels are 4 kB, which packs cannot make small.
func randomLabels(r *rand.Rand) map[string]string {
	labels := map[string]string{}
	for i := range 16 {
		text := make([]byte, 250)
		for j := range text {
			text[j] = byte('!' + r.IntN('~'-'!'))
		}
		labels[fmt.Sprint("label-", i)] = string(text)
	}
	return labels
}

// hashOf is the line of a receipt with its hash.
func hashOf(receipt string) string {
	_, rest, _ := strings.Cut(receipt, `"headHash": "`)
	hash, _, _ := strings.Cut(rest, `"`)
	return hash
}

// fillOld makes ledgers with more than upkeep leaves in the tail, and closes the first one, which begins with a charge
// by a request ID. It returns the hash in the receipt of that.
func fillOld(t *testing.T, d *daemon, names ...string) (first string) {
	t.Helper()
	c, err := client.New(client.Config{Server: "unix:" + d.ready["socket"], Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx := patiently(t)
	random := rand.New(rand.NewPCG(1, 2))
	event := []*pb.Event{client.Event(client.Gaussian(2), 1)}
	for _, name := range names {
		spec := &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}
		if _, err := c.CreateLedger(ctx, spec); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			_, out := accountctl(t)("report", name, "pure-dp", "--epsilon", "0.1", "--request-id", "first", "--output",
				"json", "--server", "unix:"+d.ready["socket"])
			first = hashOf(out)
		}
		lane, err := c.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		for range 1200 {
			if err := lane.Report(ctx, event, randomLabels(random)); err != nil {
				t.Fatal(err)
			}
		}
		if err := lane.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	code, out := accountctl(t)("ledger", "close", names[0], "--yes", "--server", "unix:"+d.ready["socket"])
	if code != 0 {
		t.Fatal(out)
	}
	return first
}

// startUntilMoved starts a daemon, and again where a start came before upkeep, until entries have left the file.
func startUntilMoved(t *testing.T, dir string, with ...string) *daemon {
	t.Helper()
	for began := time.Now(); ; {
		d := start(t, dir, with...)
		said := func() bool { return strings.Contains(d.stderr.String(), "entries have left the ledgers' file") }
		for waited := time.Now(); !said() && time.Since(waited) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		}
		if said() {
			return d
		}
		if d.stop(syscall.SIGTERM); time.Since(began) > 5*time.Minute {
			t.Fatalf("nothing has moved: %s", d.stderr)
		}
	}
}

// Entries that have left the file are read, verified, exported, and found again by their request ID as before; only a
// ledger whose segment is missing says so, where somebody asks for what is in it, and others go on.
func TestCold(t *testing.T) {
	ctl := accountctl(t)
	dir, away := dataDir(t), filepath.Join(t.TempDir(), "away")
	d := start(t, dir)
	run := func(says string, args ...string) (out string) {
		t.Helper()
		code, out := ctl(append(args, "--server", "unix:"+d.ready["socket"])...)
		if code != 0 || !strings.Contains(out, says) {
			t.Fatalf("accountctl %s: %d, %s; want %q", strings.Join(args, " "), code, out, says)
		}
		return out
	}
	first := fillOld(t, d, "s/old", "s/open")
	entries := run("", "ledger", "entries", "s/old", "--raw", "--output", "jsonl")
	d.stop(syscall.SIGTERM)
	file := filepath.Join(dir, persist.FileName)
	before := contents(t, file)

	with := []string{"--cold", away, "--cold-after", "0s"}
	d = startUntilMoved(t, dir, with...)
	segments, err := filepath.Glob(filepath.Join(away, "*.cold"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	same := func() {
		t.Helper()
		if now := run("", "ledger", "entries", "s/old", "--raw", "--output", "jsonl"); now != entries {
			t.Errorf("%d bytes of entries; want the same %d", len(now), len(entries))
		}
		run("verified", "verify", "s/old")
		if again := run("\"replayed\": true", "report", "s/old", "pure-dp", "--epsilon", "0.1", "--request-id", "first",
			"--output", "json"); hashOf(again) != first {
			t.Errorf("the same request gets\n%s\nand got\n%s", again, first)
		}
	}
	same()
	run("", "ledger", "history", "s/old", "--delta", "1e-6")
	backup := filepath.Join(t.TempDir(), "backup")
	run("", "backup", backup)
	d.kill()
	d = start(t, dir) // without the flag: nothing more leaves, and what has left is read
	same()
	d.stop(syscall.SIGTERM)
	if contents(t, file) != before || contents(t, backup) != before {
		t.Error("the store or its backup has other entries than before")
	}

	// Without a segment its ledgers say so, and everything else goes on.
	for _, s := range segments {
		if err := os.Rename(s, s+".away"); err != nil {
			t.Fatal(err)
		}
	}
	d = start(t, dir, with...)
	code, out := ctl("ledger", "entries", "s/old", "--server", "unix:"+d.ready["socket"])
	if code == 0 || !strings.Contains(out, "is missing in "+away+"; put it back") {
		t.Errorf("without segments: %d, %s", code, out)
	}
	run("ε", "query", "s/old", "--delta", "1e-6")
	run("charged", "report", "s/open", "pure-dp", "--epsilon", "0.1")
	d.stop(syscall.SIGTERM)
	if code, out := ctl("verify", "--data", dir); code != 1 || !strings.Contains(out, "is missing in "+away) {
		t.Errorf("verify without segments: %d, %s", code, out)
	}
	code, _, stderr := exitCode(t, "restore", backup, "--data", filepath.Join(t.TempDir(), "r"))
	if code != 1 || !strings.Contains(stderr, "is missing in "+away+"; put it back, or say where they are now: --co") {
		t.Errorf("restore without segments: %d, %s", code, stderr)
	}
	// On another machine they are elsewhere.
	there := filepath.Join(t.TempDir(), "there")
	if err := os.Mkdir(there, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		content, err := os.ReadFile(s + ".away")
		if err == nil {
			err = os.WriteFile(filepath.Join(there, filepath.Base(s)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range segments {
		if err := os.Rename(s+".away", s); err != nil {
			t.Fatal(err)
		}
	}
	d = start(t, dir, with...)
	same()
	d.stop(syscall.SIGTERM)
	verified(t, dir)

	shared := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(shared, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// Another folder is refused as long as it lacks segments, and so are settings that do not fit.
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--cold", away + "2"}, 1, "is missing in " + away + "2"},
		{[]string{"--cold", away, "--cold-key", file}, 2, "as age-keygen makes it"},
		{[]string{"--cold", away, "--cold-key", away + "/key"}, 2, "no such file or directory; allowed"},
		{[]string{"--archive", away, "--archive-key", away + "/key"}, 2, "no such file or directory; allowed"},
		{[]string{"--archive", away, "--archive-key", file}, 2, "as age-keygen makes it"},
		{[]string{"--cold", away, "--cold-after", "-1s"}, 2, "a duration ≥ 0"},
		{[]string{"--cold-key", file}, 2, "only with --cold"},
		{[]string{"--cold", away, "--cold-key", shared}, 2, "has mode 0644: others can read or change it"},
		{[]string{"--archive", away, "--archive-key", shared}, 2, "has mode 0644: others can read or change it"},
		{[]string{"--cold", "gs://b/x"}, 2, "--cold: gs://b/x: gs is unknown"},
		{[]string{"--archive", "s3://KEY:SECRET@b"}, 2, "--archive: a place of S3 with @"},
		{[]string{"--cold", away, "--store", "postgres://db/x"}, 2, "only without --store"},
	} {
		if code, out, stderr := exitCode(t, append([]string{"--data", dir}, c.args...)...); code != c.code ||
			!strings.Contains(stderr, c.says) {
			t.Errorf("%q: %d, %s%s; want %d with %q", c.args, code, out, stderr, c.code, c.says)
		}
	}
}
