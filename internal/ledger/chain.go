package ledger

import "crypto/sha256"

// The domain tags of the chain's hashes; their version counts what follows them.
const (
	genesisTag = "accountant ledger genesis v1\x00"
	entryTag   = "accountant ledger entry v1\x00"
)

// GenesisHash is the first hash of a ledger's chain: SHA-256 over its tag and
// the stored bytes of the genesis.
func GenesisHash(raw []byte) Hash {
	h := sha256.New()
	h.Write([]byte(genesisTag))
	h.Write(raw)
	return Hash(h.Sum(nil))
}

// EntryHash is the hash of an entry: SHA-256 over its tag, the hash of the entry
// before (or of the genesis) and the stored bytes of the entry.
func EntryHash(previous Hash, raw []byte) Hash {
	h := sha256.New()
	h.Write([]byte(entryTag))
	h.Write(previous[:])
	h.Write(raw)
	return Hash(h.Sum(nil))
}
