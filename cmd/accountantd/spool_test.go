// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/client"
)

// Commands that spend a share and tell the ledger of it are killed at any moment, and so is the daemon. Whatever a
// command has said to be spent is in the ledger, once; nothing is there that no command has tried to spend; and what
// the ledger has been told of is all that it has charged.
func TestSpoolThroughKills(t *testing.T) {
	const attempts = 60
	dir, binary := dataDir(t), accountctlBinary(t)
	ctx := patiently(t)
	d := start(t, dir)
	socket := "unix:" + filepath.Join(dir, "accountant.sock")
	file := filepath.Join(t.TempDir(), "share")
	random := rand.New(rand.NewPCG(36, 5))
	run := func(kill bool, args ...string) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if kill {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, time.Duration(random.IntN(30_000))*time.Microsecond)
			defer stop()
		}
		c := exec.CommandContext(ctx, binary, append(args, "--server", socket)...) // which kills by SIGKILL
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Run()
		return out.String(), err
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := run(false, args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	mechanism := []string{"pure-dp", "--epsilon", "0.001"}
	must("ledger", "create", "pod", "--adjacency", "add-or-remove-one", "--budget", "guard=basic,epsilon=1")
	take := append([]string{"spool", "take", file, "pod", "--lifetime", "48h", "--count", strconv.Itoa(2 * attempts)},
		mechanism...)
	for range 5 {
		if _, err := run(true, take...); err == nil {
			break
		}
	}
	if _, err := client.OpenSpool(file); err != nil {
		must(take...)
	}
	said := map[string]bool{}
	for n := range attempts {
		label := strconv.Itoa(n)
		out, err := run(n%3 != 0, append([]string{"spool", "spend", file, "--label", "n=" + label}, mechanism...)...)
		said[label] = err == nil
		if err != nil && n%3 == 0 {
			t.Fatalf("spend: %v\n%s", err, out)
		}
		switch n % 10 {
		case 4, 7: // beside the next ones: the daemon or the command dies
			_, _ = run(true, "spool", "deliver", file, "--timeout", "1s")
		case 9:
			d.kill()
			d = start(t, dir)
		}
	}
	must("spool", "deliver", file, "--close")

	c, err := client.New(client.Config{Server: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	found, entries := map[string]int{}, 0
	for e, err := range c.Entries(ctx, "pod", client.EntriesOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if v := e.GetCommit(); v != nil {
			found[v.GetLabels()["n"]]++
			entries++
		}
	}
	for label, acknowledged := range said {
		if n := found[label]; n > 1 || acknowledged && n != 1 {
			t.Errorf("charge %s, said to be spent: %v, is in the ledger %d times", label, acknowledged, n)
		}
	}
	l, err := c.GetLedger(ctx, "pod")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.GetLedger(); got.GetTotalCount() != uint64(entries) || len(got.GetReservations()) != 0 {
		t.Errorf("%d commits, and a total of %d with reservations %v", entries, got.GetTotalCount(),
			got.GetReservations())
	}
	out, _ := run(false, "spool", "status", file)
	if !strings.Contains(out, fmt.Sprintf("%d charges", entries)) {
		t.Errorf("%d commits, and the file says:\n%s", entries, out)
	}
}
