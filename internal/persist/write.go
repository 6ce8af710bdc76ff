package persist

import (
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
)

// writing is one write transaction. Each operation is first decided, which only reads, and may
// fail for this operation alone. Then its rows are put, which can fail only for the whole
// transaction.
type writing struct {
	rows.View
	nextKey   uint64 // of the log
	endProven bool   // the pages at the end of the log, where every record goes
	limit     int    // bytes of one operation
	puts      int
	bytes     int // of keys and values put
	entries   int

	staged  []row  // of the operation at hand
	encoded []byte // room to encode one
	arena   *arena
}

type row struct {
	bucket     rows.Bucket
	key, value []byte // no value: to be deleted
}

// arena is memory for keys and values, which bbolt refers to until the commit.
type arena struct {
	chunks [][]byte
	used   int // chunks in use; the last of them has room left
}

const (
	chunkSize = 64 << 10
	maxChunks = 64 // kept from one commit to the next
)

// room returns an empty slice with room for n bytes.
func (a *arena) room(n int) []byte {
	if n > chunkSize {
		return make([]byte, 0, n)
	}
	if a.used == 0 || cap(a.chunks[a.used-1])-len(a.chunks[a.used-1]) < n {
		if a.used == len(a.chunks) {
			a.chunks = append(a.chunks, make([]byte, 0, chunkSize))
		}
		a.used++
	}
	chunk := &a.chunks[a.used-1]
	start := len(*chunk)
	*chunk = (*chunk)[:start+n]
	return (*chunk)[start : start : start+n]
}

// reset makes all memory of the arena free again. Nothing that came from it may be used
// afterwards.
func (a *arena) reset() {
	a.chunks = a.chunks[:min(len(a.chunks), maxChunks)]
	for i := range a.chunks {
		a.chunks[i] = a.chunks[i][:0]
	}
	a.used = 0
}

// value returns room for a value of up to n bytes after its checksum.
func (w *writing) value(n int) []byte { return w.arena.room(rows.ChecksumSize + n)[:rows.ChecksumSize] }

func (w *writing) stage(b rows.Bucket, key, value []byte) {
	w.staged = append(w.staged, row{b, key, rows.Seal(b, key, value)})
}

func (w *writing) stageUint64(b rows.Bucket, key []byte, n uint64) {
	w.stage(b, key, rows.AppendNumber(w.value(8), n))
}

// stageLog adds a record to the log and returns its key.
func (w *writing) stageLog(number uint64, previous ledger.Hash, raw []byte) uint64 {
	key := w.nextKey
	w.nextKey++
	if number == 0 {
		number = key // a genesis
	}
	value := rows.AppendNumber(w.value(rows.LogHeaderSize+len(raw)), number)
	value = append(append(value, previous[:]...), raw...)
	w.stage(rows.LogBucket, rows.AppendNumber(w.arena.room(8), key), value)
	return key
}

func (w *writing) stageHead(h rows.Head) {
	w.stage(rows.HeadsBucket, rows.AppendNumber(w.arena.room(8), h.Number), h.Append(w.value(rows.MaxHeadSize)))
}

func (w *writing) stageLane(h rows.Head, name ledger.Writer, l rows.Lane) {
	key := rows.AppendWriter(w.arena.room(10+len(name.Principal)+len(name.Name)), h.Number, name)
	w.stage(rows.WritersBucket, key, l.Append(w.value(rows.MaxLaneSize)))
}

// decide runs an operation that stages rows. err is the operation's own error, after which none
// of its rows are put. fatal means that the whole transaction has to be abandoned.
func (w *writing) decide(operation func() error) (err, fatal error) {
	w.staged = w.staged[:0]
	key := w.nextKey
	err = rows.Guard(func() error {
		if err := operation(); err != nil {
			return err
		}
		return w.provenRows()
	})
	if size := w.stagedBytes(); err == nil && size > w.limit {
		err = fmt.Errorf("%w: %d bytes to store; allowed: at most %d", ledger.ErrTooLarge, size, w.limit)
	}
	if err != nil {
		w.nextKey = key
		return err, nil
	}
	w.entries += int(w.nextKey - key)
	return nil, rows.Guard(w.put)
}

func (w *writing) stagedBytes() int {
	n := 0
	for _, r := range w.staged {
		n += len(r.key) + len(r.value)
	}
	return n
}

func (w *writing) put() error {
	for _, r := range w.staged {
		bb, err := w.Bucket(r.bucket)
		if err != nil {
			return err
		}
		switch r.bucket {
		case rows.LogBucket:
			bb.FillPercent = logFill
		case rows.HeadsBucket:
			bb.FillPercent = headsFill
		}
		if r.value == nil {
			err = bb.Delete(r.key)
		} else {
			err = bb.Put(r.key, r.value)
		}
		if err != nil {
			return fmt.Errorf("bucket %s, key %s: %w", r.bucket, rows.KeyText(r.bucket, r.key), err)
		}
		w.puts++
		w.bytes += len(r.key) + len(r.value)
	}
	return nil
}

// How full bbolt leaves the pages that it splits. New keys come last in both
// buckets; heads grow a little, by the length of their numbers.
const (
	logFill   = 0.95
	headsFill = 0.8
)

// create stages a new ledger, or finds the one of an equal spec.
func (w *writing) create(g ledger.Genesis) (ledger.Summary, bool, error) {
	sum, err := w.Existing(g.Spec)
	if !errors.Is(err, ledger.ErrNotFound) {
		return sum, false, err
	}
	h, g, err := w.begin(g)
	if err != nil {
		return ledger.Summary{}, false, err
	}
	w.stageHead(h)
	sum = h.Summary()
	sum.Genesis = g
	return sum, true, nil
}

// begin stages a new ledger, without its head.
func (w *writing) begin(g ledger.Genesis) (rows.Head, ledger.Genesis, error) {
	raw, err := record.MarshalGenesis(g)
	if err != nil {
		return rows.Head{}, g, err
	}
	if g, err = record.UnmarshalGenesis(raw); err != nil { // what later calls will read
		return rows.Head{}, g, err
	}
	number := w.stageLog(0, ledger.Hash{}, raw)
	w.stageUint64(rows.LedgersBucket, []byte(g.Spec.Name), number)
	return rows.Head{Number: number, At: ledger.Head{Hash: record.GenesisHash(raw)}}, g, nil
}

// append stages a batch of proposals.
func (w *writing) append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	hashes := make([][]ledger.Hash, len(batch))
	var seen map[string]bool
	if len(batch) > 1 {
		seen = make(map[string]bool, len(batch))
	}
	for i := range batch {
		name := batch[i].Ledger
		if seen[name] {
			return nil, fmt.Errorf("proposal for ledger %s: twice in one batch; allowed: distinct ledgers", name)
		}
		if seen != nil {
			seen[name] = true
		}
		var err error
		if hashes[i], err = w.propose(&batch[i]); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// propose stages one proposal, if its ledger is where the proposal expects it.
func (w *writing) propose(p *ledger.Proposal) ([]ledger.Hash, error) {
	h, err := w.Find(p.Ledger)
	switch {
	case p.Genesis == nil:
	case err == nil:
		return nil, fmt.Errorf("ledger %s: %w: it is there already", p.Ledger, ledger.ErrConflict)
	case errors.Is(err, ledger.ErrNotFound):
		h, _, err = w.begin(*p.Genesis)
	}
	if err != nil {
		return nil, err
	}
	if p.Genesis == nil && p.Expected != h.At {
		return nil, fmt.Errorf("ledger %s: %w: expected position %d, found %d", p.Ledger, ledger.ErrConflict,
			p.Expected.Position, h.At.Position)
	}
	var few [4]uint64
	before := few[:0]
	for _, c := range p.Counts {
		n, err := w.Total(h, c.Index)
		if err != nil {
			return nil, err
		}
		before = append(before, n)
	}
	open, err := w.openOf(h, p)
	if err != nil {
		return nil, err
	}
	if err := p.Check(ledger.Stored{Summary: h.Summary(), Held: h.Held, Totals: before, Open: open}); err != nil {
		return nil, err
	}
	lanes := lanes{w: w, before: h}
	hashes := make([]ledger.Hash, 0, len(p.Entries))
	for _, e := range p.Entries {
		l, err := lanes.lane(e.Writer)
		if err != nil {
			return nil, err
		}
		if e.Sequence != l.Sequence+1 {
			return nil, fmt.Errorf("proposal for ledger %s: sequence of writer %s: %d; allowed: %d", p.Ledger,
				e.Writer.Name, e.Sequence, l.Sequence+1)
		}
		raw, err := record.AppendEntry(w.encoded[:0], e, h.Last, l.Last)
		if err != nil {
			return nil, err
		}
		w.encoded = raw
		key := w.stageLog(h.Number, h.At.Hash, raw)
		h.At = ledger.Head{Position: e.Position, Hash: record.EntryHash(h.At.Hash, raw)}
		h.Last = key
		l.advance(e, key)
		if e.Position%rows.IndexEvery == 0 {
			w.stageUint64(rows.PositionsBucket, rows.BlockKey(h.Number, e.Position/rows.IndexEvery), key)
		}
		if e.Amends() {
			w.stageAmendment(&h, e, key)
		}
		if e.Sequence%rows.IndexEvery == 0 {
			w.stageUint64(rows.SequencesBucket, rows.BlockKey(l.ID, e.Sequence/rows.IndexEvery), key)
		}
		hashes = append(hashes, h.At.Hash)
	}
	if err := w.counts(&h, p.Counts); err != nil {
		return nil, err
	}
	if err := w.reservations(&h, p.Open, open); err != nil {
		return nil, err
	}
	h.Total, h.Closed, h.Unreconciled = p.Total, p.Closed, p.Unreconciled
	if len(p.Entries) == 0 {
		w.stageHead(h)
		return hashes, nil
	}
	newest, err := lanes.stage(p.Entries[len(p.Entries)-1].Writer)
	if err != nil {
		return nil, err
	}
	h.Writer, h.Sequence = newest.ID, newest.Sequence
	w.stageHead(h)
	return hashes, nil
}

// counts stages changed totals and new mechanisms.
func (w *writing) counts(h *rows.Head, changes []ledger.CountChange) error {
	for _, c := range changes {
		if c.Index == h.Distinct {
			raw, err := record.MarshalMechanism(c.Mechanism)
			if err != nil {
				return err
			}
			w.stage(rows.MechanismsBucket, rows.IndexKey(h.Number, c.Index), append(w.value(len(raw)), raw...))
			h.Distinct++
			if c.Index < rows.InlineTotals {
				h.Totals = append(h.Totals, 0)
			}
		}
		if c.Index < rows.InlineTotals {
			h.Totals[c.Index] = c.Total
		} else {
			w.stageUint64(rows.CountsBucket, rows.IndexKey(h.Number, c.Index), c.Total)
		}
	}
	return nil
}
