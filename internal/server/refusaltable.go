// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// What is remembered. With all ledgers as full as they can be, bytes are the narrower bound.
const (
	maxRefusalLedgers = 1000
	maxRefusalBytes   = 8 << 20
	maxNewest         = 10 // of one ledger

	maxRefusalDetail = 512 // bytes of what a refusal said
	maxListed        = 4   // shortfalls, and mechanisms that would have fit
	// refusalOverhead is about what a ledger takes besides its name and its refusals.
	refusalOverhead = 600
)

// remembered are the refusals by a ledger's budget, plan or state. A number of a lane that is out of order, for
// example, is a mistake of the request's.
var remembered = []error{ledger.ErrBudget, ledger.ErrClosed, ledger.ErrReservation, ledger.ErrUnreconciled,
	ledger.ErrEnded, ledger.ErrDataset, ledger.ErrOutOfRange}

// refusalConfig is what a table is made of.
type refusalConfig struct {
	Now func() time.Time
	// Say returns what a refusal says: its code, reason, detail and what budgets lacked.
	Say func(error) *pb.Refusal
	// Summary returns a ledger as committed.
	Summary func(ctx context.Context, name string) (ledger.Summary, error)
	// Refused is called at each refusal that counts, and must return at once. It may be nil.
	Refused func(name string, err error)
}

// refusals remembers, in memory and since the daemon was started, which charges the ledgers have refused. It is safe
// for concurrent use.
//
// A refused charge is no entry: nothing was charged, and a stored row for each would let whoever is refused fill the
// store. What is remembered is bounded for the same reason, by the number of ledgers and by bytes, and every text in
// it was shortened before. Where there is no more room, those ledgers are forgotten first that were not refused for
// the longest time, and an answer says since when it counts.
type refusals struct {
	config  refusalConfig
	started time.Time

	mu      sync.Mutex // held for moments only
	ledgers *simplelru.LRU[string, *refusalsOf]
	bytes   int
	forgot  time.Time // when a ledger was last forgotten; the start if none was
}

// refusalsOf is what one ledger has refused.
type refusalsOf struct {
	count  uint64
	since  time.Time         // the ledger's refusals are counted since then
	newest [maxNewest][]byte // encoded pb.Refusals; that numbered n from 0 is at n % maxNewest
	bytes  int
}

// newRefusals returns an empty table, which counts from now on.
func newRefusals(c refusalConfig) *refusals {
	t := &refusals{config: c, started: c.Now()}
	t.forgot = t.started
	ledgers, err := simplelru.NewLRU[string, *refusalsOf](maxRefusalLedgers, t.forget)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	t.ledgers = ledgers
	return t
}

// forget counts what was taken from the list.
func (t *refusals) forget(_ string, r *refusalsOf) {
	t.bytes -= r.bytes
	t.forgot = t.config.Now()
}

// Add remembers that a request in a writer's lane has ended with an error, if the ledger has refused it.
func (t *refusals) Add(name string, w ledger.Writer, sequence uint64, err error) {
	t.add(name, w, sequence, 0, err)
}

// addSet does so for a request about several ledgers: each of them remembers its own refusal.
func (t *refusals) addSet(w ledger.Writer, sequence uint64, err error) {
	var refusal *ledger.SetRefusal
	if !errors.As(err, &refusal) {
		return
	}
	for _, m := range refusal.Refused {
		t.add(m.Ledger, w, sequence, uint32(len(refusal.Set)), m.Err)
	}
}

func (t *refusals) add(name string, w ledger.Writer, sequence uint64, of uint32, err error) {
	if !toRemember(err) {
		return
	}
	if t.config.Refused != nil {
		t.config.Refused(name, err)
	}
	m := t.config.Say(err)
	m.Principal, m.Writer, m.Sequence, m.SetLedgers = w.Principal, w.Name, sequence, of
	m.Detail = wire.Cut(strings.TrimPrefix(m.GetDetail(), "ledger "+name+": "), maxRefusalDetail)
	if x := m.GetBudgetExceeded(); x != nil {
		m.BudgetExceeded = &pb.BudgetExceeded{Shortfalls: x.GetShortfalls()[:min(len(x.GetShortfalls()), maxListed)],
			Fits: x.GetFits()[:min(len(x.GetFits()), maxListed)]}
	}
	m.Time = timestamppb.New(t.config.Now())
	encoded, err := proto.Marshal(m)
	if err != nil { // some text is no UTF-8: what matters is that it was refused
		encoded, _ = proto.Marshal(&pb.Refusal{Time: m.GetTime(), Code: m.GetCode(), Reason: m.GetReason()})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.ledgers.Get(name)
	if !ok {
		// If this ledger was forgotten itself, that was then or before.
		r = &refusalsOf{since: t.forgot, bytes: refusalOverhead + len(name)}
		t.bytes += r.bytes
		t.ledgers.Add(name, r)
	}
	place := &r.newest[r.count%maxNewest]
	more := len(encoded) - len(*place)
	*place = encoded
	r.count++
	r.bytes += more
	t.bytes += more
	for t.bytes > maxRefusalBytes && t.ledgers.Len() > 1 {
		t.ledgers.RemoveOldest()
	}
}

func toRemember(err error) bool {
	for _, c := range remembered {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// ListRefusals implements the API.
func (t *refusals) ListRefusals(ctx context.Context, req *pb.ListRefusalsRequest) (*pb.ListRefusalsResponse, error) {
	if err := wire.CheckLedgerName("ledger", req.GetLedger()); err != nil {
		return nil, err
	}
	if _, err := t.config.Summary(ctx, req.GetLedger()); err != nil {
		return nil, err
	}
	count, since, newest := t.of(req.GetLedger())
	answer := &pb.ListRefusalsResponse{Count: count, CountStartTime: timestamppb.New(since),
		StartTime: timestamppb.New(t.started), Text: refusalsSince(t.started, since)}
	for _, encoded := range newest {
		m := &pb.Refusal{}
		if err := proto.Unmarshal(encoded, m); err != nil {
			return nil, err
		}
		answer.Refusals = append(answer.Refusals, m)
	}
	return answer, nil
}

// of returns what is remembered of a ledger, the newest refusal first.
func (t *refusals) of(name string) (count uint64, since time.Time, newest [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.ledgers.Peek(name)
	if !ok {
		return 0, t.forgot, nil
	}
	for i := range min(r.count, maxNewest) {
		newest = append(newest, r.newest[(r.count-1-i)%maxNewest])
	}
	return r.count, r.since, newest
}

// refusalsSince says whose refusals these are, and since when.
func refusalsSince(started, since time.Time) string {
	const form = "2 Jan 2006, 15:04:05 UTC"
	s := fmt.Sprintf("What this daemon has refused since it was started on %s", started.UTC().Format(form))
	if since.After(started) {
		s += fmt.Sprintf("; it has room for %d ledgers, and may have forgotten refusals before %s", maxRefusalLedgers,
			since.UTC().Format(form))
	}
	return s + ". Where several daemons serve the ledgers, each knows of its own refusals only. Requests that were " +
		"malformed or that the access policy did not allow are not counted."
}
