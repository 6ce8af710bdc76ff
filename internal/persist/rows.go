package persist

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// head is the row that a charge rewrites: a ledger's newest entry and what is
// needed to append the next. It holds the state of the lane that wrote last, so
// that a ledger with one writer has no second row to rewrite: that lane's own
// row is out of date until another lane writes.
type head struct {
	number   uint64 // not in the row: its key
	at       ledger.Head
	last     uint64 // log key of the newest entry; 0 before the first
	total    uint64
	distinct int
	closed   bool
	writer   uint64   // id of the lane of the newest entry; 0 before the first
	sequence uint64   // that lane's last sequence number
	totals   []uint64 // of the first min(distinct, inlineTotals) mechanisms

	// The open reservations: without these a row of theirs that is lost would make
	// a budget larger. In the row only while there are any.
	open uint64 // their number
	held uint64 // the sum of their counts

	amended uint64 // the number of entries that amend the ledger; likewise

	unreconciled bool
}

func (h head) summary() ledger.Summary {
	return ledger.Summary{Head: h.at, Closed: h.closed, Distinct: h.distinct, Total: h.total,
		Unreconciled: h.unreconciled}
}

// lane is the state of the lane that wrote last.
func (h head) lane() lane {
	return lane{id: h.writer, sequence: h.sequence, position: h.at.Position, last: h.last}
}

const maxHeadSize = len(ledger.Hash{}) + 1 + (6+inlineTotals+3)*binary.MaxVarintLen64

// What a ledger takes, in its head's row. A program that does not know the last one
// cannot read the row, nor the entry that it stands for.
const (
	takesAll = iota
	takesNothing
	takesReconciling
)

// append adds the row's bytes: the hash, what the ledger takes, then numbers as
// varints.
func (h head) append(b []byte) []byte {
	b = append(b, h.at.Hash[:]...)
	takes := byte(takesAll)
	switch {
	case h.closed:
		takes = takesNothing
	case h.unreconciled:
		takes = takesReconciling
	}
	b = append(b, takes)
	for _, n := range [...]uint64{h.at.Position, h.last, h.total, uint64(h.distinct), h.writer, h.sequence} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range h.totals {
		b = binary.AppendUvarint(b, n)
	}
	if h.open > 0 || h.amended > 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, h.open), h.held)
	}
	if h.amended > 0 {
		b = binary.AppendUvarint(b, h.amended)
	}
	return b
}

func parseHead(number uint64, b []byte) (head, error) {
	h := head{number: number}
	n := copy(h.at.Hash[:], b)
	if n < len(h.at.Hash) || len(b) == n || b[n] > takesReconciling {
		return head{}, fmt.Errorf("%d bytes are no head", len(b))
	}
	h.closed, h.unreconciled = b[n] == takesNothing, b[n] == takesReconciling
	r := varints{b: b[n+1:]}
	h.at.Position, h.last, h.total = r.next(), r.next(), r.next()
	distinct := r.next()
	h.writer, h.sequence = r.next(), r.next()
	if distinct > ledger.MaxDistinct || h.total > math.MaxInt64 {
		return head{}, fmt.Errorf("%d distinct mechanisms, total %d; allowed: %d, 2^63 − 1", distinct,
			h.total, ledger.MaxDistinct)
	}
	h.distinct = int(distinct)
	if n := min(h.distinct, inlineTotals); n > 0 {
		h.totals = make([]uint64, n, inlineTotals)
		for i := range h.totals {
			h.totals[i] = r.next()
		}
	}
	if len(r.b) > 0 {
		h.open, h.held = r.next(), r.next()
		more := len(r.b) > 0
		if more {
			h.amended = r.next()
		}
		r.bad = r.bad || h.open == 0 && (!more || h.held > 0) || h.held < h.open ||
			h.held > math.MaxInt64 || more && h.amended == 0
	}
	return h, r.end()
}

// lane is a writer's row.
type lane struct {
	id       uint64 // log key of its first entry
	sequence uint64 // of its newest entry
	position uint64 // of its newest entry
	last     uint64 // log key of its newest entry
}

const maxLaneSize = 4 * binary.MaxVarintLen64

func (l lane) append(b []byte) []byte {
	for _, n := range [...]uint64{l.id, l.sequence, l.position, l.last} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func parseLane(b []byte) (lane, error) {
	r := varints{b: b}
	l := lane{r.next(), r.next(), r.next(), r.next()}
	if l.id == 0 || l.sequence == 0 || l.position == 0 || l.last < l.id {
		r.bad = true
	}
	return l, r.end()
}

// varints reads numbers one after the other.
type varints struct {
	b   []byte
	bad bool
}

func (r *varints) next() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// end returns an error unless exactly all bytes were read.
func (r *varints) end() error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("the numbers are cut short, out of range or too many")
	}
	return nil
}

func parseUint64(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%d bytes; want 8", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
