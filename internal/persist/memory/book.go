package memory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// book is one ledger. A book in data.ledgers never changes: a write replaces it.
type book struct {
	genesis []byte
	hash    ledger.Hash
	head    ledger.Head
	closed  bool
	pending bool // needs reconciling
	total   uint64
	parts   []mechanism.Part
	log     []stored // by position − 1
	lanes   map[ledger.Writer][]uint64
	open    map[uint64][]byte // reservations by position, as stored
	amended []uint64          // positions of entries that amend it
}

// stored is one record: the bytes, the hash before and its own.
type stored struct {
	raw            []byte
	previous, hash ledger.Hash
}

func newBook(genesis []byte) *book {
	hash := record.GenesisHash(genesis)
	return &book{genesis: genesis, hash: hash, head: ledger.Head{Hash: hash}, lanes: map[ledger.Writer][]uint64{},
		open: map[uint64][]byte{}}
}

// with returns the book after p, and how many bytes p has stored.
func (b *book) with(p ledger.Proposal) (*book, int, error) {
	if p.Expected != b.head {
		return nil, 0, fmt.Errorf("ledger %s: %w: expected position %d, found %d", p.Ledger, ledger.ErrConflict,
			p.Expected.Position, b.head.Position)
	}
	before := make([]uint64, len(p.Counts))
	for i, c := range p.Counts {
		if 0 <= c.Index && c.Index < len(b.parts) {
			before[i] = b.parts[c.Index].Count
		}
	}
	on := ledger.Stored{Totals: before, Summary: ledger.Summary{
		Head: b.head, Closed: b.closed, Distinct: len(b.parts), Total: b.total, Unreconciled: b.pending}}
	open, err := b.reservations()
	if err != nil {
		return nil, 0, err
	}
	for _, r := range open {
		on.Held += r.Total()
		if slices.ContainsFunc(p.Open,
			func(changed ledger.Reservation) bool { return changed.Position == r.Position }) {
			on.Open = append(on.Open, r)
		}
	}
	if err := p.Check(on); err != nil {
		return nil, 0, err
	}
	// Only the newest book is written on, so that the room behind its log and its
	// lanes may be shared with the older ones, which end before it.
	n := *b
	n.parts = slices.Clone(b.parts)
	n.lanes = maps.Clone(b.lanes)
	size := 0
	for _, e := range p.Entries {
		lane := n.lanes[e.Writer]
		if want := uint64(len(lane)) + 1; e.Sequence != want {
			return nil, 0, fmt.Errorf("proposal for ledger %s: sequence of writer %s: %d; allowed: %d", p.Ledger,
				e.Writer.Name, e.Sequence, want)
		}
		previous := uint64(0)
		if len(lane) > 0 {
			previous = lane[len(lane)-1]
		}
		// Positions serve as log keys.
		raw, err := record.MarshalEntry(e, e.Position-1, previous)
		if err != nil {
			return nil, 0, err
		}
		size += len(raw)
		r := stored{raw, n.head.Hash, record.EntryHash(n.head.Hash, raw)}
		n.log = append(n.log, r)
		n.lanes[e.Writer] = append(lane, e.Position)
		if e.Amends() {
			n.amended = append(slices.Clip(n.amended), e.Position)
		}
		n.head = ledger.Head{Position: e.Position, Hash: r.hash}
	}
	for _, c := range p.Counts {
		if c.Index == len(n.parts) {
			n.parts = append(n.parts, mechanism.Part{Mechanism: c.Mechanism})
		}
		if known := n.parts[c.Index].Mechanism; known != c.Mechanism {
			return nil, 0, fmt.Errorf("proposal for ledger %s: counts: mechanism %d is %v; allowed: %v", p.Ledger,
				c.Index, c.Mechanism, known)
		}
		n.parts[c.Index].Count = c.Total
	}
	n.open = maps.Clone(b.open)
	for _, r := range p.Open {
		delete(n.open, r.Position)
		if len(r.Rest) == 0 {
			continue
		}
		raw, err := record.MarshalReservation(r)
		if err != nil {
			return nil, 0, err
		}
		size += len(raw)
		n.open[r.Position] = raw
	}
	n.total, n.closed, n.pending = p.Total, p.Closed, p.Unreconciled
	return &n, size, nil
}

// reservations reads the open ones, by position.
func (b *book) reservations() (list []ledger.Reservation, err error) {
	for _, position := range slices.Sorted(maps.Keys(b.open)) {
		r, err := record.UnmarshalReservation(position, b.open[position])
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// amendments reads the entries that amend it, by position.
func (b *book) amendments() (list []ledger.Entry, err error) {
	for _, position := range b.amended {
		r, err := b.record(position)
		if err != nil {
			return nil, err
		}
		list = append(list, r.Entry)
	}
	return list, nil
}

func (b *book) summary() (ledger.Summary, error) {
	g, err := record.UnmarshalGenesis(b.genesis)
	return ledger.Summary{Genesis: g, Head: b.head, Closed: b.closed, Distinct: len(b.parts), Total: b.total,
		Unreconciled: b.pending}, err
}

// record reads the record at a position in 1 … head.
func (b *book) record(position uint64) (ledger.Record, error) {
	r := b.log[position-1]
	e, _, _, err := record.UnmarshalEntry(r.raw)
	return ledger.Record{Entry: e, Hash: r.hash, Previous: r.previous, Raw: slices.Clone(r.raw)}, err
}

// Load implements ledger.Store.
func (s *Store) Load(name string) (snapshot ledger.Snapshot, tail []ledger.Record, err error) {
	err = s.read(name, func(b *book) (err error) {
		snapshot.Parts = slices.Clone(b.parts)
		if snapshot.Summary, err = b.summary(); err != nil {
			return err
		}
		if snapshot.Open, err = b.reservations(); err != nil {
			return err
		}
		if snapshot.Amended, err = b.amendments(); err != nil {
			return err
		}
		if s.config.Tail > 0 {
			snapshot, tail, err = b.split(snapshot, s.config.Tail)
		}
		return err
	})
	return snapshot, tail, err
}

// split makes the snapshot of n records ago, and those records.
func (b *book) split(now ledger.Snapshot, n int) (ledger.Snapshot, []ledger.Record, error) {
	all := make([]ledger.Record, 0, len(b.log))
	for i := range b.log {
		r, err := b.record(uint64(i) + 1)
		if err != nil {
			return ledger.Snapshot{}, nil, err
		}
		all = append(all, r)
	}
	old := ledger.Snapshot{Summary: ledger.Summary{Genesis: now.Genesis, Head: ledger.Head{Hash: b.hash}}}
	at := max(0, len(all)-n)
	st := ledger.NewState(old, all[:at])
	old = ledger.Snapshot{Summary: st.Summary(), Parts: st.Parts(), Open: st.Reservations()}
	for _, r := range all[:at] {
		if r.Entry.Amends() {
			old.Amended = append(old.Amended, r.Entry)
		}
	}
	return old, all[at:], nil
}

// Writer implements ledger.Store.
func (s *Store) Writer(name string, w ledger.Writer) (sequence, position uint64, err error) {
	err = s.read(name, func(b *book) error {
		if lane := b.lanes[w]; len(lane) > 0 {
			sequence, position = uint64(len(lane)), lane[len(lane)-1]
		}
		return nil
	})
	return sequence, position, err
}

// RecordOf implements ledger.Store.
func (s *Store) RecordOf(name string, w ledger.Writer, sequence uint64) (r ledger.Record, err error) {
	err = s.read(name, func(b *book) (err error) {
		lane := b.lanes[w]
		if sequence == 0 || sequence > uint64(len(lane)) {
			return fmt.Errorf("ledger %s: sequence %d of writer %s: %w", name, sequence, w.Name, ledger.ErrNotFound)
		}
		r, err = b.record(lane[sequence-1])
		return err
	})
	return r, err
}

// Namesakes implements ledger.Store.
func (s *Store) Namesakes(name string, w ledger.Writer) (out []ledger.Record, err error) {
	err = s.read(name, func(b *book) error {
		for other, lane := range b.lanes {
			if other.Name != w.Name || other.Principal == w.Principal {
				continue
			}
			r, err := b.record(lane[0])
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// Records implements ledger.Store.
func (s *Store) Records(name string, from uint64, limit int) (out []ledger.Record, err error) {
	err = s.read(name, func(b *book) error {
		for p := max(from, 1); p <= b.head.Position && len(out) < limit; p++ {
			r, err := b.record(p)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// GenesisRecord implements ledger.Store.
func (s *Store) GenesisRecord(name string) (raw []byte, hash ledger.Hash, err error) {
	err = s.read(name, func(b *book) error {
		raw, hash = slices.Clone(b.genesis), b.hash
		return nil
	})
	return raw, hash, err
}

// Reserving implements ledger.Store, by name.
func (s *Store) Reserving() (names []string, err error) {
	s.data.mu.RLock()
	defer s.data.mu.RUnlock()
	if err := s.check(); err != nil {
		return nil, err
	}
	for name, b := range s.data.ledgers {
		if len(b.open) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
