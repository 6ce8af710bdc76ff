// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist"
)

// setCharges is how many charges to sets are raced; 100,000 is the large run.
const setCharges = "ACCOUNTANT_SET_CHARGES"

// setBlocks are the ledgers. Each has a budget of a quarter of a tenth of ε for each charge, which runs out
// when somewhat more than half of the charges are made.
const setBlocks = 120

// Workers charge sets of 2 to 100 overlapping ledgers until budgets run out, call again, and go away
// while their calls are in flight; meanwhile the daemon is killed. In the end every charge is in all of
// its ledgers or in none, as its caller was told, none is there twice, and the sums of what is charged,
// added up by hand, are within the budgets.
func TestSetKills(t *testing.T) {
	charges, kills := 600, 4
	if text := os.Getenv(setCharges); text != "" {
		var err error
		if charges, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", setCharges, err)
		}
		kills = max(4, charges/2000)
	}
	dir := dataDir(t)
	d := start(t, dir)
	target := "unix:" + d.ready["socket"]
	r := &setRace{t: t, client: dial(t, target), told: map[string]*toldSet{}, budget: uint64(charges / 4)}
	for i := range setBlocks {
		if _, err := r.client.CreateLedger(patiently(t), &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{
			Name: blockName(i), Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
			Budgets: []*pb.Budget{{Epsilon: proto.Float64(float64(charges/4) / 10), Guard: pb.Budget_BASIC}}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	var workers sync.WaitGroup
	const parallel = 24
	for i := range parallel {
		workers.Go(func() { r.work(i, charges*(i+1)/parallel-charges*i/parallel) })
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	killed := 0
	for next := charges / (kills + 1); killed < kills; {
		select {
		case <-done:
			killed = kills
			continue
		case <-time.After(5 * time.Millisecond):
		}
		if int(r.decided.Load()) < next {
			continue
		}
		d.kill()
		d = start(t, dir)
		killed++
		next += charges / (kills + 1)
	}
	<-done
	took := time.Since(began)
	d.kill()
	verified(t, dir)
	r.check(dir)
	if r.accepted+r.refused != charges {
		t.Errorf("%d charges were decided; want %d", r.accepted+r.refused, charges)
	}
	t.Logf("%d charges to sets, %d accepted and %d refused, %d entries, %d calls again, in %v with %d kills", charges,
		r.accepted, r.refused, r.entries, r.again.Load(), took, killed)
}

func blockName(i int) string { return fmt.Sprintf("blocks/%03d", i) }

// setRace is what the workers do and were told.
type setRace struct {
	t       *testing.T
	client  api.Client
	decided atomic.Int64
	again   atomic.Int64

	budget uint64 // tenths of ε

	mu   sync.Mutex
	told map[string]*toldSet // by writer

	accepted, refused, entries int
}

// toldSet is a charge and what its caller was told of it.
type toldSet struct {
	names   []string
	count   uint32
	receipt *pb.Receipt // nil: refused
}

func (r *setRace) work(worker, charges int) {
	random := rand.New(rand.NewPCG(uint64(worker), 17))
	for i := range charges {
		size := 2 + int(98*random.Float64()*random.Float64())
		of := &toldSet{count: 1 + random.Uint32N(3)}
		for _, j := range random.Perm(setBlocks)[:size] {
			of.names = append(of.names, blockName(j))
		}
		writer := fmt.Sprintf("request/%d-%d", worker, i)
		req := &pb.ReportRequest{Lane: &pb.Lane{Contribution: pb.SetPart_OVER_ALL, Writer: writer, Sequence: 1,
			Ledgers: &pb.LedgerSet{Ledgers: of.names}},
			Charge: &pb.Charge{Events: []*pb.Event{{Count: of.count, Mechanism: &pb.Mechanism{
				Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: proto.Float64(0.1)}}}}}}}
		for {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			if random.IntN(8) == 0 { // goes away
				soon := time.Duration(random.IntN(4000)) * time.Microsecond
				ctx, cancel = context.WithTimeout(context.Background(), soon)
			}
			answer, err := r.client.Report(ctx, req)
			cancel()
			code := status.Code(err)
			if code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Aborted ||
				code == codes.Canceled {
				r.again.Add(1)
				time.Sleep(time.Millisecond)
				continue
			}
			if err != nil && code != codes.ResourceExhausted {
				r.t.Errorf("%s: %v", writer, err)
				return
			}
			of.receipt = answer.GetReceipt()
			break
		}
		if of.receipt != nil && random.IntN(10) == 0 { // once more
			answer, err := r.client.Report(patiently(r.t), req)
			if err == nil && (!answer.GetReplayed() || !proto.Equal(answer.GetReceipt(), of.receipt)) {
				r.t.Errorf("%s: %v; first %v", writer, answer, of.receipt)
			}
		}
		r.mu.Lock()
		r.told[writer] = of
		r.mu.Unlock()
		r.decided.Add(1)
	}
}

// check adds up what is stored.
func (r *setRace) check(dir string) {
	s, err := persist.Open(persist.Config{Path: filepath.Join(dir, persist.FileName)})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	each := func(name string, f func(ledger.Entry)) {
		for from := uint64(1); ; {
			records, err := s.Records(name, from, 1000)
			if err != nil && !errors.Is(err, ledger.ErrNotFound) {
				r.t.Fatal(err)
			}
			for _, record := range records {
				f(record.Entry)
			}
			if len(records) < 1000 {
				return
			}
			from += 1000
		}
	}
	keys := map[ledger.SetPart]string{} // the writer of a journal's entry; of a part only the first two fields
	for i := range uint8(ledger.Journals) {
		each(ledger.JournalName(i), func(e ledger.Entry) {
			keys[ledger.SetPart{Journal: i, Position: e.Position}] = e.Writer.Name
		})
	}
	found := map[string][]string{}
	for i := range setBlocks {
		spent := uint64(0)
		each(blockName(i), func(e ledger.Entry) {
			events := e.Action.Details().Events
			key := keys[ledger.SetPart{Journal: e.Set.Journal, Position: e.Set.Position}]
			if of := r.told[key]; of == nil || events[0] != (mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1},
				Count: of.count}) {
				r.t.Errorf("%s has %+v of %q: %+v", blockName(i), events, key, of)
			}
			spent += uint64(events[0].Count)
			found[key] = append(found[key], blockName(i))
			r.entries++
		})
		if spent > r.budget {
			r.t.Errorf("%s: %d tenths are charged of %d", blockName(i), spent, r.budget)
		}
	}
	for key, of := range r.told {
		slices.Sort(of.names)
		if of.receipt == nil {
			r.refused++
			of.names = nil
		} else {
			r.accepted++
		}
		if !slices.Equal(found[key], of.names) {
			r.t.Errorf("%s is in %v; its caller was told %v", key, found[key], of.names)
		}
		delete(found, key)
	}
	if len(found) > 0 {
		r.t.Errorf("nobody has sent %v", found)
	}
}
