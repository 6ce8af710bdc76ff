// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/packs"
)

// Old rows of packs move to segments (package cold). One row stays in the place of those that follow each other: it has
// the last one's key and says where the block with all of them lies. A block has the rows as they were stored, each
// with its checksum.

// elsewhere begins the value of such a row. No pack begins so.
const elsewhere = 0xff

// PackRow is a row of packs of a known ledger.
type PackRow struct {
	Last   uint64 // position of its last entry
	Stored []byte
}

// Block is rows of packs of one ledger that follow each other.
type Block struct {
	Number uint64 // of the ledger
	First  uint64 // position of the first entry
	Rows   []PackRow
}

// Last is the position of the last entry.
func (b Block) Last() uint64 { return b.Rows[len(b.Rows)-1].Last }

// Append adds the block's bytes.
func (b Block) Append(out []byte) []byte {
	for _, n := range [...]uint64{b.Number, b.First, uint64(len(b.Rows))} {
		out = binary.AppendUvarint(out, n)
	}
	for _, r := range b.Rows {
		out = packs.AppendText(binary.AppendUvarint(out, r.Last), r.Stored)
	}
	return out
}

// parseBlock reads the block of a ledger that has the entries from first to last.
func parseBlock(number, first, last uint64, raw []byte) (b Block, err error) {
	r := packs.Varints{B: raw}
	b.Number, b.First = r.Next(), r.Next()
	count, before := r.Next(), first
	for n := uint64(0); n < count && !r.Bad; n++ {
		row := PackRow{Last: r.Next()}
		row.Stored = r.Text()
		r.Bad, before = r.Bad || row.Last < before, row.Last+1
		b.Rows = append(b.Rows, row)
	}
	if err := r.End(); err != nil || len(b.Rows) == 0 {
		return b, fmt.Errorf("a block of entries %d to %d: %w", first, last, errors.Join(err, errEmpty))
	}
	if b.Number != number || b.First != first || b.Last() != last {
		return b, fmt.Errorf("a block of entries %d to %d of ledger %d; want %d to %d of %d", b.First, b.Last(),
			b.Number, first, last, number)
	}
	return b, nil
}

var errEmpty = errors.New("it is no block")

// IsElsewhere reports whether a stored row of packs says that they lie in a segment.
func IsElsewhere(stored []byte) bool {
	return len(stored) > ChecksumSize && stored[ChecksumSize] == elsewhere
}

// SealElsewhere makes the value of the row that stays in the place of a block.
func SealElsewhere(b Block, r cold.Ref) []byte {
	out := append(make([]byte, ChecksumSize, 128), elsewhere)
	out = append(append(out, r.Segment[:]...), r.Sum[:]...)
	for _, n := range [...]uint64{b.First, r.Offset, r.Length} {
		out = binary.AppendUvarint(out, n)
	}
	return Seal(PacksBucket, BlockKey(b.Number, b.Last()), out)
}

// ParseElsewhere reads that row: where the block is, and its first position.
func ParseElsewhere(key, stored []byte) (first uint64, ref cold.Ref, err error) {
	b, err := Unseal(PacksBucket, key, stored)
	if err != nil {
		return 0, ref, err
	}
	if len(b) < 1+len(ref.Segment)+len(ref.Sum) || b[0] != elsewhere {
		return 0, ref, Damaged(PacksBucket, key, "%d bytes say nothing about a segment", len(b))
	}
	b = b[1:]
	b = b[copy(ref.Segment[:], b):]
	r := packs.Varints{B: b[copy(ref.Sum[:], b):]}
	first, ref.Offset, ref.Length = r.Next(), r.Next(), r.Next()
	if err := r.End(); err != nil || first == 0 || len(key) != 16 || first > binary.BigEndian.Uint64(key[8:]) {
		return 0, ref, Damaged(PacksBucket, key, "about a segment: %v", errors.Join(err, errEmpty))
	}
	return first, ref, nil
}

// Elsewhere returns the block of which a row says where it lies. Without its segment that is an error, which names what
// is missing; the other ledgers are not affected.
func (v *View) Elsewhere(key, stored []byte) (b Block, err error) {
	first, ref, err := ParseElsewhere(key, stored)
	if err != nil {
		return b, err
	}
	number, last := binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
	if v.block.Number == number && len(v.block.Rows) > 0 && v.block.First == first && v.block.Last() == last {
		return v.block, nil
	}
	place, err := v.Retention()
	if err != nil {
		return b, err
	}
	away := &AwayError{Place: place.Place, Ref: ref, Number: number, First: first, Last: last}
	raw, there := v.Fetched[ref]
	if !there {
		if g, _, _, err := v.Genesis(number); err == nil {
			away.Ledger = g.Spec.Name
		}
		if v.Fetched != nil {
			return b, away
		}
		if v.Fetch != nil {
			raw, err = v.Fetch(away)
		} else {
			raw, err = away.Fetch(context.Background())
		}
		if err != nil {
			return b, err
		}
	}
	if b, err = parseBlock(number, first, last, raw); err != nil {
		return b, Damaged(PacksBucket, key, "%v", err)
	}
	v.block = b
	return b, nil
}

// AwayError is a block in a segment that has to be fetched first (View.Fetched).
type AwayError struct {
	Place               cold.Place
	Ref                 cold.Ref
	Ledger              string
	Number, First, Last uint64 // the ledger's number, and the block's entries
}

// Error implements error.
func (a *AwayError) Error() string {
	return fmt.Sprintf("segment %s, which has entries %d to %d of ledger %s", a.Ref.Segment, a.First, a.Last,
		cmp.Or(a.Ledger, fmt.Sprint("number ", a.Number)))
}

// Fetch reads the block. A segment that is damaged is ledger.ErrDamaged. One that cannot be read, as it is missing, or
// its place does not answer, or its key is not there, is ledger.ErrAway: asking again helps, once that is mended.
func (a *AwayError) Fetch(ctx context.Context) ([]byte, error) {
	raw, err := a.Place.Read(ctx, a.Ref)
	switch {
	case errors.Is(err, cold.ErrWrong):
		err = elsewhereError{ledger.ErrDamaged, fmt.Errorf("%v: %w", a, err)}
	case err != nil:
		err = a.Because(err)
	}
	return raw, err
}

// Because says why the block cannot be read now.
func (a *AwayError) Because(err error) error {
	return elsewhereError{ledger.ErrAway, fmt.Errorf("%v, cannot be read now: %w", a, err)}
}

// elsewhereError is an error of a kind that says nothing of the store's file, which is as it should be.
type elsewhereError struct{ kind, of error }

// Error implements error.
func (e elsewhereError) Error() string { return e.of.Error() }

// Unwrap returns both, for errors.Is.
func (e elsewhereError) Unwrap() []error { return []error{e.kind, e.of} }

// EachPackRow calls f with a stored row of packs, or with those that lie in a segment in its place.
func (v *View) EachPackRow(key, stored []byte, f func(key, stored []byte) error) error {
	if !IsElsewhere(stored) {
		return f(key, stored)
	}
	b, err := v.Elsewhere(key, stored)
	if err != nil {
		return err
	}
	for _, r := range b.Rows {
		if err := f(BlockKey(b.Number, r.Last), r.Stored); err != nil {
			return err
		}
	}
	return nil
}

// Retention says which packs leave the file, and where they go.
type Retention struct {
	cold.Place
	After  time.Duration // how old all entries of a pack are; closed ledgers' leave at any age
	Sealed blobs.Prints  // of the keys that have sealed segments
}

// RetentionKey → the age in nanoseconds (8 bytes), and the folder, the key's file and the fingerprints, each ended by a
// zero byte. It is there from the first time on that packs were to leave the file.
var RetentionKey = []byte("retention")

// Append adds the row's bytes.
func (r Retention) Append(b []byte) []byte {
	b = AppendNumber(b, uint64(r.After))
	for _, text := range [...]string{r.Dir, string(r.Key), string(r.Sealed)} {
		b = append(append(b, text...), 0)
	}
	return b
}

// Retention returns what was recorded last; zero if nothing was.
func (v *View) Retention() (r Retention, err error) {
	r, _, err = may(v, MetaBucket, RetentionKey, parseRetention)
	return r, err
}

func parseRetention(b []byte) (r Retention, err error) {
	texts := bytes.Split(b[min(8, len(b)):], []byte{0})
	if len(b) < 8 || len(texts) != 4 || len(texts[3]) > 0 {
		return r, fmt.Errorf("%d bytes say nothing about a folder", len(b))
	}
	return Retention{cold.Place{Dir: string(texts[0]), Key: blobs.Key(texts[1])},
		time.Duration(binary.BigEndian.Uint64(b)), blobs.Prints(texts[2])}, nil
}
