// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// The expected hashes are sha256sum's (GNU coreutils) of the tag, a zero byte
// and what follows, such as
// { printf 'accountant ledger genesis v1\0'; printf 'raw'; } | sha256sum
func TestHashes(t *testing.T) {
	genesis := GenesisHash([]byte("raw"))
	if got, want := hex.EncodeToString(genesis[:]),
		"49031aa0946104209775b0e0e26e5f37d43448c8070025131188c0a0a0d458c5"; got != want {
		t.Errorf("GenesisHash = %s, want %s", got, want)
	}
	previous := ledger.Hash{0: 'A', 31: 'B'}
	entry := EntryHash(previous, []byte("raw"))
	if got, want := hex.EncodeToString(entry[:]),
		"e59d7e53d100ffa1ba89eca7c1a73940783cbc5c57f3f861b3c24a899755507b"; got != want {
		t.Errorf("EntryHash = %s, want %s", got, want)
	}
	long := make([]byte, 5000) // more than fits into EntryHash's room
	if EntryHash(previous, long) == EntryHash(previous, long[1:]) ||
		EntryHash(ledger.Hash{}, long) == GenesisHash(long) {
		t.Error("different inputs, one hash")
	}
}

// The hashes are plain SHA-256 at any length, so that anyone can verify a chain.
func TestHashesArePlain(t *testing.T) {
	for _, raw := range []string{"", "x", strings.Repeat("long", 1000)} {
		if got, want := GenesisHash([]byte(raw)),
			ledger.Hash(sha256.Sum256([]byte("accountant ledger genesis v1\x00"+raw))); got != want {
			t.Errorf("genesis of %d bytes: %x; want %x", len(raw), got, want)
		}
		previous := ledger.Hash{1, 2, 3}
		if got, want := EntryHash(previous, []byte(raw)),
			ledger.Hash(sha256.Sum256([]byte("accountant ledger entry v1\x00"+string(previous[:])+raw))); got != want {
			t.Errorf("entry of %d bytes: %x; want %x", len(raw), got, want)
		}
	}
}
