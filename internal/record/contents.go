// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// contentsTag is the domain tag of Contents.
const contentsTag = "accountant store contents v1\x00"

// Contents is a digest of all that a store has: of each ledger's name and head, whose hash pins every
// stored byte of the ledger. Two stores with the same ledgers and entries have the same one, whatever
// they are kept in.
type Contents struct {
	hash    hash.Hash
	Ledgers uint64
	Entries uint64
}

// Add adds the next ledger, by the order of the names' bytes.
func (c *Contents) Add(name string, head ledger.Head) {
	if c.hash == nil {
		c.hash = sha256.New()
		c.hash.Write([]byte(contentsTag))
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(len(name)))
	b = binary.BigEndian.AppendUint64(append(b, name...), head.Position)
	c.hash.Write(append(b, head.Hash[:]...))
	c.Ledgers++
	c.Entries += head.Position
}

// Sum returns the digest.
func (c *Contents) Sum() [sha256.Size]byte {
	if c.hash == nil {
		return sha256.Sum256([]byte(contentsTag))
	}
	return [sha256.Size]byte(c.hash.Sum(nil))
}
