package ledger

import (
	"encoding/hex"
	"testing"
)

// The expected hashes are sha256sum's (GNU coreutils) of the tag, a zero byte
// and what follows, such as
// { printf 'accountant ledger genesis v1\0'; printf 'raw'; } | sha256sum
func TestHashes(t *testing.T) {
	genesis := GenesisHash([]byte("raw"))
	if got, want := hex.EncodeToString(genesis[:]), "49031aa0946104209775b0e0e26e5f37d43448c8070025131188c0a0a0d458c5"; got != want {
		t.Errorf("GenesisHash = %s, want %s", got, want)
	}
	previous := Hash{0: 'A', 31: 'B'}
	entry := EntryHash(previous, []byte("raw"))
	if got, want := hex.EncodeToString(entry[:]), "e59d7e53d100ffa1ba89eca7c1a73940783cbc5c57f3f861b3c24a899755507b"; got != want {
		t.Errorf("EntryHash = %s, want %s", got, want)
	}
	long := make([]byte, 5000) // more than fits into EntryHash's room
	if EntryHash(previous, long) == EntryHash(previous, long[1:]) || EntryHash(Hash{}, long) == GenesisHash(long) {
		t.Error("different inputs, one hash")
	}
}
