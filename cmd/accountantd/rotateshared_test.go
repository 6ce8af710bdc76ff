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

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/postgres"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// The key of a fleet is replaced while no daemon is connected; wherever that is cut off it can be run again.
// Afterwards daemons start with the new key and with no other, and heads that the old one has signed still verify.
func TestRotateKeyOfAFleet(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "a server takes seconds to notice that a daemon has ended")
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
	rotate(1, old, "before it was replaced")
}

// A daemon that was cut off from the database while the key was replaced, so that rotate-key could not see it, signs
// nothing with the old key when it reaches the database again. A daemon with the new key does.
func TestRotateKeyBehindADaemonsBack(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old.key"), filepath.Join(dir, "new.key")
	proxy, through := pgtest.NewProxy(t, url)
	cut := start(t, dataDir(t), "--store", through, "--signing-key", old)
	api := dial(t, cut.ready["listen"])
	create(t, api, "l")
	ask := &pb.GetSignedHeadRequest{Ledger: "l"}
	if _, err := api.GetSignedHead(patiently(t), ask); err != nil {
		t.Fatal(err)
	}
	proxy.CutOff()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		code, out, stderr := exitCode(t, "rotate-key", "--store", url, "--signing-key", fresh)
		if code == 0 {
			break
		}
		if !strings.Contains(stderr, "sessions of daemons are connected") || time.Now().After(deadline) {
			t.Fatalf("rotate-key: exit %d, %s%s", code, out, stderr)
		}
	}
	proxy.Mend()
	for ctx := patiently(t); ; time.Sleep(20 * time.Millisecond) { // until it can reach the database
		if _, err := api.GetLedger(ctx, &pb.GetLedgerRequest{Name: "l"}); err == nil {
			break
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	head, err := api.GetSignedHead(patiently(t), ask)
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("a daemon with the old key: %v, %v; want UNAVAILABLE", head, err)
	}
	other := start(t, dataDir(t), "--store", url, "--signing-key", fresh)
	if _, err := dial(t, other.ready["listen"]).GetSignedHead(patiently(t), ask); err != nil {
		t.Errorf("a daemon with the new key: %v", err)
	}
}

// rotate-key that was cut off after it had bound the database to the new key, or that found a daemon then, is
// finished by running it again. A key that is in use, and not because of such a run, is still refused.
func TestRotateKeyGoesOnAfterBinding(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "a server takes seconds to notice that a daemon has ended")
	url := pgtest.Database(t)
	dir := t.TempDir()
	of := func(key string) storage { return storage{url: url, signingKey: filepath.Join(dir, key)} }
	const connected = "sessions of daemons are connected"
	var daemon *postgres.Store
	rotate := func(bound func() error, key string) (string, error) {
		var out strings.Builder
		r := sharedRotation{of: of(key), now: time.Now(), stdout: &out, bound: bound}
		err := r.run(t.Context())
		for deadline := time.Now().Add(time.Minute); err != nil && strings.Contains(err.Error(), connected) &&
			daemon == nil && time.Now().Before(deadline); { // the server has not noticed yet that a session has ended
			err = r.run(t.Context())
		}
		return out.String(), err
	}
	made, err := postgres.Open(postgres.Config{URL: url})
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var nothing func() error
	if out, err := rotate(nothing, "first"); err != nil || !strings.Contains(out, "instead of no key") {
		t.Fatalf("%s, %v", out, err)
	}
	killed := errors.New("killed here")
	if _, err := rotate(func() error { return killed }, "second"); !errors.Is(err, killed) {
		t.Fatalf("%v; want %v", err, killed)
	}
	if daemon, err = postgres.Open(postgres.Config{URL: url}); err != nil { // it has started meanwhile
		t.Fatal(err)
	}
	if _, err := rotate(nothing, "second"); err == nil || !strings.Contains(err.Error(), connected) {
		t.Errorf("while a daemon is connected: %v", err)
	}
	keys, err := daemon.Keys()
	if err = errors.Join(err, daemon.Close()); err != nil || len(keys) != 2 {
		t.Fatalf("%d keys, %v; want 2", len(keys), err)
	}
	daemon = nil
	examined := func(key string) string {
		_, out := accountctl(t)("doctor", "--store", url, "--signing-key", filepath.Join(dir, key))
		return out
	}
	if out := examined("second"); !strings.Contains(out, "has not finished") {
		t.Errorf("doctor, after a rotate-key that was cut off: %s", out)
	}
	if out, err := rotate(nothing, "second"); err != nil || !strings.Contains(out, "instead of") {
		t.Errorf("the second time: %s, %v", out, err)
	}
	if out := examined("second"); strings.Contains(out, "rotate-key") {
		t.Errorf("doctor, after a rotate-key that has finished: %s", out)
	}
	if out := examined("first"); !strings.Contains(out, "does not come back") {
		t.Errorf("doctor, with a key that was replaced: %s", out)
	}
	if _, err := rotate(nothing, "second"); err == nil || !strings.Contains(err.Error(), "bound to already") {
		t.Errorf("the third time: %v", err)
	}
	if out, err := rotate(nothing, "third"); err != nil || !strings.Contains(out, "instead of") {
		t.Errorf("the next one: %s, %v", out, err)
	}
}

// A mistaken name of a database makes no store there. To replace the key of nothing would seem to have replaced that of
// the daemons that were meant.
func TestWrongDatabaseStaysEmpty(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	dir := t.TempDir()
	key, data := filepath.Join(dir, "new.key"), filepath.Join(dir, "data")
	if code, out, stderr := exitCode(t, "rotate-key", "--store", url, "--signing-key", key); code != 1 ||
		!strings.Contains(stderr, "no daemon was ever started on the database") {
		t.Errorf("rotate-key: exit %d, %s%s", code, out, stderr)
	}
	if code, _, stderr := exitCode(t, "move", url, data); code != 1 || !strings.Contains(stderr, "was ever started") {
		t.Errorf("move: exit %d, %s", code, stderr)
	}
	if code, out := accountctl(t)("verify", "--store", url); code != 1 || !strings.Contains(out, "was ever started") {
		t.Errorf("verify: exit %d, %s", code, out)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v, %v; want no file", files, err)
	}
	found, err := inspect.Look(t.Context(), reach.Address{URL: url})
	if err != nil || found.Tables != 0 {
		t.Errorf("tables of version %d were made, %v; want none", found.Tables, err)
	}
}
