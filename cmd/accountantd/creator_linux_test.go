// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Two users of one machine share a socket. Only who created a ledger ends it, or takes
// most of it at once; and the daemon's owner, on the daemon's own socket.
func TestCreatorIsAUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("to run programs as two other users needs root")
	}
	t.Parallel()
	dir := dataDir(t)
	if err := os.Chmod(dir, 0o755); err != nil { // for the users, who need the program and the socket
		t.Fatal(err)
	}
	if err := os.Link(accountctlBinary(t), filepath.Join(dir, "accountctl")); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(plan,
		[]byte(`{"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": 100, "mechanism": {"gaussian": {"noiseMultiplier": 1}}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(plan, 0o644); err != nil {
		t.Fatal(err)
	}
	shared := "unix://" + filepath.Join(dir, "shared.sock")
	data := filepath.Join(dir, "data")
	d := start(t, data, "--listen", shared, "--socket-mode", "0666")
	const ann, bob = 20001, 20002
	run := func(uid uint32, server string, args ...string) (string, int) {
		c := exec.Command(filepath.Join(dir, "accountctl"), append(args, "--server", server)...)
		c.Dir, c.Env = "/", []string{}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	step := []string{"gaussian", "--noise-multiplier", "1", "--count"}
	own := "unix:" + filepath.Join(data, "accountant.sock")
	for _, c := range []struct {
		uid    uint32
		server string
		status int
		wants  string // in what it says
		args   []string
	}{
		{ann, shared, 0, "", []string{"ledger", "create", "anns", "--adjacency", "add-or-remove-one", "--plan", plan}},
		{bob, shared, 1, "was created by uid:20001; only uid:20001 may, or the daemon's owner with --server unix:",
			[]string{"ledger", "close", "anns", "--yes"}},
		{bob, d.ready["listen"][:strings.Index(d.ready["listen"], ",")], 1, "you are unverified:",
			[]string{"ledger", "close", "anns", "--yes"}},
		{bob, shared, 1, "may not reserve more than half",
			append([]string{"reservation", "create", "anns", "--lifetime", "1h"}, append(step, "51")...)},
		{bob, shared, 0, "",
			append([]string{"reservation", "create", "anns", "--lifetime", "1h"}, append(step, "50")...)},
		{bob, shared, 0, "", append([]string{"report", "anns"}, append(step, "20")...)},
		{bob, own, 4, "permission denied", []string{"ledger", "close", "anns", "--yes"}},
		{ann, shared, 0, "", []string{"ledger", "close", "anns", "--yes"}},
		{bob, shared, 0, "", []string{"ledger", "create", "bobs", "--adjacency", "add-or-remove-one"}},
		{ann, shared, 1, "created by uid:20002", []string{"ledger", "close", "bobs", "--yes"}},
		{0, shared, 1, "you are uid:0", []string{"ledger", "close", "bobs", "--yes"}},
		{0, own, 0, "", []string{"ledger", "close", "bobs", "--yes"}},
	} {
		if said, status := run(c.uid, c.server, c.args...); status != c.status || !strings.Contains(said, c.wants) {
			t.Fatalf("uid %d on %s: %q: status %d, want %d, and %q in what it says:\n%s", c.uid, c.server, c.args,
				status, c.status, c.wants, said)
		}
	}
	d.stop(syscall.SIGTERM)
}
