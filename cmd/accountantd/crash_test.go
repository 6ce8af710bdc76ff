package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

const (
	clients = 8
	steps   = 1000 // of each client, in TestCrash
	window  = 64   // in flight of each client
)

// trainer is one client: it streams its steps and resumes until all are
// acknowledged.
type trainer struct {
	client   pb.AccountantServiceClient
	ledger   string
	writer   string
	steps    uint64
	acked    uint64
	receipts map[uint64]*pb.Receipt
	resumed  int
	progress *atomic.Int64 // acknowledged by all trainers
}

func (r *trainer) run(ctx context.Context) error {
	for r.acked < r.steps {
		err := r.stream(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("acknowledged %d of %d: %w", r.acked, r.steps, err)
		}
		switch status.Code(err) {
		case codes.OK, codes.Unavailable: // the daemon went away: again
			r.resumed++
		default:
			return err
		}
	}
	return nil
}

func (r *trainer) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := r.client.ReportStream(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
		Open: &pb.ReportStreamRequest_Open{Ledger: r.ledger, Writer: r.writer}}})
	if err != nil {
		return nil // Recv has the cause; the loop opens another
	}
	answer, err := stream.Recv()
	if err != nil {
		return err
	}
	last := answer.GetOpened().GetLastSequence()
	if last < r.acked {
		return fmt.Errorf("acknowledged %d, but the daemon knows of %d only", r.acked, last)
	}
	r.advance(last)
	for sent := last; r.acked < r.steps; {
		for ; sent < min(r.steps, r.acked+window); sent++ {
			err := stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
				Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: sent + 1, Charge: charge()}}})
			if err != nil {
				break
			}
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		a := answer.GetAcknowledged()
		if a == nil || a.GetThrough() <= r.acked || a.GetReceipt().GetSequence() != a.GetThrough() {
			return fmt.Errorf("answer %v after %d", answer, r.acked)
		}
		r.receipts[a.GetThrough()] = a.GetReceipt()
		r.advance(a.GetThrough())
	}
	return nil
}

func (r *trainer) advance(through uint64) {
	r.progress.Add(int64(through - r.acked))
	r.acked = through
}

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
	var progress atomic.Int64
	var group sync.WaitGroup
	ctx := patiently(t)
	trainers := make([]*trainer, clients)
	for i := range trainers {
		r := &trainer{client: dial(t, target), ledger: ledgers[i%2], writer: uuid.NewString(), steps: steps,
			receipts: map[uint64]*pb.Receipt{}, progress: &progress}
		trainers[i] = r
		group.Go(func() {
			if err := r.run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for i, end := range []func(){
		func() { d.kill() }, func() { d.stop(syscall.SIGTERM) }, func() { d.kill() },
	} {
		for progress.Load() < int64(clients*steps*(i+1)/5) && ctx.Err() == nil {
			waitForMore(ctx, client, ledgers[0])
		}
		store := d.ready["store"]
		end()
		verified(t, dir)
		if progress.Load() == clients*steps {
			t.Error("all was done before the daemon ended: nothing tested")
		}
		d = start(t, dir)
		if d.ready["store"] != store {
			t.Errorf("store %s became %s", store, d.ready["store"])
		}
	}
	group.Wait()
	if t.Failed() {
		t.Fatalf("daemon's log:\n%s", d.stderr)
	}
	entries := map[string]*pb.Entry{} // by writer and sequence
	for _, name := range ledgers {
		readEntries(t, client, name, entries)
	}
	if len(entries) != clients*steps {
		t.Errorf("%d entries; want %d", len(entries), clients*steps)
	}
	for i, r := range trainers {
		if r.resumed == 0 {
			t.Errorf("client %d never resumed", i)
		}
		checkTrainer(t, client, r, entries)
	}
	d.stop(syscall.SIGINT)
	verified(t, dir)
}

// verified goes through all of a daemon's file.
func verified(t *testing.T, dir string) {
	t.Helper()
	if done, err := persist.Verify(patiently(t), persist.VerifyConfig{Path: filepath.Join(dir, persist.FileName)}); err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// waitForMore passes some time: a call to the daemon.
func waitForMore(ctx context.Context, client pb.AccountantServiceClient, name string) {
	_, _ = client.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
}

func key(writer string, sequence uint64) string { return fmt.Sprint(writer, " ", sequence) }

// readEntries adds a ledger's entries; none may be there twice.
func readEntries(t *testing.T, client pb.AccountantServiceClient, name string, entries map[string]*pb.Entry) {
	t.Helper()
	position := uint64(0)
	for token := ""; ; {
		page, err := client.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: name, PageSize: 1000, PageToken: token})
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
	if l := answer.GetLedger(); l.GetPosition() != position || l.GetTotalCount() != position || l.GetDistinctMechanisms() != 1 {
		t.Errorf("%s: %v; want %d steps of one mechanism", name, l, position)
	}
}

// checkTrainer compares a client's receipts with the ledger, and sends one of
// its steps again.
func checkTrainer(t *testing.T, client pb.AccountantServiceClient, r *trainer, entries map[string]*pb.Entry) {
	t.Helper()
	for i := uint64(1); i <= r.acked; i++ {
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
		again, err := client.Report(patiently(t), &pb.ReportRequest{Ledger: r.ledger, Writer: r.writer, Sequence: i, Charge: charge()})
		if err != nil || !again.GetReplayed() || again.GetReceipt().String() != receipt.String() {
			t.Errorf("step %d again: %v, %v; want the first receipt %v", i, again, err, receipt)
		}
		break // any one of them
	}
}
