// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// The image that deploy/Dockerfile makes is two static programs in an empty root and
// a user without a name. That is what runs here.
func TestEmptyRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("chroot and another user need root")
	}
	if testing.Short() {
		t.Skip("to build both programs in another way takes longest of all here")
	}
	t.Parallel()
	const nobody = 65532
	root := dataDir(t)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", root+"/", ".", "../accountctl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, dir := range []string{"data", "run"} {
		path := filepath.Join(root, dir)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	inside := func(program string, args ...string) *exec.Cmd {
		c := exec.Command(program, args...)
		c.Dir, c.Env = "/", []string{"ACCOUNTANT_SERVER=unix:///run/accountant.sock"}
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return c
	}
	d := startCommand(t, inside("/accountantd", "--listen", "unix:///run/accountant.sock", "--socket-mode", "0660",
		"--socket-owner", "65532:65532",
		"--http", "", "--data", "/data/ledgers"))
	client := dial(t, "unix:"+filepath.Join(root, "run", "accountant.sock"))
	create(t, client, "inside") // by root, whom no permissions keep out
	answer, err := client.GetLedger(patiently(t), &pb.GetLedgerRequest{Name: "inside"})
	if err != nil || answer.GetLedger().GetPrincipal() != "uid:0" {
		t.Errorf("principal %q, %v; want uid:0", answer.GetLedger().GetPrincipal(), err)
	}
	for _, args := range [][]string{
		{"doctor"}, {"doctor", "--data", "/data/ledgers"},
		{"report", "inside", "gaussian", "--noise-multiplier", "1"}} {
		if out, err := inside("/accountctl", args...).CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	entries, err := client.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: "inside"})
	if err != nil || len(entries.GetEntries()) != 1 || entries.GetEntries()[0].GetPrincipal() != "uid:65532" {
		t.Errorf("entries %v, %v; want one of uid:65532", entries, err)
	}
	d.stop(syscall.SIGTERM)
	if out, err := inside("/accountctl", "doctor").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "fail") {
		t.Errorf("doctor without a daemon: %v\n%s", err, out)
	}
}
