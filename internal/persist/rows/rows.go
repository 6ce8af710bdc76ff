// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
)

// Head is the row that a charge rewrites: a ledger's newest entry and what is
// needed to append the next. It holds the state of the lane that wrote last, so
// that a ledger with one writer has no second row to rewrite: that lane's own
// row is out of date until another lane writes.
type Head struct {
	Number   uint64 // not in the row: its key
	At       ledger.Head
	Last     uint64 // log key of the newest entry; 0 before the first
	Total    uint64
	Distinct int
	Closed   bool
	Writer   uint64   // position of the first entry of the newest one's lane; 0 before the first
	Sequence uint64   // that lane's last sequence number
	Totals   []uint64 // of the first min(distinct, inlineTotals) mechanisms

	// The open reservations: without these a row of theirs that is lost would make
	// a budget larger. In the row only while there are any.
	Open uint64 // their number
	Held uint64 // the sum of their counts

	// Amended is the number of entries that amend the ledger. Like the reservations, it is in
	// the row only where there are any.
	Amended uint64

	Unreconciled bool
}

func (h Head) Summary() ledger.Summary {
	return ledger.Summary{Head: h.At, Closed: h.Closed, Distinct: h.Distinct, Total: h.Total,
		Unreconciled: h.Unreconciled}
}

// Agrees reports damage unless the newest entry has a position, which a database keeps beside the value.
func (h Head) Agrees(position int64) error {
	if h.At.Position != uint64(position) {
		return Damaged(HeadsBucket, NumberKey(h.Number), "position %d beside the value, %d in it", position,
			h.At.Position)
	}
	return nil
}

// Lane is the state of the lane that wrote last.
func (h Head) Lane() Lane {
	return Lane{First: h.Writer, Sequence: h.Sequence, Position: h.At.Position}
}

const MaxHeadSize = len(ledger.Hash{}) + 1 + (6+InlineTotals+3)*binary.MaxVarintLen64

// What a ledger takes, in its head's row. A program that does not know the last one
// cannot read the row, nor the entry that it stands for.
const (
	takesAll = iota
	takesNothing
	takesReconciling
)

// Append adds the row's bytes: the hash, what the ledger takes, then numbers as
// varints.
func (h Head) Append(b []byte) []byte {
	b = append(b, h.At.Hash[:]...)
	takes := byte(takesAll)
	switch {
	case h.Closed:
		takes = takesNothing
	case h.Unreconciled:
		takes = takesReconciling
	}
	b = append(b, takes)
	for _, n := range [...]uint64{h.At.Position, h.Last, h.Total, uint64(h.Distinct), h.Writer, h.Sequence} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range h.Totals {
		b = binary.AppendUvarint(b, n)
	}
	if h.Open > 0 || h.Amended > 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, h.Open), h.Held)
	}
	if h.Amended > 0 {
		b = binary.AppendUvarint(b, h.Amended)
	}
	return b
}

// UnsealHead reads a stored row.
func UnsealHead(number uint64, stored []byte) (Head, error) {
	return Parse(HeadsBucket, NumberKey(number), stored, func(b []byte) (Head, error) { return ParseHead(number, b) })
}

func ParseHead(number uint64, b []byte) (Head, error) {
	h := Head{Number: number}
	n := copy(h.At.Hash[:], b)
	if n < len(h.At.Hash) || len(b) == n || b[n] > takesReconciling {
		return Head{}, fmt.Errorf("%d bytes are no head", len(b))
	}
	h.Closed, h.Unreconciled = b[n] == takesNothing, b[n] == takesReconciling
	r := packs.Varints{B: b[n+1:]}
	h.At.Position, h.Last, h.Total = r.Next(), r.Next(), r.Next()
	distinct := r.Next()
	h.Writer, h.Sequence = r.Next(), r.Next()
	if distinct > ledger.MaxDistinct || h.Total > math.MaxInt64 {
		return Head{}, fmt.Errorf("%d distinct mechanisms, total %d; allowed: %d, 2^63 − 1", distinct,
			h.Total, ledger.MaxDistinct)
	}
	h.Distinct = int(distinct)
	if n := min(h.Distinct, InlineTotals); n > 0 {
		h.Totals = make([]uint64, n, InlineTotals)
		for i := range h.Totals {
			h.Totals[i] = r.Next()
		}
	}
	if len(r.B) > 0 {
		h.Open, h.Held = r.Next(), r.Next()
		more := len(r.B) > 0
		if more {
			h.Amended = r.Next()
		}
		r.Bad = r.Bad || h.Open == 0 && (!more || h.Held > 0) || h.Held < h.Open ||
			h.Held > math.MaxInt64 || more && h.Amended == 0
	}
	return h, r.End()
}

// Lane is a writer's row.
type Lane struct {
	First    uint64 // position of its first entry
	Sequence uint64 // of its newest entry
	Position uint64 // of its newest entry
}

// String shows the row in what a verification finds.
func (l Lane) String() string {
	return fmt.Sprintf("{first:%d sequence:%d position:%d}", l.First, l.Sequence, l.Position)
}

const MaxLaneSize = 3 * binary.MaxVarintLen64

func (l Lane) Append(b []byte) []byte {
	for _, n := range [...]uint64{l.First, l.Sequence, l.Position} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func ParseLane(b []byte) (Lane, error) {
	r := packs.Varints{B: b}
	l := Lane{r.Next(), r.Next(), r.Next()}
	if l.First == 0 || l.Sequence == 0 || l.Position < l.First {
		r.Bad = true
	}
	return l, r.End()
}

func ParseUint64(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%d bytes; want 8", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}
