// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// Many clients with equal content stream at once while the daemon is killed
// twice and stopped once. Each acknowledged step is in the ledger exactly once,
// with the receipt that was given; every client's steps are charged; duplicates
// get their first receipt.
func TestCrash(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir)
	target := "unix:" + d.ready["socket"]
	client := dial(t, target)
	ledgers := []string{"crash/a", "crash/b"}
	for _, name := range ledgers {
		create(t, client, name)
	}
	l := startLoad(t, target, 8, ledgers...)
	for _, end := range []func(){
		func() { d.kill() }, func() { d.stop(syscall.SIGTERM) }, func() { d.kill() },
	} {
		l.more(t, 200)
		store := d.ready["store"]
		end()
		verified(t, dir)
		d = start(t, dir)
		if d.ready["store"] != store {
			t.Errorf("store %s became %s", store, d.ready["store"])
		}
	}
	l.more(t, 200)
	l.finish()
	if t.Failed() {
		t.Fatalf("daemon's log:\n%s", d.stderr)
	}
	if n, steps := checkTrainers(t, client, l, ledgers), l.acknowledged(); uint64(n) != steps {
		t.Errorf("%d entries; want %d", n, steps)
	}
	for i, r := range l.trainers {
		if r.resumed == 0 {
			t.Errorf("client %d never resumed", i)
		}
	}
	d.stop(syscall.SIGINT)
	verified(t, dir)
}

// verified goes through all of a daemon's file.
func verified(t *testing.T, dir string) {
	t.Helper()
	if done, err := verify.File(patiently(t),
		verify.Config{Path: filepath.Join(dir, persist.FileName)}); err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

func key(writer string, sequence uint64) string { return fmt.Sprint(writer, " ", sequence) }

// checkTrainers compares the receipts of a load's clients with what its ledgers have, and returns how many entries
// these are.
func checkTrainers(t *testing.T, client api.Client, l *load, ledgers []string) int {
	t.Helper()
	entries := map[string]*pb.Entry{} // by writer and sequence
	for _, name := range ledgers {
		readEntries(t, client, name, entries)
	}
	for _, r := range l.trainers {
		checkTrainer(t, client, r, entries)
	}
	return len(entries)
}

// readEntries adds a ledger's entries; none may be there twice.
func readEntries(t *testing.T, client api.Client, name string, entries map[string]*pb.Entry) {
	t.Helper()
	position := uint64(0)
	for token := ""; ; {
		page, err := client.ListEntries(patiently(t),
			&pb.ListEntriesRequest{Ledger: name, PageSize: 1000, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.GetEntries() {
			position++
			k := key(e.GetWriter(), e.GetSequence())
			if e.GetPosition() != position || entries[k] != nil {
				t.Fatalf("%s at %d: %v; before: %v", name, position, e, entries[k])
			}
			entries[k] = e
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	answer, err := client.GetLedger(patiently(t), &pb.GetLedgerRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if l := answer.GetLedger(); l.GetPosition() != position || l.GetTotalCount() != position ||
		l.GetDistinctMechanisms() != 1 {
		t.Errorf("%s: %v; want %d steps of one mechanism", name, l, position)
	}
}

// checkTrainer compares a client's receipts with the ledger, and sends one of
// its steps again.
func checkTrainer(t *testing.T, client api.Client, r *trainer, entries map[string]*pb.Entry) {
	t.Helper()
	for i := uint64(1); i <= r.acked.Load(); i++ {
		e := entries[key(r.writer, i)]
		if e == nil {
			t.Fatalf("step %d of %s is missing", i, r.writer)
		}
		receipt := r.receipts[i]
		if receipt == nil {
			continue // acknowledged by a later one
		}
		if receipt.GetPosition() != e.GetPosition() || string(receipt.GetHeadHash()) != string(e.GetHash()) {
			t.Errorf("step %d: receipt %v; entry %v", i, receipt, e)
		}
	}
	for i, receipt := range r.receipts {
		again, err := client.Report(patiently(t),
			&pb.ReportRequest{Lane: &pb.Lane{Ledger: r.ledger, Writer: r.writer, Sequence: i},
				Charge: r.load.step(r.writer, i)})
		if err != nil || !again.GetReplayed() || again.GetReceipt().String() != receipt.String() {
			t.Errorf("step %d again: %v, %v; want the first receipt %v", i, again, err, receipt)
		}
		break // any one of them
	}
}
