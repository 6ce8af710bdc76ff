package ledger

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

const (
	// MaxReservations bounds the open reservations of one ledger.
	MaxReservations = 1000
	// MaxReservedParts bounds their mechanisms, each counted once a reservation: a
	// closing turns all of them into charges at once.
	MaxReservedParts = 10_000
	// MaxReservedBytes bounds the sum of their mechanisms' sizes: every answer about the
	// ledger lists them, and a closing writes all of them at once.
	MaxReservedBytes = 2 << 20
	// MaxLifetime bounds how long a reservation is open.
	MaxLifetime = 366 * 24 * time.Hour
)

// Reserve sets events aside. They count against budgets like charges until they
// are committed (and then are charges), released, or expire.
type Reserve struct {
	Events   []mechanism.Event // at least one; as of a Charge
	Lifetime time.Duration     // whole seconds, from 1 s to MaxLifetime; 0 with Child
	Labels   []Label
	Child    string // the ledger that it is for; only the daemon sets it
}

// reservation is what the entry at position makes.
func (v Reserve) reservation(w Writer, position uint64, now time.Time) Reservation {
	r := Reservation{Position: position, Rest: merged(v.Events), Child: v.Child, Principal: w.Principal}
	if v.Child == "" {
		r.Deadline = now.Add(v.Lifetime)
	}
	return r
}

// Rest is what is left after commits; false if it does not hold them.
func (v Reserve) Rest(commits []Commit) ([]mechanism.Part, bool) {
	r := Reservation{Rest: merged(v.Events)}
	for _, c := range commits {
		var wrong int
		if r, wrong, _ = r.without(c.Events); wrong >= 0 {
			return nil, false
		}
	}
	return r.Rest, true
}

// Commit charges a part of an open reservation. Once nothing is left of it, it is
// closed.
type Commit struct {
	Reservation uint64            // the position of its entry
	Events      []mechanism.Event // at most what is left of it
	Labels      []Label
}

// Release gives back what is left of a reservation: nothing was, or will be,
// computed from the data for it.
type Release struct {
	Reservation uint64
	Reason      string
}

// Expire charges what is left of a reservation. The daemon writes it once its time is
// over, and for its owner whenever he asks: decisions depend on entries, never on a
// clock, so until this entry a commit or a release is in time.
type Expire struct{ Reservation uint64 }

func (Reserve) action() {}
func (Commit) action()  {}
func (Release) action() {}
func (Expire) action()  {}

// Reservation is what is left of a Reserve.
type Reservation struct {
	Position  uint64           // of its entry: its name in the ledger
	Deadline  time.Time        // the entry's time and the lifetime; zero with Child
	Rest      []mechanism.Part // distinct mechanisms; empty only where it has become closed
	Child     string           // the ledger that holds it; "" if none does
	Principal string           // who made it; "" where that was not kept yet
}

// admits reports whether w may commit or release r: the principal that made it, or
// the daemon, which alone settles what a child holds.
func (r Reservation) admits(w Writer) error {
	switch {
	case w.Principal == Daemon || r.Child == "" && (r.Principal == "" || r.Principal == w.Principal):
		return nil
	case r.Child != "":
		return refuse(ErrReservation, "reservation: %d is held by ledger %s; allowed: to close that ledger, which settles it", r.Position, r.Child)
	}
	return refuse(ErrReservation, "reservation: %d is of %s; allowed: one of your own, or on the daemon's own socket to let it expire now, or to free it", r.Position, r.Principal)
}

// Total is the sum of the counts that are left.
func (r Reservation) Total() (n uint64) {
	for _, p := range r.Rest {
		n += p.Count
	}
	return n
}

// merged is events with the counts of equal mechanisms added up.
func merged(events []mechanism.Event) []mechanism.Part {
	parts := make([]mechanism.Part, 0, len(events))
	at := searcher()
	for _, e := range events {
		i, ok := at(parts, e.Mechanism)
		if !ok {
			i = len(parts)
			parts = append(parts, mechanism.Part{Mechanism: e.Mechanism})
		}
		parts[i].Count += uint64(e.Count)
	}
	return parts
}

// searcher returns a search in a list that only grows at its end, with an index
// once it is long.
func searcher() func(parts []mechanism.Part, m mechanism.Mechanism) (int, bool) {
	const few = 8
	var index map[mechanism.Mechanism]int
	known := 0
	return func(parts []mechanism.Part, m mechanism.Mechanism) (int, bool) {
		if len(parts) <= few {
			i := slices.IndexFunc(parts, func(p mechanism.Part) bool { return p.Mechanism == m })
			return i, i >= 0
		}
		if index == nil {
			index = make(map[mechanism.Mechanism]int, 4*few)
		}
		for ; known < len(parts); known++ {
			index[parts[known].Mechanism] = known
		}
		i, ok := index[m]
		return i, ok
	}
}

// without is what is left of r after events; or the index of the first event that
// it does not hold, and how many it does.
func (r Reservation) without(events []mechanism.Event) (rest Reservation, wrong int, held uint64) {
	parts := slices.Clone(r.Rest)
	at := searcher()
	for i, e := range events {
		j, ok := at(parts, e.Mechanism)
		if !ok {
			return r, i, 0
		}
		if parts[j].Count < uint64(e.Count) {
			return r, i, parts[j].Count
		}
		parts[j].Count -= uint64(e.Count)
	}
	r.Rest = slices.DeleteFunc(parts, func(p mechanism.Part) bool { return p.Count == 0 })
	return r, -1, 0
}

// reservations are the open ones, with their sums.
type reservations struct {
	open  map[uint64]Reservation
	total uint64 // of all counts
	parts int
	bytes int // of their mechanisms
}

func newReservations(list []Reservation) reservations {
	rs := reservations{open: make(map[uint64]Reservation, len(list))}
	for _, r := range list {
		rs.set(r)
	}
	return rs
}

// size is about how many bytes the mechanisms of parts take.
func size(parts []mechanism.Part) (n int) {
	for _, p := range parts {
		n += mechanism.Size(p.Mechanism)
	}
	return n
}

// set opens, changes or (with nothing left) closes a reservation.
func (rs *reservations) set(r Reservation) {
	if old, ok := rs.open[r.Position]; ok {
		rs.total -= old.Total()
		rs.parts -= len(old.Rest)
		rs.bytes -= size(old.Rest)
		delete(rs.open, r.Position)
	}
	if len(r.Rest) > 0 {
		rs.total += r.Total()
		rs.parts += len(r.Rest)
		rs.bytes += size(r.Rest)
		rs.open[r.Position] = r
	}
}

// list returns the open reservations by position.
func (rs *reservations) list() []Reservation {
	out := make([]Reservation, 0, len(rs.open))
	for _, position := range slices.Sorted(maps.Keys(rs.open)) {
		r := rs.open[position]
		r.Rest = slices.Clone(r.Rest)
		out = append(out, r)
	}
	return out
}

// children returns those that child ledgers hold, by position.
func (rs *reservations) children() (out []Reservation) {
	for _, r := range rs.open {
		if r.Child != "" {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Reservation) int { return cmp.Compare(a.Position, b.Position) })
	return out
}

// Reservations returns the open reservations, in the order of their positions.
func (s *State) Reservations() []Reservation { return s.held.list() }

// Reserved returns what open reservations hold, all together.
func (s *State) Reserved() []mechanism.Part { return s.held.parted() }

func (rs *reservations) parted() []mechanism.Part {
	var parts []mechanism.Part
	at := searcher()
	for _, r := range rs.list() {
		for _, p := range r.Rest {
			i, ok := at(parts, p.Mechanism)
			if !ok {
				i = len(parts)
				parts = append(parts, mechanism.Part{Mechanism: p.Mechanism})
			}
			parts[i].Count += p.Count
		}
	}
	return parts
}

// reserve sets events aside in the entry at position.
func (b *Batch) reserve(v Reserve, r Request, position uint64, now time.Time) error {
	w := r.Writer
	parts := merged(v.Events)
	switch {
	case b.draft == nil:
		return refuse(ErrReservation, "ledger: %s has no budget; allowed: a ledger with the policy PLAN or FILTER", b.state.summary.Genesis.Spec.Name)
	case (v.Child != "") != (v.Lifetime == 0) || v.Child != "" && w.Principal != Daemon:
		return refuse(ErrReservation, "child: %q with a lifetime of %v; allowed: a lifetime and no child, which only CreateLedger sets", v.Child, v.Lifetime)
	case len(b.held.open) >= MaxReservations:
		return refuse(ErrOutOfRange, "open reservations: %d; allowed: at most %d in one ledger", len(b.held.open)+1, MaxReservations)
	case b.held.parts+len(parts) > MaxReservedParts:
		return refuse(ErrOutOfRange, "mechanisms in open reservations: %d; allowed: at most %d in one ledger", b.held.parts+len(parts), MaxReservedParts)
	case b.bounded && b.held.bytes+size(parts) > MaxReservedBytes:
		return refuse(ErrOutOfRange, "mechanisms in open reservations: about %d bytes; allowed: at most %d in one ledger, where %d are held already; commit, release or let expire some of them, or reserve mechanisms with shorter lists",
			b.held.bytes+size(parts), MaxReservedBytes, b.held.bytes)
	}
	if err := b.admit(v.Events); err != nil {
		return err
	}
	err := b.mayDispose(r, "reserve more than half of its whole budget at once (others may reserve less, or charge)")
	if err != nil && !b.draft.mostOfAll(parts) {
		err = nil
	}
	if err != nil || r.CheckOnly {
		b.draft.untake(v.Events)
		return err
	}
	b.draft.hold(parts)
	b.set(v.reservation(w, position, now))
	return nil
}

// reservation finds an open one that w may commit and release.
func (b *Batch) reservation(position uint64, w Writer) (Reservation, error) {
	r, ok := b.held.open[position]
	if !ok {
		return r, refuse(ErrReservation, "reservation: %d; allowed: the position of one that is open: not used up, released or expired", position)
	}
	return r, r.admits(w)
}

func (b *Batch) commit(v Commit, w Writer, checkOnly bool) error {
	r, err := b.reservation(v.Reservation, w)
	if err != nil {
		return err
	}
	rest, wrong, held := r.without(v.Events)
	if wrong >= 0 {
		e := v.Events[wrong]
		return refuse(ErrReservation, "events[%d]: %d × %v; allowed: at most %d, what is left of reservation %d", wrong, e.Count, e.Mechanism, held, r.Position)
	}
	if !checkOnly {
		parts := merged(v.Events)
		b.draft.unhold(parts)
		b.set(rest)
		b.spend(parts)
	}
	return nil
}

func (b *Batch) release(v Release, w Writer, checkOnly bool) error {
	r, err := b.reservation(v.Reservation, w)
	if err == nil && !checkOnly {
		b.giveBack(r)
	}
	return err
}

// giveBack takes what is left of a reservation from the budgets again.
func (b *Batch) giveBack(r Reservation) {
	for _, p := range r.Rest {
		b.draft.give(b.draft.line(p.Mechanism), p.Count)
	}
	b.draft.unhold(r.Rest)
	b.set(Reservation{Position: r.Position})
}

func (b *Batch) expire(v Expire, checkOnly bool) error {
	r, err := b.timed(v.Reservation)
	if err == nil && !checkOnly {
		b.spendRest(r)
	}
	return err
}

// timed finds an open reservation that a lifetime ends, whoever made it, and no child
// ledger's closing.
func (b *Batch) timed(position uint64) (Reservation, error) {
	r, err := b.reservation(position, Writer{Principal: Daemon})
	if err == nil && r.Child != "" {
		err = refuse(ErrReservation, "reservation: %d is held by ledger %s; allowed: one with a time, or to close that ledger, which settles it", r.Position, r.Child)
	}
	return r, err
}

// spendRest turns what is left of a reservation into charges.
func (b *Batch) spendRest(r Reservation) {
	b.draft.unhold(r.Rest)
	b.set(Reservation{Position: r.Position})
	b.spend(r.Rest)
}

// spendAll charges what all open reservations hold.
func (b *Batch) spendAll() {
	for _, r := range b.held.list() {
		b.spendRest(r)
	}
}

// set changes a reservation of the batch.
func (b *Batch) set(r Reservation) {
	if !b.ownsHeld {
		b.held.open = maps.Clone(b.held.open)
		b.ownsHeld = true
		b.changed = map[uint64]bool{}
	}
	b.held.set(r)
	b.changed[r.Position] = true
}

// opened lists the changed reservations as they are after the batch, those with
// nothing left too if the state has them.
func (b *Batch) opened() (list []Reservation) {
	for _, position := range slices.Sorted(maps.Keys(b.changed)) {
		r, open := b.held.open[position]
		if _, before := b.state.held.open[position]; open || before {
			r.Position = position
			list = append(list, r)
		}
	}
	return list
}

// Events is parts as events: a count above 2³² − 1 becomes several.
func Events(parts []mechanism.Part) (events []mechanism.Event) {
	for _, p := range parts {
		for n := p.Count; n > 0; {
			count := min(n, math.MaxUint32)
			events = append(events, mechanism.Event{Mechanism: p.Mechanism, Count: uint32(count)})
			n -= count
		}
	}
	return events
}
