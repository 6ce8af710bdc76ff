// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// BoundKey is a key that signs a store's heads. Its row of the meta bucket has the time (8 bytes, Unix nanoseconds)
// and the fingerprint (32). Rows are only added.
type BoundKey struct {
	// Fingerprint is a SHA-256 of the public key; zero after a restore: the next key
	// that the store is used with will be its own.
	Fingerprint [sha256.Size]byte
	Since       time.Time
}

// RotatingNote is the note of a database that names the key to which "accountantd rotate-key" binds it, in hexadecimal,
// as long as no run of it has found that no daemon uses an earlier key. By it another run knows that it has to finish
// that one. An empty note says that none is under way.
const RotatingNote = "rotate-key"

// Replaced reports whether a store was bound to another key after the one with this fingerprint. Such a key does not
// come back: it may have been replaced because somebody else has it. keys are all keys of the store, the one in use
// last. A restore, after which any key may be the next one, replaces none.
func Replaced(keys []BoundKey, fingerprint [sha256.Size]byte) (replaced bool) {
	var after bool
	for _, k := range keys {
		switch k.Fingerprint {
		case fingerprint:
			after, replaced = true, false
		case [sha256.Size]byte{}:
		default:
			replaced = after
		}
	}
	return replaced
}

// KeyPrefix begins the names of keys' rows.
const KeyPrefix = "key/"

// KeyRow is the name of a key's row in a file. Keys are numbered from 0.
func KeyRow(n int) []byte { return binary.BigEndian.AppendUint32([]byte(KeyPrefix), uint32(n)) }

// KeyName is the name of a key's row in a database, where names are text.
func KeyName(n int) string { return fmt.Sprintf("%s%06d", KeyPrefix, n) }

// Append adds the row's bytes.
func (k BoundKey) Append(b []byte) []byte {
	return append(AppendNumber(b, uint64(k.Since.UnixNano())), k.Fingerprint[:]...)
}

// AppendKey adds the key in a row to those in the rows before it, and verifies it. The row must have the name that is
// wanted, which is KeyRow or KeyName of their number: one that is missing would make an earlier key the newest.
func AppendKey(keys []BoundKey, name, want, stored []byte) ([]BoundKey, error) {
	k, err := Parse(MetaBucket, name, stored, ParseKey)
	if err == nil && !bytes.Equal(name, want) {
		err = Damaged(MetaBucket, name, "want key %d", len(keys))
	}
	if err != nil {
		return nil, err
	}
	return append(keys, k), nil
}

// ParseKey reads the bytes that Append has written.
func ParseKey(b []byte) (k BoundKey, err error) {
	if len(b) != 8+sha256.Size {
		return k, fmt.Errorf("a key of %d bytes; want %d", len(b), 8+sha256.Size)
	}
	return BoundKey{Fingerprint: [sha256.Size]byte(b[8:]),
		Since: time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC()}, nil
}

// Keys returns the keys that a file is bound to, the one in use last.
func (v *View) Keys() (keys []BoundKey, err error) {
	bb, err := v.Bucket(MetaBucket)
	if err != nil {
		return nil, err
	}
	c := bb.Cursor()
	for name, stored := c.Seek([]byte(KeyPrefix)); bytes.HasPrefix(name, []byte(KeyPrefix)); name, stored = c.Next() {
		if keys, err = AppendKey(keys, name, KeyRow(len(keys)), stored); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
