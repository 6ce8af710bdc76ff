// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// failoversWanted, set in the environment, is how often the primary is lost; make failovers sets it.
const failoversWanted = "FAILOVERS"

// lossesWanted, set in the environment, is a part of the names of the losses to try; all without it.
const lossesWanted = "LOSSES"

func failovers(t *testing.T) int {
	t.Helper()
	if os.Getenv(failoversWanted) == "" {
		t.Skipf("it takes minutes; make failovers runs it (%s=20)", failoversWanted)
	}
	n, err := strconv.Atoi(os.Getenv(failoversWanted))
	if err != nil || n < 1 {
		t.Fatalf("%s=%q; allowed: a number from 1", failoversWanted, os.Getenv(failoversWanted))
	}
	return n
}

// patroniFleet starts daemons on a new database of the cluster.
func patroniFleet(t *testing.T, p *pgtest.Patroni, database string, n int, args ...string) (daemons []*daemon) {
	t.Helper()
	if err := p.Exec("CREATE DATABASE " + database); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--store", p.URL(database), "--signing-key", filepath.Join(t.TempDir(), keyFile)}, args...)
	for range n {
		daemons = append(daemons, start(t, dataDir(t), args...))
	}
	return daemons
}

// loss is a way to lose the primary, and how its machine comes back after another one has taken over.
type loss struct {
	name       string
	begin, end func(*pgtest.Node) error
}

const stopped = "machine stopped"

var losses = []loss{
	{"server killed", (*pgtest.Node).KillServer, func(*pgtest.Node) error { return nil }},
	{"machine killed", (*pgtest.Node).KillMachine, (*pgtest.Node).Restart},
	{stopped, (*pgtest.Node).StopMachine,
		func(n *pgtest.Node) error { return n.Resume(3 * time.Second) }}, // until then it serves, as the old primary
}

// TestFailovers: three daemons on three servers under Patroni, writers and askers on all of them, and the primary is
// lost again and again. Writers go on by themselves. What was acknowledged is there once, as its receipt says; nobody
// reads less than was acknowledged; no budget is overrun; and everything verifies.
func TestFailovers(t *testing.T) { loseThePrimary(t, func(*pgtest.Patroni) {}) }

// TestFailoversBehindHAProxy: the same, where daemons know one address only, which leads to the server that Patroni
// calls the primary.
func TestFailoversBehindHAProxy(t *testing.T) {
	loseThePrimary(t, func(p *pgtest.Patroni) { p.Proxied(t) })
}

func loseThePrimary(t *testing.T, before func(*pgtest.Patroni)) {
	t.Helper()
	rounds := failovers(t)
	p := pgtest.StartPatroni(t, pgtest.PatroniConfig{Nodes: 3, Synchronous: true})
	before(p)
	daemons := patroniFleet(t, p, "ledgers", 3, "--require-standby")
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, d := range daemons {
			t.Logf("a daemon's log:\n%s", d.stderr)
		}
		t.Logf("Patroni's logs: %s", p.Logs())
	})
	ctl := accountctl(t)
	c := startCrowd(t, daemons, 12, 2)
	t.Log(pgtest.PatroniVersion())
	losses := slices.DeleteFunc(slices.Clone(losses), func(l loss) bool {
		return !strings.Contains(l.name, os.Getenv(lossesWanted))
	})
	if !pgtest.KeepsLock() {
		t.Log("Patroni is older than 3.0.3: no machine is stopped, since it may take the lead back from its successor")
		losses = slices.DeleteFunc(losses, func(l loss) bool { return l.name == stopped })
	}
	if len(losses) == 0 {
		t.Fatalf("%s=%q leaves no loss to try", lossesWanted, os.Getenv(lossesWanted))
	}
	pauses := map[string][]time.Duration{}
	for round := range rounds {
		kind := losses[round%len(losses)]
		c.more(t, 20)
		primary, err := p.AwaitPrimary(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		lost := time.Now()
		if err := kind.begin(primary); err != nil {
			t.Fatal(err)
		}
		next, err := p.AwaitPrimary(2*time.Minute, primary)
		if err != nil {
			t.Fatal(err)
		}
		elected := time.Since(lost)
		c.more(t, 5)
		if err := kind.end(primary); err != nil {
			t.Fatal(err)
		}
		if err := p.AwaitStandbys(3 * time.Minute); err != nil {
			t.Fatal(err)
		}
		c.more(t, 5)
		pause := c.pause(lost)
		pauses[kind.name] = append(pauses[kind.name], pause)
		t.Logf("%d: %s of %s: %s is primary after %.1f s; writers paused for %.1f s; %d acknowledged", round+1,
			kind.name, primary.Name(), next.Name(), elected.Seconds(), pause.Seconds(), c.acknowledged())
		c.check(t, daemons[round%len(daemons)])
		if round%5 == 4 {
			verifiedBackup(t, ctl, daemons[round%len(daemons)])
		}
		if t.Failed() {
			return
		}
	}
	c.finish()
	for _, d := range daemons[1:] {
		c.check(t, d)
	}
	c.checkWhole(t, daemons[0])
	verifiedBackup(t, ctl, daemons[0])
	for kind, all := range pauses {
		slices.Sort(all)
		t.Logf("%s: %d times, writers paused for %.1f s (median), %.1f s (longest)", kind, len(all),
			all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
	}
	t.Logf("%d failovers; %d reports acknowledged, %d attempts that were not; %d questions answered; %d budgets "+
		"used up", rounds, c.acknowledged(), c.failed.Load(), c.asked.Load(), c.budget.Load())
	for _, d := range daemons {
		t.Logf("unknown outcomes found out: %d",
			strings.Count(d.stderr.String(), "the outcome of a commit was found out"))
		d.stop(syscall.SIGTERM)
	}
}

// verifiedBackup takes a backup through a daemon and verifies all of it.
func verifiedBackup(t *testing.T, ctl func(...string) (int, string), d *daemon) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup")
	if code, out := ctl("backup", file, "--server", "unix:"+d.ready["socket"]); code != 0 {
		t.Fatalf("backup: exit %d\n%s", code, out)
	}
	if code, out := ctl("verify", "--backup", file); code != 0 {
		t.Errorf("verify: exit %d\n%s", code, out)
	}
}

// TestFailoverLosses: with asynchronous replication a failover loses what was acknowledged last. Both daemons say so in
// the ledger, once, and it takes no charges. The receipts that clients carry find it, too, and a daemon that requires a
// standby does not even begin.
func TestFailoverLosses(t *testing.T) {
	rounds := min(failovers(t), 3)
	p := pgtest.StartPatroni(t, pgtest.PatroniConfig{Nodes: 2})
	daemons := patroniFleet(t, p, "ledgers", 2)
	code, _, stderr := exitCode(t, "--listen", "", "--http", "", "--data", dataDir(t), "--store", p.URL("ledgers"),
		"--signing-key", daemons[0].command.Args[slices.Index(daemons[0].command.Args, "--signing-key")+1],
		"--require-standby")
	if code != 2 || !strings.Contains(stderr, "synchronous_standby_names is empty") {
		t.Errorf("--require-standby with asynchronous replication: exit %d, %s", code, stderr)
	}
	for round := range rounds {
		name := fmt.Sprintf("l%d", round)
		primary, err := p.AwaitPrimary(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		api := dial(t, daemons[0].ready["listen"])
		create(t, api, name)
		report := func(key string, last *pb.Receipt) (*pb.WriteResponse, error) {
			return api.Report(patiently(t), &pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: name, Writer: "request/" + key, Sequence: 1, LastReceipt: last},
				Charge: charge(),
			})
		}
		kept, err := report("kept", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.AwaitStandbys(time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)                       // until the standby has it
		if err := primary.StopSending(); err != nil { // as when the network to the standby is slow
			t.Fatal(err)
		}
		lost, err := report("lost", kept.GetReceipt())
		if err != nil {
			t.Fatal(err)
		}
		if err := primary.KillMachine(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.AwaitPrimary(2*time.Minute, primary); err != nil {
			t.Fatal(err)
		}
		awaitLoss(t, daemons, name, lost.GetReceipt())
		l, err := api.GetLedger(patiently(t), &pb.GetLedgerRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		position := fmt.Sprintf("the newest is entry %d with hash %x", lost.GetReceipt().GetPosition(),
			lost.GetReceipt().GetHeadHash())
		if a := l.GetLedger().GetAssumptions(); !l.GetLedger().GetNeedsReconciling() || len(a) != 1 ||
			!strings.Contains(a[0].GetText(), position) {
			t.Errorf("the ledger does not say that %s: %v", position, l)
		}
		if _, err := report("more", nil); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a charge after the loss: %v", err)
		}
		if again, err := report("kept", nil); err != nil || !again.GetReplayed() {
			t.Errorf("what the standby had: %v, %v", again, err)
		}
		if err := primary.Restart(); err != nil {
			t.Fatal(err)
		}
		if err := p.AwaitStandbys(3 * time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}
