// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// TestDatabase: daemons with one database and one key are one accountant, also after one was killed;
// and accountctl works as with a data directory.
func TestDatabase(t *testing.T) {
	t.Parallel()
	const secret = "correct horse"
	server := pgtest.Start(t, pgtest.Config{Password: secret})
	url := server.Database(t)
	shared := t.TempDir()
	password, key := filepath.Join(shared, "password"), filepath.Join(shared, "signing.key")
	if err := os.WriteFile(password, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--store", url, "--store-password-file", password, "--signing-key", key}
	first := start(t, dataDir(t), args...)
	second := start(t, dataDir(t), args...)
	if first.ready["store"] != second.ready["store"] || first.ready["store"] == "" {
		t.Fatalf("stores %q and %q", first.ready["store"], second.ready["store"])
	}
	a, b := dial(t, first.ready["listen"]), dial(t, second.ready["listen"])
	create(t, a, "l")
	writer := uuid.NewString()
	report := func(client api.Client, sequence uint64) *pb.Receipt {
		t.Helper()
		answer, err := client.Report(patiently(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: "l", Writer: writer, Sequence: sequence},
			Charge: charge(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetReceipt()
	}
	one := report(a, 1)
	if again := report(b, 1); !proto.Equal(again, one) {
		t.Errorf("sent again through the other daemon: receipt %v, want %v", again, one)
	}
	report(b, 2)
	first.kill()
	report(b, 3)
	first = start(t, dataDir(t), args...)
	report(dial(t, first.ready["listen"]), 4)
	ctl := accountctl(t)
	at := func(args ...string) []string { return append(args, "--server", "unix:"+first.ready["socket"]) }
	for _, c := range [][]string{
		{"query", "l", "--delta", "1e-6"}, {"ledger", "entries", "l"}, {"verify", "l"}, {"ledger", "list"},
	} {
		if code, out := ctl(at(c...)...); code != 0 || !strings.Contains(out, "4") {
			t.Errorf("accountctl %s: exit %d\n%s", strings.Join(c, " "), code, out)
		}
	}
	// Another key is refused, with both fingerprints.
	code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dataDir(t), "--store", url,
		"--store-password-file", password, "--signing-key", filepath.Join(shared, "other.key"))
	if code != 1 || !strings.Contains(stderr, "other.key is missing") || !strings.Contains(stderr, "--signing-key") {
		t.Errorf("without the key: exit %d, %s", code, stderr)
	}
	first.stop(syscall.SIGTERM)
	second.stop(syscall.SIGTERM)
}

// TestDatabaseSettings: settings that do not fit together are told
// in one line.
func TestDatabaseSettings(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--store", "ledgers.db"}, 2, "postgres://USER@HOST:PORT/DATABASE"},
		{[]string{"--store-password-file", missing}, 2, "only with --store"},
		{[]string{"--signing-key", missing}, 2, "only with --store"},
		{[]string{"--store", "postgres://u@127.0.0.1:1/d", "--init"}, 2, "only without --store"},
		{[]string{"--store", "postgres://u:topsecret@127.0.0.1:1/d"}, 1, "--store-password-file"},
		{[]string{"--store", "postgres://u@db.example/d?sslmode=require"}, 1, "sslmode=verify-full"},
		{[]string{"--store", "postgres://u@127.0.0.1:1/d", "--store-password-file", missing}, 1, missing},
	} {
		code, _, stderr := exitCode(t, append(c.args, "--listen", "", "--http", "", "--data", dir)...)
		if code != c.code || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 ||
			strings.Contains(stderr, "topsecret") {
			t.Errorf("%v: exit %d, %q; want %d and %q", c.args, code, stderr, c.code, c.want)
		}
	}
}

// TestDatabaseWithoutTheStore: a daemon whose database was emptied, or whose address leads to another one, does
// not begin anew with nothing charged; with another directory it serves what is there.
func TestDatabaseWithoutTheStore(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	key, data := filepath.Join(t.TempDir(), "signing.key"), dataDir(t)
	url := server.Database(t)
	args := func(url string) []string { return []string{"--store", url, "--signing-key", key} }
	first := start(t, data, args(url)...)
	store := first.ready["store"]
	create(t, dial(t, first.ready["listen"]), "l")
	first.stop(syscall.SIGTERM)
	other := server.Database(t)
	code, _, stderr := exitCode(t, append(args(other), "--listen", "", "--http", "", "--data", data)...)
	for _, word := range []string{store, servedFile, "another directory"} {
		if code == 0 || !strings.Contains(stderr, word) {
			t.Errorf("with an empty database: exit %d, %s; want %q", code, stderr, word)
		}
	}
	again := start(t, data, args(url)...)
	if again.ready["store"] != store {
		t.Errorf("store %s; want %s", again.ready["store"], store)
	}
	again.stop(syscall.SIGTERM)
	anew := start(t, dataDir(t), args(other)...)
	anew.stop(syscall.SIGTERM)
}
