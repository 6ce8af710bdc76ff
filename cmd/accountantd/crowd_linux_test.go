// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// crowd is writers and askers that use all daemons of a fleet at random: an attempt that fails is made again through
// another daemon, so that a report may reach several.
type crowd struct {
	apis    []api.Client
	ctx     context.Context //nolint:containedctx // ends with the crowd
	cancel  context.CancelFunc
	group   sync.WaitGroup
	enough  atomic.Bool
	writers []*crowdWriter

	failed, asked atomic.Uint64
	budget        atomic.Uint64 // the number of the ledger whose budget is being used up

	mu     sync.Mutex
	newest map[string]*pb.Receipt // of each ledger: the one with the highest position that any writer holds
	acks   []time.Time
}

// crowdWriter reports to many ledgers, in a lane of its own in each.
type crowdWriter struct {
	*crowd
	writer string
	random *rand.Rand
	acked  atomic.Uint64

	mu       sync.Mutex
	receipts map[string][]*pb.Receipt // by ledger, in the lane's order
}

const (
	// crowdLedgers is how many ledgers without budgets all writers use.
	crowdLedgers = 8
	// crowdBudget is how many reports fit into each of the ledgers with a budget.
	crowdBudget = 100
)

func startCrowd(t *testing.T, daemons []*daemon, writers, askers int) *crowd {
	t.Helper()
	c := &crowd{newest: map[string]*pb.Receipt{}}
	for _, d := range daemons {
		c.apis = append(c.apis, dial(t, d.ready["listen"]))
	}
	for i := range crowdLedgers {
		create(t, c.apis[0], fmt.Sprintf("open/%d", i))
	}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	t.Cleanup(func() { c.cancel(); c.group.Wait() })
	work := func(f func() error) {
		c.group.Go(func() {
			for !c.enough.Load() && c.ctx.Err() == nil {
				if err := f(); err != nil && c.ctx.Err() == nil {
					t.Error(err)
					c.cancel()
				}
			}
		})
	}
	for i := range writers {
		w := &crowdWriter{crowd: c, writer: uuid.NewString(), random: rand.New(rand.NewPCG(uint64(i), 1)),
			receipts: map[string][]*pb.Receipt{}}
		c.writers = append(c.writers, w)
		work(w.work)
	}
	for i := range askers {
		random := rand.New(rand.NewPCG(uint64(i), 2))
		work(func() error { return c.ask(random) })
	}
	return c
}

// any returns one of the daemons.
func (c *crowd) any(random *rand.Rand) api.Client {
	return c.apis[random.IntN(len(c.apis))]
}

// again makes attempts through any daemon until one is answered.
func again[A any](c *crowd, random *rand.Rand,
	f func(context.Context, api.Client) (A, error)) (A, error) {
	for {
		ctx, cancel := context.WithTimeout(c.ctx, 15*time.Second)
		answer, err := f(ctx, c.any(random))
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Unknown:
			if c.ctx.Err() != nil {
				return answer, err
			}
			c.failed.Add(1)
			time.Sleep(time.Duration(50+random.IntN(100)) * time.Millisecond)
		default:
			return answer, err
		}
	}
}

// work makes one report, every fourth time to a ledger whose budget all writers use up together.
func (w *crowdWriter) work() error {
	name, events := fmt.Sprintf("open/%d", w.random.IntN(crowdLedgers)), charge().GetEvents()
	number := w.budget.Load()
	if w.random.IntN(4) == 0 {
		name, events = fmt.Sprintf("budget/%d", number), releases(1)
		if len(w.receipts[name]) == 0 {
			_, err := again(w.crowd, w.random, func(ctx context.Context, api api.Client) (any, error) {
				return api.CreateLedger(ctx, &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{Name: name,
					Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
					Budgets: eighths(crowdBudget)}})
			})
			if err != nil {
				return err
			}
		}
	}
	held := w.receipts[name]
	var last *pb.Receipt
	if len(held) > 0 {
		last = held[len(held)-1]
	}
	sequence := uint64(len(held) + 1)
	answer, err := again(w.crowd, w.random,
		func(ctx context.Context, api api.Client) (*pb.WriteResponse, error) {
			return api.Report(ctx, &pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: name, Writer: w.writer, Sequence: sequence, LastReceipt: last},
				Charge: &pb.Charge{Events: events},
			})
		})
	if status.Code(err) == codes.ResourceExhausted && strings.HasPrefix(name, "budget/") {
		w.budget.CompareAndSwap(number, number+1)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s, %d: %w", name, sequence, err)
	}
	w.keep(name, answer.GetReceipt())
	time.Sleep(time.Duration(w.random.IntN(60)) * time.Millisecond)
	return nil
}

func (w *crowdWriter) keep(name string, r *pb.Receipt) {
	w.mu.Lock()
	w.receipts[name] = append(w.receipts[name], r)
	w.mu.Unlock()
	c := w.crowd
	c.mu.Lock()
	if c.newest[name].GetPosition() < r.GetPosition() {
		c.newest[name] = r
	}
	c.acks = append(c.acks, time.Now())
	c.mu.Unlock()
	w.acked.Add(1)
}

// ask reads a ledger: what was acknowledged before is in the answer.
func (c *crowd) ask(random *rand.Rand) error {
	name := fmt.Sprintf("open/%d", random.IntN(crowdLedgers))
	c.mu.Lock()
	before := c.newest[name].GetPosition()
	c.mu.Unlock()
	answer, err := again(c, random,
		func(ctx context.Context, api api.Client) (*pb.GetLedgerResponse, error) {
			return api.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
		})
	if err != nil {
		return err
	}
	if l := answer.GetLedger(); l.GetPosition() < before || l.GetTotalCount() < before {
		return fmt.Errorf("%s: %d entries, of %d that were acknowledged before the question", name, l.GetPosition(),
			before)
	}
	c.asked.Add(1)
	time.Sleep(20 * time.Millisecond)
	return nil
}

// more waits until every writer has n more reports acknowledged.
func (c *crowd) more(t *testing.T, n uint64) {
	t.Helper()
	patience := time.Now().Add(3 * time.Minute)
	for _, w := range c.writers {
		for until := w.acked.Load() + n; w.acked.Load() < until; time.Sleep(10 * time.Millisecond) {
			if c.ctx.Err() != nil || time.Now().After(patience) {
				t.Fatalf("a writer has %d reports acknowledged; waited for %d", w.acked.Load(), until)
			}
		}
	}
}

func (c *crowd) acknowledged() (n uint64) {
	for _, w := range c.writers {
		n += w.acked.Load()
	}
	return n
}

// pause is the longest time since then in which no writer had anything acknowledged.
func (c *crowd) pause(since time.Time) (longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.acks {
		if at.After(since) {
			longest = max(longest, at.Sub(since))
			since = at
		}
	}
	c.acks = nil
	return longest
}

// held are the receipts of all writers, by ledger and key.
func (c *crowd) held() map[string]map[string]*pb.Receipt {
	all := map[string]map[string]*pb.Receipt{}
	for _, w := range c.writers {
		w.mu.Lock()
		for name, receipts := range w.receipts {
			if all[name] == nil {
				all[name] = map[string]*pb.Receipt{}
			}
			for _, r := range receipts {
				all[name][key(w.writer, r.GetSequence())] = r
			}
		}
		w.mu.Unlock()
	}
	return all
}

// check reads all entries through a daemon: each receipt is of one entry, nothing is charged twice, and no budget is
// overrun by what the entries cost, added up here.
func (c *crowd) check(t *testing.T, d *daemon) (entries map[string]map[string]*pb.Entry) {
	t.Helper()
	held, api := c.held(), dial(t, d.ready["listen"])
	entries = map[string]map[string]*pb.Entry{}
	for name, receipts := range held {
		found := map[string]*pb.Entry{}
		position, costs := uint64(0), 0
		for token := ""; ; {
			page, err := api.ListEntries(patiently(t),
				&pb.ListEntriesRequest{Ledger: name, PageSize: 1000, PageToken: token})
			if status.Code(err) == codes.Unavailable {
				continue // the writers' rule: again; patiently bounds it
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.GetEntries() {
				position++
				k := key(e.GetWriter(), e.GetSequence())
				if e.GetPosition() != position || found[k] != nil {
					t.Errorf("%s at %d: %v; before: %v", name, position, e, found[k])
				}
				found[k] = e
				costs += int(e.GetCharge().GetEvents()[0].GetCount())
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		if strings.HasPrefix(name, "budget/") && costs > crowdBudget {
			t.Errorf("%s: %d eighths charged of %d", name, costs, crowdBudget)
		}
		for k, r := range receipts {
			if e := found[k]; e.GetPosition() != r.GetPosition() || !bytes.Equal(e.GetHash(), r.GetHeadHash()) {
				t.Errorf("%s: receipt %v; entry %v", name, r, e)
			}
		}
		entries[name] = found
	}
	return entries
}

// finish waits until all that was begun is acknowledged.
func (c *crowd) finish() {
	c.enough.Store(true)
	c.group.Wait()
}

// checkWhole wants nothing that was not acknowledged, and used-up budgets to be full, once nothing is in flight.
func (c *crowd) checkWhole(t *testing.T, d *daemon) {
	t.Helper()
	held := c.held()
	for name, entries := range c.check(t, d) {
		if len(entries) != len(held[name]) {
			t.Errorf("%s: %d entries, %d acknowledged", name, len(entries), len(held[name]))
		}
	}
	for number := range c.budget.Load() {
		if name := fmt.Sprintf("budget/%d", number); len(held[name]) != crowdBudget {
			t.Errorf("%s: refused after %d reports; want %d", name, len(held[name]), crowdBudget)
		}
	}
}

// awaitLoss sends reports with a receipt until a daemon answers: each must find that the entry is gone.
func awaitLoss(t *testing.T, daemons []*daemon, name string, lost *pb.Receipt) {
	t.Helper()
	c := &crowd{}
	for _, d := range daemons {
		c.apis = append(c.apis, dial(t, d.ready["listen"]))
	}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	defer c.cancel()
	for _, one := range slices.Clone(c.apis) {
		c.apis = []api.Client{one}
		_, err := again(c, rand.New(rand.NewPCG(1, 3)),
			func(ctx context.Context, api api.Client) (*pb.WriteResponse, error) {
				return api.Report(ctx, &pb.ReportRequest{
					Lane:   &pb.Lane{Ledger: name, Writer: "request/after", Sequence: 1, LastReceipt: lost},
					Charge: charge(),
				})
			})
		if status.Code(err) != codes.DataLoss {
			t.Errorf("a report with the receipt of a lost entry: %v; want DATA_LOSS", err)
		}
	}
}
