package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// The key of a fleet is replaced while no daemon is connected; wherever that is cut off it can be run again.
// Afterwards daemons start with the new key and with no other, and heads that the old one has signed still verify.
func TestRotateKeyOfAFleet(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir := t.TempDir()
	old, fresh, third := filepath.Join(dir, "old.key"), filepath.Join(dir, "new.key"), filepath.Join(dir, "third.key")
	with := func(key string) []string { return []string{"--store", url, "--signing-key", key} }
	rotate := func(code int, key, want string) {
		t.Helper()
		const connected = "sessions of daemons are connected"
		got, out, stderr := exitCode(t, append([]string{"rotate-key"}, with(key)...)...)
		for deadline := time.Now().Add(2 * time.Minute); want != connected && strings.Contains(stderr, connected) &&
			time.Now().Before(deadline); { // the server has not noticed yet that a daemon has ended
			got, out, stderr = exitCode(t, append([]string{"rotate-key"}, with(key)...)...)
		}
		if got != code || !strings.Contains(out+stderr, want) {
			t.Errorf("rotate-key to %s: exit %d, %s%s; want %d and %q", key, got, out, stderr, code, want)
		}
	}
	a, b := start(t, dataDir(t), with(old)...), start(t, dataDir(t), with(old)...)
	create(t, dial(t, a.ready["listen"]), "l")
	ctl := accountctl(t)
	code, head := ctl("head", "l", "--output", "json", "--server", "unix:"+a.ready["socket"])
	kept := filepath.Join(dir, "head.json")
	if err := os.WriteFile(kept, []byte(head), 0o600); code != 0 || err != nil {
		t.Fatalf("exit %d, %v\n%s", code, err, head)
	}
	rotate(1, fresh, "sessions of daemons are connected")
	a.stop(syscall.SIGTERM)
	rotate(1, fresh, "sessions of daemons are connected")
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a key was made while a daemon runs")
	}
	b.stop(syscall.SIGTERM)
	rotate(1, old, "bound to already")
	rotate(2, "", "--signing-key: missing")
	rotate(0, fresh, "instead of")
	rotate(1, fresh, "bound to already")
	daemon := append([]string{"--listen", "", "--http", "", "--data", dataDir(t)}, with(old)...)
	code, _, stderr := exitCode(t, daemon...)
	if code != 1 || !strings.Contains(stderr, "put that key back") || !strings.Contains(stderr, "rotate-key") {
		t.Errorf("a daemon with the old key: exit %d, %s", code, stderr)
	}
	a, b = start(t, dataDir(t), with(fresh)...), start(t, dataDir(t), with(fresh)...)
	code, out := ctl("verify", "l", "--signed-head", kept, "--server", "unix:"+b.ready["socket"])
	if code != 0 {
		t.Errorf("a head that the old key has signed: exit %d\n%s", code, out)
	}
	code, out = ctl("doctor", "--store", url, "--signing-key", fresh, "--output", "json")
	if code != 1 || !strings.Contains(out, "to which the store is bound") { // 1: the test's server never syncs
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	a.kill()
	b.stop(syscall.SIGTERM)
	rotate(0, third, "instead of")
}
