// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/book"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// writing is one write transaction. Each operation is first decided, which only reads, and may
// fail for this operation alone. Then its rows are put, which can fail only for the whole
// transaction.
type writing struct {
	rows.View
	store     string            // its identifier
	nextKey   uint64            // of the log
	numbers   map[string]uint64 // as of committer.numbers
	endProven bool              // the pages at the end of the log, where every record goes
	limit     int               // bytes of one operation
	puts      int
	bytes     int   // of keys and values put
	tail      int64 // bytes of the values put into the tail
	entries   int

	staged  []row         // of the operation at hand
	singles []rows.Single // its request IDs
	ledger  reading
	change  *book.Change
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

// next returns the key of the log's next record.
func (w *writing) next() uint64 {
	w.nextKey++
	return w.nextKey - 1
}

// tailBytes is how large a row of the tail is, about, if there is enough for it. bbolt rewrites the last few rows with
// each commit, and reads a whole page for each of them.
const tailBytes = 8 << 10

// stageTail adds a change's entries to the tail. before is the log key of the ledger's entry before them.
func (w *writing) stageTail(c *book.Change, before uint64) {
	for p := range c.Packs(tailBytes) {
		room := 2*binary.MaxVarintLen64 + p.Room()
		value := rows.Tail{Pack: p, Number: c.Head.Number, Before: before}.Append(w.value(room))
		before = p.Key()
		w.stage(rows.TailBucket, rows.AppendNumber(w.arena.room(8), before), value)
	}
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
		case rows.TailBucket, rows.GenesesBucket:
			bb.FillPercent = logFill
		case rows.PacksBucket:
			bb.FillPercent = packsFill
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
		if r.bucket == rows.TailBucket {
			w.tail += int64(len(r.value))
		}
	}
	return nil
}

// How full bbolt leaves the pages that it splits. New keys come last in the buckets, or last of their ledger in packs;
// heads grow a little, by the length of their numbers.
const (
	logFill   = 0.95
	packsFill = 0.9
	headsFill = 0.8
)

// create stages a new ledger, or finds the one of an equal spec.
func (w *writing) create(g ledger.Genesis) (ledger.Summary, bool, error) {
	sum, err := existing(&w.View, g.Spec)
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

// existing finds the ledger of an equal spec.
func existing(v *rows.View, spec ledger.Spec) (ledger.Summary, error) {
	h, err := v.Find(spec.Name)
	if err != nil {
		return ledger.Summary{}, err
	}
	sum, err := v.Summary(spec.Name, h)
	if err != nil {
		return ledger.Summary{}, err
	}
	return book.Existing(sum, spec)
}

// begin stages a new ledger, without its head.
func (w *writing) begin(g ledger.Genesis) (rows.Head, ledger.Genesis, error) {
	h, g, raw, err := book.Begin(g, w.store, w.nextKey)
	if err != nil {
		return h, g, err
	}
	w.stage(rows.GenesesBucket, rows.AppendNumber(w.arena.room(8), w.next()), append(w.value(len(raw)), raw...))
	w.stageUint64(rows.LedgersBucket, []byte(g.Spec.Name), h.Number)
	return h, g, nil
}

// append stages a batch of proposals.
func (w *writing) append(batch []ledger.Proposal) ([][]ledger.Hash, error) {
	if err := book.Distinct(batch); err != nil {
		return nil, err
	}
	hashes := make([][]ledger.Hash, len(batch))
	for i := range batch {
		var err error
		if hashes[i], err = w.propose(&batch[i]); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// mostNumbers is how many numbers of ledgers are kept in memory.
const mostNumbers = 4096

// find is Find, which looks up once what number a ledger has.
func (w *writing) find(name string) (rows.Head, error) {
	number, known := w.numbers[name]
	if !known {
		var err error
		if number, err = w.Number(name); err != nil {
			return rows.Head{}, err
		}
		if len(w.numbers) >= mostNumbers {
			clear(w.numbers)
		}
		w.numbers[name] = number
	}
	return w.Head(number)
}

// propose stages one proposal, if its ledger is where the proposal expects it.
func (w *writing) propose(p *ledger.Proposal) ([]ledger.Hash, error) {
	h, err := w.find(p.Ledger)
	begins, err := book.Found(p, err)
	if begins {
		h, _, err = w.begin(*p.Genesis)
	}
	if err != nil {
		return nil, err
	}
	w.ledger = reading{w, h}
	c := w.change
	if err := c.Make(h, &w.ledger, &w.ledger, p); err != nil {
		return nil, err
	}
	if err := w.stageLanes(h, c); err != nil {
		return nil, err
	}
	w.stageTail(c, h.Last)
	w.stageChange(c)
	return c.Hashes(), nil
}

// stageChange stages the rows of a change, but for the tail's and the lanes'.
func (w *writing) stageChange(c *book.Change) {
	number := c.Head.Number
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.Amends() {
			w.stage(rows.AmendmentsBucket, rows.AppendBlock(w.arena.room(16), number, e.Position), w.value(0))
		}
		if e.Sequence%rows.IndexEvery == 0 {
			w.stageUint64(rows.SequencesBucket, rows.SequenceKey(number, e.First, e.Sequence/rows.IndexEvery),
				e.Position)
		}
	}
	for _, m := range c.Mechanisms {
		w.stage(rows.MechanismsBucket, rows.IndexKey(number, m.Index), append(w.value(len(m.Raw)), m.Raw...))
	}
	for _, n := range c.Counts {
		w.stageUint64(rows.CountsBucket, rows.IndexKey(number, n.Index), n.Total)
	}
	for _, r := range c.Reservations {
		key := rows.AppendBlock(w.arena.room(16), number, r.Position)
		if r.Raw == nil {
			w.staged = append(w.staged, row{bucket: rows.ReservationsBucket, key: key})
		} else {
			w.stage(rows.ReservationsBucket, key, append(w.value(len(r.Raw)), r.Raw...))
		}
	}
	w.stageHead(c.Head)
}

// stageLanes stages the lanes that a change has moved. The lane of the newest writer is kept in the head: its own row
// is made, but not rewritten. The lane that the head held before gets its row back, unless the row that was made for
// its first entry still says where it stands, as it does for each request ID.
func (w *writing) stageLanes(before rows.Head, c *book.Change) error {
	kept := before.Sequence <= 1 || len(c.Lanes) == 0 // the row is right, or the head goes on holding the lane
	singles := w.singles[:0]
	for _, l := range c.Lanes {
		if l.Writer.Single() {
			singles = append(singles, rows.Single{Hash: rows.HashOf(l.Writer), Position: l.Position})
		} else if l.Fresh || l.First != c.Head.Writer {
			w.stageLane(before, l.Writer, l.Lane)
		}
		kept = kept || l.First == before.Writer
	}
	w.singles = singles
	blocks, err := rows.AddSingles(singles, func(hash uint64) (rows.SinglesBlock, error) {
		return w.SinglesBlock(before.Number, hash)
	})
	for _, k := range blocks {
		w.staged = append(w.staged, row{rows.SinglesBucket, rows.BlockKey(before.Number, k.Upto),
			k.Seal(before.Number)})
	}
	if err != nil || kept {
		return err
	}
	// The lane's name is in its newest entry, the ledger's newest too.
	newest, err := w.Log(before).NewestWriter(before)
	if err != nil {
		return err
	}
	w.stageLane(before, newest, before.Lane())
	return nil
}

// reading is what the book reads of one ledger in the transaction.
type reading struct {
	w    *writing
	head rows.Head
}

// Lane implements book.Rows.
func (r *reading) Lane(w ledger.Writer) (rows.Lane, error) { return r.w.Lane(r.head, w) }

// Count implements book.Rows.
func (r *reading) Count(index int) (uint64, error) { return r.w.Total(r.head, index) }

// Open implements book.Rows.
func (r *reading) Open(position uint64) (found ledger.Reservation, open bool, err error) {
	key := rows.BlockKey(r.head.Number, position)
	value, err := r.w.Get(rows.ReservationsBucket, key)
	if err != nil || value == nil {
		return found, false, err
	}
	found, err = rows.ParseReservation(key, value)
	return found, err == nil, err
}

// Next implements book.Keys.
func (r *reading) Next() uint64 { return r.w.next() }
