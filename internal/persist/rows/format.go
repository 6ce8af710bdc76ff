// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
)

// formatVersion is the version of the layout below; docs/decisions explains the layout. The
// meta bucket and its format row are the same in every version.
const formatVersion = 1

// Bucket is one of the file's buckets.
type Bucket uint8

const (
	// metaBucket: "format" → version (4 bytes); "store" → the store's UUID; and the
	// rows of marks.go.
	MetaBucket Bucket = iota
	// tailBucket, append-only at its end: log key (8) of the newest of some entries that one
	// commit has appended to a ledger → ledger number, log key of the ledger's entry before,
	// and the entries as a pack (package packs). Upkeep deals its oldest rows out.
	TailBucket
	// packsBucket: ledger number (8), position (8) of the last of some entries → a pack of
	// them, or where packs of those lie that are no longer in the file (cold.go). The entries of a
	// ledger are its packs and then its rows of the tail, and all other buckets but meta and geneses
	// follow from them.
	PacksBucket
	// genesesBucket: ledger number (8) → stored bytes. The number is the genesis's log key: one of
	// those of the entries, which are 1, 2, 3 … over all ledgers.
	GenesesBucket
	// ledgersBucket: name → ledger number (8).
	LedgersBucket
	// headsBucket: ledger number (8) → head.
	HeadsBucket
	// mechanismsBucket: ledger number (8), index (4) → descriptor, written once.
	MechanismsBucket
	// countsBucket: ledger number (8), index (4) → total (8), for the indexes
	// from inlineTotals on; the others are in the head.
	CountsBucket
	// writersBucket: ledger number (8), length of the principal (2), principal,
	// name → lane, for all writers but request IDs.
	WritersBucket
	// singlesBucket: ledger number (8), the largest hash (8) that a block covers → the keys of
	// request IDs in it (singles.go).
	SinglesBucket
	// sequencesBucket: ledger number (8), position (8) of the lane's first entry,
	// sequence/indexEvery (8) → position (8) of every indexEvery-th entry of a lane.
	SequencesBucket
	// reservationsBucket: ledger number (8), position (8) → what is left of an open
	// reservation (accountant.record.v1.Reservation).
	ReservationsBucket
	// amendmentsBucket: ledger number (8), position (8) of an entry that amends the ledger → nothing.
	// That is a refund, a raise, a freed reservation, a restore, what reconciles it, or an
	// acknowledged warning.
	AmendmentsBucket
	// checkpointsBucket: ledger number (8), position (8) with all bits inverted → how the ledger stood there
	// (checkpoints.go). These rows may be missing.
	CheckpointsBucket
	Buckets
)

var BucketNames = [Buckets]string{
	"meta", "tail", "packs", "geneses", "ledgers", "heads", "mechanisms", "counts", "writers", "singles",
	"sequences",
	"reservations", "amendments", "checkpoints",
}

func (b Bucket) String() string { return BucketNames[b] }

const (
	// InlineTotals is how many of a ledger's totals are in its head row. Most ledgers have
	// fewer mechanisms, so a charge rewrites one small row.
	InlineTotals = 8
	// IndexEvery bounds how many entries of a lane a read walks back before it reaches the one
	// that it looks for.
	IndexEvery = 64

	ChecksumSize = 4
)

var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is CRC-32C of the key and the value, started from the bucket's own number, so that a
// value at a wrong place counts as damaged, too.
func checksum(b Bucket, key, value []byte) uint32 {
	return crc32.Update(crc32.Update(uint32(b)+1, Castagnoli, key), Castagnoli, value)
}

// Seal completes a stored value whose first checksumSize bytes are free.
func Seal(b Bucket, key, stored []byte) []byte {
	binary.BigEndian.PutUint32(stored, checksum(b, key, stored[ChecksumSize:]))
	return stored
}

// maxRow bounds the bytes of a key and its value; it is more than a batch may have. bbolt reads
// both lengths from the page, and a damaged page may state any length.
const maxRow = 64 << 20

// Unseal returns the value of what is stored, or ErrDamaged.
func Unseal(b Bucket, key, stored []byte) ([]byte, error) {
	if len(key)+len(stored) > maxRow {
		return nil, Damaged(b, key, "%d bytes; at most %d", len(key)+len(stored), maxRow)
	}
	if len(stored) < ChecksumSize {
		return nil, Damaged(b, key, "%d bytes; a checksum alone has %d", len(stored), ChecksumSize)
	}
	value := stored[ChecksumSize:]
	if found, sum := binary.BigEndian.Uint32(stored), checksum(b, key, value); found != sum {
		return nil, Damaged(b, key, "checksum %08x, computed %08x", found, sum)
	}
	return value, nil
}

// Parse reads what is stored with a function that knows the value's form.
func Parse[T any](b Bucket, key, stored []byte, read func([]byte) (T, error)) (t T, err error) {
	value, err := Unseal(b, key, stored)
	if err != nil {
		return t, err
	}
	if t, err = read(value); err != nil {
		return t, Damaged(b, key, "%v", err)
	}
	return t, nil
}

// Damaged returns an error that says what is wrong with which record.
func Damaged(b Bucket, key []byte, format string, args ...any) error {
	return fmt.Errorf("%w: bucket %s, key %s: %s", ledger.ErrDamaged, b, KeyText(b, key), fmt.Sprintf(format, args...))
}

// DamagedBytes returns an error that says where the bytes are that package record could not read.
func DamagedBytes(b Bucket, key []byte, err error) error {
	if errors.Is(err, ledger.ErrNewer) {
		return fmt.Errorf("%w: bucket %s, key %s", err, b, KeyText(b, key))
	}
	return Damaged(b, key, "%s", strings.TrimPrefix(err.Error(), ledger.ErrDamaged.Error()+": "))
}

// maxKeyText is longer than every key that this program stores: names and principals have at
// most 256 bytes.
const maxKeyText = 1 << 10

// KeyText formats a key as a person would look for it.
func KeyText(b Bucket, key []byte) string {
	switch {
	case len(key) > maxKeyText:
		return pages.Text(key)
	case b == MetaBucket || b == LedgersBucket:
		return fmt.Sprintf("%q", key)
	case len(key) == 8:
		return fmt.Sprint(binary.BigEndian.Uint64(key))
	case b == WritersBucket && len(key) > 10:
		return fmt.Sprintf("%d/%q", binary.BigEndian.Uint64(key), key[10:])
	case len(key) == 12:
		return fmt.Sprintf("%d/%d", binary.BigEndian.Uint64(key), binary.BigEndian.Uint32(key[8:]))
	case b == CheckpointsBucket && len(key) == 16:
		return fmt.Sprintf("%d/%d", binary.BigEndian.Uint64(key), ^binary.BigEndian.Uint64(key[8:]))
	case len(key) == 16:
		return fmt.Sprintf("%d/%d", binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:]))
	case len(key) == 24:
		return fmt.Sprintf("%d/%d/%d", binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:]),
			binary.BigEndian.Uint64(key[16:]))
	}
	return fmt.Sprintf("%x", key)
}

func NumberKey(n uint64) []byte { return AppendNumber(nil, n) }

func IndexKey(number uint64, index int) []byte { return appendIndex(nil, number, index) }

// BlockKey is a key of a ledger number and a position.
func BlockKey(number, position uint64) []byte { return AppendBlock(nil, number, position) }

// NumberIn returns the number that is a key of a bucket.
func NumberIn(b Bucket, key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, Damaged(b, key, "a key of %d bytes; want 8", len(key))
	}
	return binary.BigEndian.Uint64(key), nil
}

// BlockIn returns the ledger number and the position that are a key of a bucket.
func BlockIn(b Bucket, key []byte) (number, position uint64, err error) {
	if len(key) != 16 {
		return 0, 0, Damaged(b, key, "a key of %d bytes; want 16", len(key))
	}
	return binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:]), nil
}

// SequenceKey is that of the bucket sequences.
func SequenceKey(number, first, block uint64) []byte {
	return AppendNumber(BlockKey(number, first), block)
}

func AppendNumber(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

func appendIndex(b []byte, number uint64, index int) []byte {
	return binary.BigEndian.AppendUint32(AppendNumber(b, number), uint32(index))
}

func AppendBlock(b []byte, number, position uint64) []byte {
	return AppendNumber(AppendNumber(b, number), position)
}

// WriterIn returns the writer that is a key after a ledger number.
func WriterIn(key []byte) (w ledger.Writer, err error) {
	const at = 8 + 2
	if len(key) < at || len(key) < at+int(binary.BigEndian.Uint16(key[8:])) {
		return w, Damaged(WritersBucket, key, "no principal and name")
	}
	end := at + int(binary.BigEndian.Uint16(key[8:]))
	return ledger.Writer{Principal: string(key[at:end]), Name: string(key[end:])}, nil
}

// AppendWriter is the inverse of WriterIn.
func AppendWriter(b []byte, number uint64, w ledger.Writer) []byte {
	b = binary.BigEndian.AppendUint16(AppendNumber(b, number), uint16(len(w.Principal))) // at most 256: package wire
	return append(append(b, w.Principal...), w.Name...)
}
