// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// The domain tags of the chain's hashes; their version counts what follows them.
const (
	genesisTag = "accountant ledger genesis v1\x00"
	entryTag   = "accountant ledger entry v1\x00"
)

// GenesisHash is the first hash of a ledger's chain: SHA-256 over its tag and
// the stored bytes of the genesis.
func GenesisHash(raw []byte) ledger.Hash {
	var room [1024]byte // most records fit, without an allocation
	return sha256.Sum256(append(append(room[:0], genesisTag...), raw...))
}

// EntryHash is the hash of an entry: SHA-256 over its tag, the hash of the entry
// before (or of the genesis) and the stored bytes of the entry.
func EntryHash(previous ledger.Hash, raw []byte) ledger.Hash {
	var room [1024]byte // most records fit, without an allocation
	b := append(append(room[:0], entryTag...), previous[:]...)
	if len(b)+len(raw) <= len(room) {
		return sha256.Sum256(append(b, raw...))
	}
	h := sha256.New()
	h.Write(b)
	h.Write(raw)
	return ledger.Hash(h.Sum(room[:0]))
}
