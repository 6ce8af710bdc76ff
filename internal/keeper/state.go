// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// Keeper keeps the ledgers of one store. It is safe for concurrent use.
//
// A name that the store does not know is ledger.ErrNotFound; a ledger that
// cannot be read is ledger.ErrDamaged, and affects no other. After Close every
// call is ledger.ErrUnavailable.
type Keeper struct {
	config  Config
	storeID string
	fleet   *fleet.Fleet // of a store that other daemons write to; nil for one that is used by this Keeper alone
	writers idleWriters
	closed  atomic.Bool // written under mu

	work        chan *queue // to a deciding goroutine that has nothing to do
	idleWorkers atomic.Int64
	waiting     atomic.Int64 // requests in all queues
	rooms       sync.Pool    // of *[]item, each empty
	batches     sync.Pool    // of *ledger.Batch, for their memory

	lanes     atomic.Int64 // open streams
	laneBytes atomic.Int64 // approximately, of their requests that are not yet decided
	large     *semaphore.Weighted

	placing sync.Mutex // held while a claim is placed
	sets    sets

	registering sync.RWMutex // held to read by who creates a root ledger, to write by who registers a dataset
	caps        sync.Map     // of datasets: names of their records → *dataset.ChargeCap

	mu      sync.Mutex
	queues  map[string]*queue // loaded or in use
	idle    recent[*queue]    // of queues, those that nobody uses, oldest first
	parts   int               // distinct mechanisms of the idle
	pins    int               // uses of queues and calls in flight
	drained signal            // pins came to 0
	stopped bool              // work is closed
}

// Now is the time of entries as a store keeps it: nanoseconds, UTC. Where several daemons write, it is the store's: see
// fleet.Shared.
func (k *Keeper) Now() time.Time {
	return time.Unix(0, k.config.Now().Add(k.fleet.Ahead()).UnixNano()).UTC()
}

// queue holds a ledger in memory: its committed state, its lanes, and the requests that wait to be
// decided. While requests wait, one goroutine decides them.
type queue struct {
	k    *Keeper
	name string

	seat  // in Keeper.idle; by Keeper.mu, like the two below
	pins  int
	parts int // distinct mechanisms, while idle

	stateMu sync.RWMutex
	state   *ledger.State // nil until read; only the deciding goroutine changes or forgets it
	ahead   bool          // what others have written, which is in the state, may not be durable
	loading *loading      // nil unless it is being read
	renewal *loading      // nil unless somebody waits for what other daemons have written
	changes changes       // of state, by commits

	mu      sync.Mutex
	writers map[ledger.Writer]*writer
	batches []batch  // waiting; requests are added to the last, the first is decided next
	waiting int      // requests in batches
	bytes   int      // and their approximate bytes
	running bool     // somebody decides: the deciding goroutine, or who holds the queue
	held    bool     // it is who holds the queue
	claims  []*claim // waiting, in the order of their placing
	owes    bool     // a batch is decided before the next claim

	// Only the deciding goroutine uses these fields, or who holds the queue. There is at most one of them.
	epoch   uint64 // raised when the state and what writers knew is forgotten
	attempt uint64 // raised with each try to decide a batch
	round   round
	begun   map[request]ledger.Entry // entries of the batch that are the first of their lanes
	touched []*Lane
	inRow   int           // batches that were written one after the other
	took    time.Duration // by the last of them
}

// round is what is decided at once: requests, in order, on ledgers that stand still.
type round struct {
	k       *Keeper
	now     time.Time
	members []*member
	held    map[*queue]*member // the members, where there are several
	late    bool               // other daemons were faster, or had written before: it is decided in turn
	alone   bool               // no other daemon has written to the ledgers while they were decided
}

// member is a ledger that stands still until what is decided on it is written.
type member struct {
	q       *queue
	batch   *ledger.Batch   // on top of the committed state
	parent  string          // as of State.Parent
	genesis *ledger.Genesis // of a journal that is not there yet
	lost    error           // why it cannot be read
	hashes  []ledger.Hash   // of the entries that were written; nil before
	open    bool            // it is compared
}

// writer is the state of one lane: which call or stream sends in it, and which sequence number it has
// reached.
type writer struct {
	q    *queue
	key  ledger.Writer
	seat // in Keeper.writers, which guards it

	// queue.mu guards these fields.
	call    *call // unary, in flight
	stream  *Lane // open, or ended with requests in the queue
	openers int   // calls of Open that wait for the lane
	ticket  uint64
	freed   signal // the lane came free, or has a newer opener

	// Only the deciding goroutine uses these fields. They say what is committed, as long as epoch is
	// that of the queue.
	epoch   uint64
	attempt uint64 // in which it was read
	last    uint64
	at      uint64  // the position of sequence number last
	first   receipt // of sequence number last
}

// receipt holds what is needed to answer a duplicate: the digest to compare it with, and the receipt
// that it is given.
type receipt struct {
	digest ledger.Digest
	ledger.Receipt
}

func (w *writer) busy() bool { return w.call != nil || w.stream != nil || w.openers > 0 }

// batch holds requests that are decided together.
type batch struct {
	items []item
	bytes int
	room  *[]item // in which items are, for another batch
}

// item is a request in the queue: of a unary call or of a stream.
type item struct {
	w       *writer
	call    *call
	lane    *Lane
	request ledger.Request
	verdict verdict      // as far as it is decided
	refusal error        // of Lane.Reject
	set     *setCall     // of a request about several ledgers, which is decided in its journal
	beside  func() error // decides it in the other ledgers that it concerns; nil: there are none
	bytes   int

	admitted int // bytes that it has room for: see Lane.Admit
}

// call is a unary call in flight.
type call struct {
	done   chan struct{}   // takes one value without blocking
	origin context.Context // of Observer
	result Result
	err    error
}

func newCall(origin context.Context) call { return call{done: make(chan struct{}, 1), origin: origin} }

// Result is the answer to a request that was accepted now, or was accepted when it was sent before.
type Result struct {
	Receipt  ledger.Receipt // zero after CheckOnly, unless Replayed
	Replayed bool           // the first receipt of a duplicate
}

// verdict is the outcome of deciding an item, before the batch is written.
type verdict struct {
	kind     verdictKind
	entry    int    // of answered: the entry whose receipt it gets, −1 for none
	replayed bool   // of answered: by a duplicate of that entry
	result   Result // of settled
	err      error
}

type verdictKind uint8

const (
	// answered means that the verdict holds if the batch is committed, or if its state was the newest.
	answered verdictKind = iota
	// settled means that the verdict follows from the committed state and holds in any case.
	settled
	// dropped means that go-back-N drops the item without an answer.
	dropped
)

// Lane is an open stream of one writer's requests. One goroutine may Send (or
// Reject) while another Receives; Close may be called from anywhere.
//
// After a request is answered with an error the lane drops requests, without an
// answer, until that sequence number (or a smaller one) comes again: go-back-N.
type Lane struct {
	w *writer

	// queue.mu guards these fields.
	ended     error // what Receive says in the end; nil while open
	undecided int   // requests in the queue
	bytes     int   // and their approximate bytes
	results   []LaneResult
	room      signal // there may be room to send
	ready     signal // there are results, or the lane has ended

	admitted int // bytes of the request that comes next: see Admit; of its sender

	// Only the deciding goroutine uses these fields.
	rejected     rejection    // as answered
	tentative    rejection    // within one attempt to decide a batch
	attempt      uint64       // that attempt
	answers      []LaneResult // to be published together
	decided      int          // requests of the lane in this batch
	decidedBytes int
	decidedLarge int // of what was admitted
}

// LaneResult answers one request of a Lane.
type LaneResult struct {
	Sequence uint64
	Result
	Err      error // as of Keeper.Do, or as given to Reject
	Reserved bool  // a ledger.Reserve, whose receipt names the reservation
}

// rejection is the sequence number that a lane waits for after a refusal, or 0 if it waits for none.
type rejection uint64

// claim waits until several queues stand still. All of its marks are placed at once, so the marks of any
// two claims are in the same order in every queue that has both: nobody waits in a circle, in whatever
// order the ledgers were named.
type claim struct {
	left    atomic.Int32  // queues that it waits for, and one more while it is placed
	reached chan struct{} // closed when all of them stand still
}

// loading is one reading of a ledger from the store. All calls that need the ledger meanwhile wait for
// the same reading, each no longer than its own time allows. The reading goes on when no call waits any
// more, so that a ledger that takes long to read is there when somebody asks for it again.
type loading struct {
	done chan struct{} // closed at the end
	err  error         // then
}

// request is what a caller sent, whoever it was: the name of the lane and the content.
type request struct {
	name   string
	digest ledger.Digest
}

// recent lists values that nobody uses in the order in which they came out of use. Each call takes a value out and puts
// it back, so a value knows its place, and none is looked for.
type recent[T interface{ idleAt() *seat }] struct{ list.List }

// seat is where a value stands in the list.
type seat struct{ element *list.Element } // nil: it is not in the list

func (s *seat) idleAt() *seat { return s }

// push makes v the newest.
func (r *recent[T]) push(v T) {
	r.remove(v)
	v.idleAt().element = r.PushBack(v)
}

// remove takes v out, and reports whether it was in the list.
func (r *recent[T]) remove(v T) bool {
	s := v.idleAt()
	if s.element == nil {
		return false
	}
	r.Remove(s.element)
	s.element = nil
	return true
}

// removeOldest takes the oldest value out. There is one.
func (r *recent[T]) removeOldest() T {
	v := r.Front().Value.(T)
	r.remove(v)
	return v
}

// idleWriters are the writers of all ledgers that nobody uses.
type idleWriters struct {
	max  int
	mu   sync.Mutex
	list recent[*writer]
}

// sets has the requests about several ledgers that wait. One goroutine, the coordinator, takes as many of
// them as fit into a wave, holds all of their ledgers, decides one request after the other, writes what
// was accepted by one Append, and lets the ledgers go. docs/decisions/sets.md.
type sets struct {
	k  *Keeper
	mu sync.Mutex

	waiting map[string][]*setCall // by principal, each in the order in which they came
	turns   []string              // the principals that wait; the first is served next
	calls   int                   // that wait
	members int                   // of all that wait
	came    signal                // another call waits
	running bool                  // the coordinator exists
}

// setCall is a request about several ledgers in flight.
type setCall struct {
	SetRequest
	members []SetMember
	prices  []*budget.Prices
	queues  []*queue  // of the members, and last the journal's; pinned
	bytes   int       // about how many are written
	since   time.Time // when it began to wait

	verdict verdict // in the journal
	written bool    // the journal's entry, with those of the members
	w       *writer // in the journal
	call            // with the result of the journal's entry
	placed  []MemberResult
	by      ledger.Contribution // as of a SetResult
}

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
	Policy      uint64        // as of ledger.Request

	digest ledger.Digest // of Action
}

// SetResult is the answer to a request about several ledgers.
type SetResult struct {
	Result                 // of the journal's entry; zero after CheckOnly, unless it is a duplicate
	Members []MemberResult // by name

	Contribution ledger.Contribution // as asked, or of the reservation that it is about
}

// MemberResult is the part of the answer about one ledger.
type MemberResult struct {
	Ledger   string
	Position uint64 // of its entry; 0 after CheckOnly
	Head     ledger.Hash
}
