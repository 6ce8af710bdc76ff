// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// accountctl returns what runs the real command.
func accountctl(t *testing.T) func(args ...string) (code int, output string) {
	t.Helper()
	binary := accountctlBinary(t)
	return func(args ...string) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // machines can be loaded
		defer cancel()
		command := exec.CommandContext(ctx, binary, args...)
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		err := command.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return command.ProcessState.ExitCode(), out.String()
	}
}

// Backups are taken while clients stream; each has all that was acknowledged before
// and verifies. So does the daemon's own file after a SIGKILL. A daemon on an old
// copy of its file is told from what was kept.
func TestAuditTrail(t *testing.T) {
	ctl := accountctl(t)
	must := func(says string, args ...string) {
		t.Helper()
		if code, out := ctl(args...); code != 0 || !strings.Contains(out, says) {
			t.Fatalf("accountctl %s: %d, %s; want %s", strings.Join(args, " "), code, out, says)
		}
	}
	dir, files := dataDir(t), t.TempDir()
	d := start(t, dir)
	socket := "unix:" + d.ready["socket"]
	client := dial(t, socket)
	names := []string{"trail/a", "trail/b"}
	for _, name := range names {
		create(t, client, name)
	}
	file, older := filepath.Join(dir, persist.FileName), filepath.Join(files, "older.db")
	d.stop(syscall.SIGTERM)
	rollBack(t, file, older)
	d = start(t, dir)
	l := startLoad(t, socket, 8, names...)
	one := uuid.NewString()
	const backups = 3
	for i := range backups {
		l.more(t, 150)
		receipt := filepath.Join(files, fmt.Sprint(i, ".json"))
		answer, err := client.Report(patiently(t),
			&pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: names[0], Writer: one, Sequence: uint64(i + 1)},
				Charge: charge(),
			})
		if err != nil {
			t.Fatal(err)
		}
		content, err := protojson.Marshal(answer)
		if err == nil {
			err = os.WriteFile(receipt, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // while it is short: it grows as it is read
			must("what was kept agrees (1)", "verify", names[0], "--receipt", receipt, "--server", socket)
		}
		must("backed up", "backup", filepath.Join(files, fmt.Sprint(i, ".backup")), "--server", socket)
	}
	l.finish()
	for i := range backups {
		must("what was kept agrees (1)", "verify", "--backup", filepath.Join(files, fmt.Sprint(i, ".backup")),
			"--receipt", filepath.Join(files, fmt.Sprint(i, ".json")))
	}
	head := filepath.Join(files, "head.json")
	code, out := ctl("head", names[0], "--output", "json", "--server", socket)
	if err := os.WriteFile(head, []byte(out), 0o600); code != 0 || err != nil {
		t.Fatalf("%d, %v: %s", code, err, out)
	}
	if code, out := ctl("verify", "--data", dir); code != 1 || !strings.Contains(out, "another process has it open") {
		t.Errorf("verify of a file in use: %d, %s", code, out)
	}
	d.kill()
	must(fmt.Sprintf("verified: 2 ledgers, %d entries; what was kept agrees (1)", l.acknowledged()+backups), "verify",
		"--data", dir, "--signed-head", head)

	rollBack(t, older, file)
	if code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dir); code != 1 ||
		!strings.Contains(stderr, "was acknowledged") {
		t.Errorf("the file alone was put back: %d, %s", code, stderr)
	}
	if err := os.Remove(file + ".acknowledged"); err != nil { // as if it had been put back, too
		t.Fatal(err)
	}
	d = start(t, dir)
	socket = "unix:" + d.ready["socket"]
	must("verified", "verify", names[0], "--server", socket) // by itself it is whole
	code, out = ctl("verify", names[0], "--signed-head", head, "--server", socket)
	if code != 1 || !strings.Contains(out, "edited or rolled back") {
		t.Errorf("a rollback: %d, %s", code, out)
	}
	d.stop(syscall.SIGTERM)
}

func rollBack(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The key that signs is made at the first start and kept; one that others can read
// is refused.
func TestSigningKeyIsKept(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir)
	d.stop(syscall.SIGTERM)
	path := filepath.Join(dir, keyFile)
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d = start(t, dir)
	d.stop(syscall.SIGTERM)
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(first, again) {
		t.Errorf("another key: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := exitCode(t, "--listen", "127.0.0.1:0", "--http", "", "--data", dir)
	if code != 2 || !strings.Contains(stderr, "signing.key has mode 0644") {
		t.Errorf("%d: %s", code, stderr)
	}
}
