// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// After a restore the members of sets are to be reconciled, and the journals go on by themselves: nobody is
// told to reconcile what no user may write into. What was charged before the backup keeps its receipt.
func TestRestoreSets(t *testing.T) {
	ctl := accountctl(t)
	dir, backup := dataDir(t), filepath.Join(t.TempDir(), "backup")
	d := start(t, dir)
	run := func(code int, says string, args ...string) string {
		t.Helper()
		got, out := ctl(append(args, "--server", "unix:"+d.ready["socket"])...)
		if got != code || !strings.Contains(out, says) {
			t.Errorf("accountctl %s: %d, %s; want %d with %q", strings.Join(args, " "), got, out, code, says)
		}
		return out
	}
	report := func(code int, says, key string) string {
		t.Helper()
		return run(code, says, "report", "s/a,s/b", "pure-dp", "--epsilon", "0.1", "--request-id", key,
			"--contribution", "over-all")
	}
	for _, name := range []string{"s/a", "s/b"} {
		run(0, "created", "ledger", "create", name, "--adjacency", "add-or-remove-one", "--budget",
			"epsilon=1,guard=basic")
	}
	first := report(0, "charged: 2 ledgers, over-all, system:sets/", "first")
	run(0, "backed up", "backup", backup)
	report(0, "charged", "lost")
	d.kill()

	restored := filepath.Join(dataDir(t), "r")
	code, out, stderr := exitCode(t, "restore", backup, "--data", restored)
	if code != 0 || !strings.Contains(out, "restored: 2 ledgers, which need reconciling") {
		t.Fatalf("%d: %s%s", code, out, stderr)
	}
	d = start(t, restored)
	refused := report(3, "s/b", "later")
	if strings.Contains(refused, "reconcile system:") || !strings.Contains(refused, "accountctl ledger reconcile s/a") {
		t.Errorf("the refusal says %s; want the members to be reconciled, and no journal", refused)
	}
	journal := strings.Fields(strings.TrimSuffix(strings.Split(first, ", ")[2], ","))[0]
	if out := run(0, journal, "ledger", "show", journal); strings.Contains(out, "needs reconciling") {
		t.Errorf("the journal is to be reconciled, and nobody may: %s", out)
	}
	for _, name := range []string{"s/a", "s/b"} {
		run(0, "reconciled", "ledger", "reconcile", name, "--accept-loss", "a test")
	}
	report(0, "already charged (replayed)", "first")
	for _, key := range []string{"lost", "later", "first-again"} {
		report(0, "charged: 2 ledgers", key)
	}
	d.stop(syscall.SIGTERM)
	verified(t, restored)
}
