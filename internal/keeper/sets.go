package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/lists"
	"github.com/dpaccountant/accountant/internal/keeper/signals"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/ledger/set"
)

// SetRequest is a request about several ledgers, which are charged together: all of them or none.
type SetRequest struct {
	// Request is what is written into the journal. Its action is a ledger.Together of which the members'
	// positions are not known yet.
	ledger.Request
	// Members finds the ledgers, by name and distinct, and the entry as the journal has it, without its members.
	// It is called if the request is no duplicate.
	Members func(ctx context.Context) (ledger.Together, []SetMember, error)
}

// SetMember is a ledger of a set, with the caller's rights there.
type SetMember struct {
	Ledger      string
	Reservation uint64        // of a commit or a release: the ledger's own
	Action      ledger.Action // what is done there
	Caller      string        // as of ledger.Request

	digest ledger.Digest // of Action
}

// SetResult is the answer to a request about several ledgers.
type SetResult struct {
	Result                 // of the journal's entry; zero after CheckOnly, unless it is a duplicate
	Members []MemberResult // by name
}

// MemberResult is the part of the answer about one ledger.
type MemberResult struct {
	Ledger   string
	Position uint64 // of its entry; 0 after CheckOnly
	Head     ledger.Hash
}

// sets has the requests about several ledgers that wait. One goroutine, the coordinator, takes as many of
// them as fit into a wave, holds all of their ledgers, decides one request after the other, writes what
// was accepted by one Append, and lets the ledgers go. docs/decisions/sets.md.
type sets struct {
	k  *Keeper
	mu sync.Mutex

	lanes   map[ledger.Writer]bool // that have a call in flight
	waiting map[string][]*setCall  // by principal, each in the order in which they came
	turns   []string               // the principals that wait; the first is served next
	calls   int                    // that wait
	members int                    // of all that wait
	came    signals.Signal         // another call waits
	running bool                   // the coordinator exists
}

// setCall is a request about several ledgers in flight.
type setCall struct {
	SetRequest
	members []SetMember
	prices  []*budget.Prices
	queues  []*queue  // of the members, and last the journal's; pinned
	bytes   int       // about how many are written
	since   time.Time // when it began to wait
	origin  context.Context

	at      uint64 // the position of the journal's entry; 0 if it has none
	written bool   // that entry, with those of the members
	result  SetResult
	err     error
	done    chan struct{} // closed when it is decided
}

// DoSet decides a request about several ledgers, and answers after the commit. All members are charged or
// none; a refusal is a *set.Refusal. As with Do, the request stays in flight when ctx ends, and gets its
// first receipt when it is sent again, whatever has become of the ledgers.
func (k *Keeper) DoSet(ctx context.Context, r SetRequest) (SetResult, error) {
	if err := k.enter(ctx); err != nil {
		return SetResult{}, err
	}
	defer k.leave()
	if !k.sets.take(r.Writer) {
		return SetResult{}, fmt.Errorf("%w: writer %s of sets", ErrBusy, r.Writer.Name)
	}
	c, result, err := k.prepareSet(ctx, r)
	if c == nil {
		k.sets.give(r.Writer)
		return result, err
	}
	if err := k.sets.add(c); err != nil {
		k.releaseAll(c.queues)
		k.sets.give(r.Writer)
		return SetResult{}, err
	}
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
		return SetResult{}, ctx.Err()
	}
}

// take makes a lane busy, unless it is.
func (s *sets) take(w ledger.Writer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[w] {
		return false
	}
	if s.lanes == nil {
		s.lanes, s.waiting = map[ledger.Writer]bool{}, map[string][]*setCall{}
	}
	s.lanes[w] = true
	return true
}

func (s *sets) give(w ledger.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lanes, w)
}

// prepareSet answers a duplicate, or finds what the decision needs: the ledgers are read, and the costs of
// new mechanisms found, before the request waits for others. So a slow ledger delays only its own sets.
func (k *Keeper) prepareSet(ctx context.Context, r SetRequest) (*setCall, SetResult, error) {
	journal := journals.Name(journals.Of(r.Writer.Name))
	var refusal error
	for range 2 {
		if written, err := k.written(journal, &r.Request); err != nil {
			return nil, SetResult{}, err
		} else if written {
			result, err := k.firstOfSet(journal, r.Request)
			return nil, result, err
		}
		if refusal != nil { // and it is not written: the journal was asked last
			break
		}
		c := &setCall{SetRequest: r, origin: k.config.Batch.Origin(ctx), done: make(chan struct{})}
		if refusal = k.complete(ctx, c, journal); refusal == nil {
			return c, SetResult{}, nil
		}
	}
	return nil, SetResult{}, refusal
}

// complete finds the members of a call and what is done there, and reads them.
func (k *Keeper) complete(ctx context.Context, c *setCall, journal string) (err error) {
	v, members, err := c.Members(ctx)
	if err != nil {
		return err
	}
	c.Action, c.members = v, members
	if c.queues, err = k.acquireAll(ctx, append(c.names(), journal)); err != nil {
		return err
	}
	if err = k.readMembers(ctx, c); err != nil {
		k.releaseAll(c.queues)
	}
	return err
}

// readMembers reads the members' states and finds what new mechanisms cost there.
func (k *Keeper) readMembers(ctx context.Context, c *setCall) error {
	c.prices = make([]*budget.Prices, len(c.members))
	var first *ledger.Spec
	refusal := &set.Refusal{}
	together := c.Action.(ledger.Together)
	var weight int
	for i := range c.members {
		m := &c.members[i]
		if i > 0 && !together.AboutReservation() { // the same is asked of all members
			m.digest = c.members[0].digest
		} else {
			m.digest, weight = k.config.Digest(m.Action), ledger.Request{Action: m.Action}.Weight()
		}
		details := m.Action.Details()
		c.bytes += weight
		var unequal error
		var parent string
		err := c.queues[i].read(ctx, func(s *ledger.State) {
			spec := s.Spec()
			if first == nil {
				first = spec
			}
			if unequal = ledger.Alike(first, spec); unequal == nil {
				unequal = bounded(spec, together)
			}
			c.prices[i], parent = s.Unpriced(details), s.Parent()
		})
		if err == nil && parent != "" {
			_, err = k.capOf(ctx, parent) // which the decision then finds in memory
		}
		if err == nil {
			err = unequal
		}
		if err == nil {
			c.prices[i], err = k.find(ctx, c.prices[i])
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrLate):
			return fmt.Errorf("ledger %s: %w", m.Ledger, err)
		case err != nil:
			refusal.Refused = append(refusal.Refused, set.MemberRefusal{Ledger: m.Ledger, Err: err})
		}
	}
	if len(refusal.Refused) > 0 {
		refusal.Set = c.names()
		return refusal
	}
	return nil
}

// firstOfSet answers a duplicate with the first receipt.
func (k *Keeper) firstOfSet(journal string, r ledger.Request) (SetResult, error) {
	record, err := k.config.Store.RecordOf(journal, r.Writer, r.Sequence)
	if err != nil {
		return SetResult{}, err
	}
	if record.Entry.Digest != r.Digest {
		return SetResult{}, reused(r)
	}
	v, ok := record.Entry.Action.(ledger.Together)
	if !ok {
		return SetResult{}, fmt.Errorf("%w: %s: entry %d is a %s", ledger.ErrDamaged, journal, record.Entry.Position,
			record.Entry.Action.Kind())
	}
	result := SetResult{Result: Result{record.Receipt(k.storeID, journal), true}}
	for _, m := range v.Members {
		found, err := k.config.Store.Records(m.Ledger, m.Position, 1)
		if err == nil && (len(found) == 0 || found[0].Entry.Position != m.Position) {
			err = fmt.Errorf("%w: %s has no entry %d, which %s names", ledger.ErrDamaged, m.Ledger, m.Position, journal)
		}
		if err != nil {
			return SetResult{}, err
		}
		result.Members = append(result.Members, MemberResult{m.Ledger, m.Position, found[0].Hash})
	}
	return result, nil
}

// Reserved returns what a set has reserved: the journal's entry, and who wrote it.
func (k *Keeper) Reserved(ctx context.Context, journal string, position uint64) (ledger.Together, string, error) {
	if err := k.enter(ctx); err != nil {
		return ledger.Together{}, "", err
	}
	defer k.leave()
	e, err := lists.Entry(k.config.Store, journal, position)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return ledger.Together{}, "", err
	}
	v, ok := e.Action.(ledger.Together)
	if _, reserve := v.Action.(ledger.Reserve); !ok || !reserve {
		return ledger.Together{}, "", NotReserved(journal, position)
	}
	return v, e.Writer.Principal, nil
}

// NotReserved is the error of a commit or a release of what no set has reserved.
func NotReserved(journal string, position uint64) error {
	return fmt.Errorf("%w: reservation: %d in %s; allowed: the journal and the position that you were told when you "+
		"reserved in several ledgers", ledger.ErrReservation, position, journal)
}

func (c *setCall) names() []string {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		names[i] = m.Ledger
	}
	return names
}

// InRange returns the names of the ledgers in a range: see lists.InRange.
func (k *Keeper) InRange(ctx context.Context, r journals.Range, shown func(ledger.Spec) bool) ([]string, error) {
	if err := k.enter(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	return lists.InRange(ctx, k.config.Store, r, shown)
}

// add has a call wait for the coordinator.
func (s *sets) add(c *setCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := s.k.config.QueueRequests; s.members > 0 && s.members+len(c.members) > limit {
		return fmt.Errorf("%w: sets of %d ledgers wait altogether; allowed: %d", ledger.ErrUnavailable, s.members,
			limit)
	}
	c.since = time.Now()
	by := c.Writer.Principal
	if len(s.waiting[by]) == 0 {
		s.turns = append(s.turns, by)
	}
	s.waiting[by] = append(s.waiting[by], c)
	s.calls, s.members = s.calls+1, s.members+len(c.members)
	s.came.Wake()
	s.start()
	return nil
}

// poke has the coordinator look again, as ledgers were let go. Its caller holds no lock.
func (s *sets) poke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
}

// start starts the coordinator if it has something to do. Its caller holds mu.
func (s *sets) start() {
	if !s.running && len(s.turns) > 0 {
		s.running = true
		go s.coordinate()
	}
}

const (
	// waveMembers and waveBytes bound what a wave takes: the entries that it writes, and about how many
	// bytes. A single larger set is a wave.
	waveMembers = 4_000
	waveBytes   = 2 << 20
)

// next takes the calls of the next wave, and places their claim. It takes one call of each principal in
// turn, so that one who sends many large sets has others wait for one wave at most. Calls of which a
// ledger is held by somebody else, as while a dataset is registered, are left for later, for a second at
// most: until then a wave waits for no more than the batches that its ledgers are writing.
func (s *sets) next() (calls []*setCall, queues []*queue, c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.k.placing.Lock()
	defer s.k.placing.Unlock()
	taken := map[*queue]bool{}
	members, bytes, full := 0, 0, false
	for skipped := 0; !full && skipped < len(s.turns); {
		by := s.turns[0]
		s.turns = append(s.turns[1:], by)
		i := slices.IndexFunc(s.waiting[by], (*setCall).ready)
		if i < 0 {
			skipped++
			continue
		}
		call := s.waiting[by][i]
		if len(calls) > 0 && (members+len(call.members) > waveMembers || bytes+call.bytes > waveBytes) {
			full = true // it is this principal's turn in the next wave
			s.turns = append([]string{by}, s.turns[:len(s.turns)-1]...)
			continue
		}
		skipped = 0
		members, bytes = members+len(call.members), bytes+call.bytes
		s.remove(by, i)
		calls = append(calls, call)
		for _, q := range call.queues {
			if !taken[q] {
				taken[q] = true
				queues = append(queues, q)
			}
		}
	}
	if len(calls) == 0 {
		s.running = false
		return nil, nil, nil
	}
	return calls, queues, place(queues)
}

// remove takes a waiting call out of the list. Its caller holds mu.
func (s *sets) remove(by string, i int) {
	s.calls, s.members = s.calls-1, s.members-len(s.waiting[by][i].members)
	if s.waiting[by] = slices.Delete(s.waiting[by], i, i+1); len(s.waiting[by]) == 0 {
		delete(s.waiting, by)
		s.turns = slices.DeleteFunc(s.turns, func(p string) bool { return p == by })
	}
}

// patience is how long a call lets others hold its ledgers first. Then its claim is placed behind theirs:
// otherwise it would wait for ever where a ledger always has a holder, as a parent of many new children.
const patience = time.Second

// ready reports whether nobody else holds a ledger of the call, or waits to, or it has waited too long.
func (c *setCall) ready() bool {
	if time.Since(c.since) > patience {
		return true
	}
	for _, q := range c.queues {
		q.mu.Lock()
		foreign := q.held || len(q.claims) > 0
		q.mu.Unlock()
		if foreign {
			return false
		}
	}
	return true
}
