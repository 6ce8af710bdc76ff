// SPDX-License-Identifier: Apache-2.0

package main

import (
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

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist"
)

// declared is n times ε = 0.1.
func declared(n uint32) []*pb.Event {
	tenth := 0.1
	return []*pb.Event{{Count: n,
		Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &tenth}}}}}
}

// A backup is taken while clients report; the daemon goes on, and is killed. What is
// restored of the backup answers what it knows, takes nothing from earlier clients nor,
// until somebody has said what was lost, from others; those whose receipts are lost
// notice.
func TestRestore(t *testing.T) {
	ctl := accountctl(t)
	dir, files := dataDir(t), t.TempDir()
	d := start(t, dir)
	socket := "unix:" + d.ready["socket"]
	must := func(says string, args ...string) string {
		t.Helper()
		code, out := ctl(append(args, "--server", socket)...)
		if code != 0 || !strings.Contains(out, says) {
			t.Fatalf("accountctl %s: %d, %s; want %s", strings.Join(args, " "), code, out, says)
		}
		return out
	}
	api := dial(t, socket)
	// Streams go to two of them; the others are of one client each.
	const plain, filter, small, closed = "restore/plain", "restore/filter", "restore/small", "restore/closed"
	create(t, api, plain)
	must("", "ledger", "create", filter, "--adjacency", "add-or-remove-one", "--budget",
		"epsilon=1000,delta=1e-5,guard=rdp,order=8")
	must("", "ledger", "create", small, "--adjacency", "add-or-remove-one", "--budget", "epsilon=1,guard=basic")
	create(t, api, closed)
	must("", "ledger", "close", closed, "--yes", "--request-id", "close")

	newClient := func() *client.Client {
		t.Helper()
		c, err := client.New(client.Config{Server: socket, Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	early, late, streaming := newClient(), newClient(), newClient()
	report := func(c *client.Client, n uint32) error {
		_, err := c.Report(patiently(t), small, declared(n), nil)
		return err
	}
	for _, c := range []*client.Client{early, late} {
		if err := report(c, 1); err != nil {
			t.Fatal(err)
		}
	}
	held, err := early.Reserve(patiently(t), small, declared(3), time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := startLoad(t, socket, 8, plain, filter)
	l.more(t, 125)
	must("backed up", "backup", filepath.Join(files, "backup"))
	// Of this the backup knows nothing.
	if _, err := early.Commit(patiently(t), small, held.GetReceipt().GetPosition(), declared(1), nil); err != nil {
		t.Fatal(err)
	}
	early = newClient() // its newest receipt would be lost
	for _, c := range []*client.Client{late, streaming} {
		lane, err := c.Stream(patiently(t), small)
		if err == nil {
			err = errors.Join(lane.Report(patiently(t), declared(1), nil), lane.Close(patiently(t)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	old := d.ready["store"]
	l.more(t, 125)
	d.kill()
	l.giveUp()

	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir + ".old") })
	code, out, stderr := exitCode(t, "restore", filepath.Join(files, "backup"), "--data", dir)
	if code != 0 || !strings.Contains(out,
		"restored: 3 ledgers, which need reconciling, and 1 closed ones, of store "+old) {
		t.Fatalf("%d: %s%s", code, out, stderr)
	}
	if code, out := ctl("verify", "--data", dir); code != 0 {
		t.Fatalf("verify: %d, %s", code, out)
	}
	d = start(t, dir)
	if d.ready["store"] == old {
		t.Error("the same store")
	}

	// Earlier writers: what the backup has is answered, with the first receipts.
	lost := map[string]uint64{}
	for _, r := range l.trainers {
		lost[r.ledger] += checkRestoredTrainer(t, api, r)
	}
	if lost[plain] == 0 || lost[filter] == 0 {
		t.Errorf("nothing was lost: %v", lost)
	}
	if code, out := ctl("ledger", "close", closed, "--yes", "--request-id", "close", "--server", socket); code != 0 ||
		!strings.Contains(out, "already closed (replayed)") {
		t.Errorf("a closed ledger: %d, %s", code, out)
	}
	// Clients that hold a lost receipt notice, by unary calls and by streams.
	if err := report(late, 1); !errors.Is(err, client.ErrLost) {
		t.Errorf("a client with a lost receipt: %v", err)
	}
	if _, err := streaming.Stream(patiently(t), small); !errors.Is(err, client.ErrLost) {
		t.Errorf("a client's stream with a lost receipt: %v", err)
	}
	if _, err := l.trainers[0].last(patiently(t), api); status.Code(err) != codes.DataLoss {
		t.Errorf("a stream with a lost receipt: %v", err)
	}

	// Nothing until it is reconciled.
	small1 := must("needs reconciling", "ledger", "show", small)
	if !strings.Contains(small1, "0.5    0         0.5") { // 0.1 + 0.1 + 0.3, which was reserved
		t.Errorf("the reservation is not spent: %s", small1)
	}
	if err := report(early, 1); status.Code(err) != codes.FailedPrecondition ||
		!strings.Contains(err.Error(), "accountctl ledger reconcile "+small) {
		t.Errorf("a new client: %v", err)
	}
	if code, out := ctl("report", plain, "pure-dp", "--epsilon", "0.1", "--server", socket); code != 3 ||
		!strings.Contains(out, "needs reconciling") {
		t.Errorf("report: %d, %s", code, out)
	}
	must(`"guarantee": "descriptive"`, "query", filter, "--delta", "1e-5", "--output", "json")
	must("is not reconciled", "statement", filter)
	_, err = dial(t, d.ready["listen"]).Reconcile(patiently(t),
		&pb.ReconcileRequest{
			Lane:      &pb.Lane{Ledger: plain, Writer: "request/r", Sequence: 1},
			Reconcile: &pb.Reconcile{AcceptLoss: true, Reason: "r"},
		})
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("over TCP: %v", err)
	}

	// Reconciled: the loss is known, known and too large, or accepted.
	workload := func(name string, events string) string {
		t.Helper()
		file := filepath.Join(files, name)
		if err := os.WriteFile(file,
			[]byte(`{"adjacency": "ADD_OR_REMOVE_ONE", "events": [`+events+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	trained := workload("filter.json",
		fmt.Sprintf(`{"count": %d, "mechanism": {"poissonSampled": {"samplingProbability": 0.01, "mechanism": {"gaussian": {"noiseMultiplier": 1}}}}}`, lost[filter]))
	must("reconciled", "ledger", "reconcile", filter, "--charge", trained, "--contribution", "over-all",
		"--request-id", "known")
	must("already reconciled (replayed)", "ledger", "reconcile", filter, "--charge", trained,
		"--contribution", "over-all",
		"--request-id", "known")
	must(`"guarantee": "filter"`, "query", filter, "--delta", "1e-5", "--output", "json")
	must("is no more than", "statement", filter)
	must("reconciled", "ledger", "reconcile", small, "--contribution", "over-all", "--charge",
		workload("small.json", `{"count": 6, "mechanism": {"pureDp": {"epsilon": 0.1}}}`))
	must(`"guarantee": "descriptive"`, "query", small, "--delta", "1e-5", "--output", "json")
	must("1.1    0         0", "ledger", "show", small)
	must("reconciled", "ledger", "reconcile", plain, "--accept-loss", "the logs burnt")
	must(`"kind": "loss"`, "query", plain, "--delta", "1e-5", "--output", "json")
	must("the loss was accepted (reason given: the logs burnt)", "statement", plain)

	fresh, err := newClient().Stream(patiently(t), plain)
	if err == nil {
		err = errors.Join(fresh.Report(patiently(t), declared(1), nil), fresh.Close(patiently(t)))
	}
	if err != nil {
		t.Errorf("a new client: %v", err)
	}
	_, err = newClient().Report(patiently(t), filter, charge().GetEvents(), nil)
	if err != nil {
		t.Errorf("a new client: %v", err)
	}
	for _, name := range []string{plain, filter, small, closed} {
		must("verified", "verify", name)
	}
	d.stop(syscall.SIGTERM)
	verified(t, dir)
}

// last opens a stream with the newest receipt.
func (r *trainer) last(ctx context.Context, api api.Client) (*pb.ReportStreamResponse, error) {
	var newest *pb.Receipt
	for _, receipt := range r.receipts {
		if receipt.GetPosition() > newest.GetPosition() {
			newest = receipt
		}
	}
	stream, err := api.ReportStream(ctx)
	if err == nil {
		err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
			Open: &pb.ReportStreamRequest_Open{Ledger: r.ledger, Writer: r.writer, LastReceipt: newest}}})
	}
	if err != nil {
		return nil, err
	}
	return stream.Recv()
}

// checkRestoredTrainer compares a client's receipts with the restored ledger, and
// returns how many of its acknowledged steps were lost.
func checkRestoredTrainer(t *testing.T, api api.Client, r *trainer) (lost uint64) {
	t.Helper()
	at, err := api.GetWriter(patiently(t), &pb.GetWriterRequest{Ledger: r.ledger, Writer: r.writer})
	if err != nil {
		t.Fatal(err)
	}
	again := func(sequence uint64) (*pb.WriteResponse, error) {
		return api.Report(patiently(t),
			&pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: r.ledger, Writer: r.writer, Sequence: sequence},
				Charge: charge(),
			})
	}
	compared := false
	for sequence, receipt := range r.receipts {
		if sequence > at.GetLastSequence() || compared {
			continue
		}
		answer, err := again(sequence)
		if err != nil || !answer.GetReplayed() || answer.GetReceipt().String() != receipt.String() {
			t.Errorf("step %d again: %v, %v; want the first receipt %v", sequence, answer, err, receipt)
		}
		compared = true
	}
	if _, err := again(at.GetLastSequence() + 1); status.Code(err) != codes.FailedPrecondition ||
		!strings.Contains(err.Error(), "a new writer") {
		t.Errorf("the next step: %v; want that a new writer is needed", err)
	}
	return r.acked.Load() - min(r.acked.Load(), at.GetLastSequence())
}

// A restore is killed at any moment: what is there then is nothing, what no daemon
// starts from, or the whole store.
func TestRestoreThroughKills(t *testing.T) {
	dir, files := dataDir(t), t.TempDir()
	d := start(t, dir)
	socket := "unix:" + d.ready["socket"]
	create(t, dial(t, socket), "a")
	create(t, dial(t, socket), "b")
	l := startLoad(t, socket, 8, "a", "b")
	l.more(t, 250)
	c, err := client.New(client.Config{Server: socket})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(files, "backup"))
	if err == nil {
		_, err = c.Backup(patiently(t), f, nil)
		err = errors.Join(err, f.Close(), c.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	d.kill()
	l.giveUp()
	outcomes := map[string]int{}
	restored := filepath.Join(files, "restored")
	for round := 0; round < 8 || outcomes["cut off"] == 0 && round < 100; round++ {
		command := exec.Command(binary, "restore", filepath.Join(files, "backup"), "--data", restored)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = command.Wait(); close(ended) }()
		moment := time.Duration(round*round) * time.Millisecond / 4
		for wait := true; wait; { // until it has begun to write, and a moment longer
			select {
			case <-ended:
				wait = false
			default:
				_, err := os.Stat(filepath.Join(restored, persist.FileName+".restoring"))
				if wait = err != nil; wait {
					time.Sleep(time.Millisecond)
				}
			}
		}
		select {
		case <-ended:
		case <-time.After(moment):
		}
		_ = command.Process.Kill() // it may have ended
		<-ended
		left, err := os.ReadDir(restored)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		switch {
		case len(left) == 0:
			outcomes["nothing"]++
		case len(left) == 1 && left[0].Name() == persist.FileName+".restoring":
			outcomes["cut off"]++
			code, _, stderr := exitCode(t, "--listen", "127.0.0.1:0", "--http", "", "--data", restored)
			if code != 1 || !strings.Contains(stderr, "a restore to it goes on or was cut off") {
				t.Errorf("a daemon started from what was cut off: %d, %s", code, stderr)
			}
		case len(left) == 1 && left[0].Name() == persist.FileName:
			outcomes["whole"]++
			verified(t, restored)
		default:
			t.Errorf("left: %v", left)
		}
		if err := os.RemoveAll(restored); err != nil {
			t.Fatal(err)
		}
	}
	if outcomes["cut off"] == 0 {
		t.Errorf("never cut off: %v", outcomes)
	}
	t.Log(outcomes)
}
