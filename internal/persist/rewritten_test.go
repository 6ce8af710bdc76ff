// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

// One wrong bit in how many pages a page takes, while the store is used: no commit frees
// that page, since bbolt would free pages of others with it, or need memory without bound.
// The first charge that would rewrite it finds it, and everything is refused.
func TestOverflowDamagedWhileServing(t *testing.T) {
	content, all := flippedStore(t)
	by := kinds(aims(t, content))
	random := rand.New(rand.NewPCG(5, 1))
	found := map[string]int{}
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		at := by[kind]
		if !strings.HasSuffix(kind, "/header") || strings.Contains(kind, "meta/header") ||
			strings.Contains(kind, "inline") {
			continue
		}
		for bit := range 32 {
			if testing.Short() && bit%8 != 0 {
				continue
			}
			header := at[random.IntN(len(at)/16)*16]
			if kind == "tail/leaf/header" { // of the others none is ever rewritten
				header = at[len(at)-16]
			}
			if overflowOutcome(t, content, all, header, bit, random) {
				found[kind]++
			}
		}
	}
	for _, kind := range []string{"root/leaf/header", "tail/branch/header", "tail/leaf/header", "heads/leaf/header",
		"writers/branch/header", "singles/branch/header", "ledgers/branch/header", "freelist/header"} {
		if found[kind] == 0 {
			t.Errorf("%s: none found: %v", kind, found)
		}
	}
	t.Log(found)
}

// overflowOutcome uses a store in which one bit of a page's number of overflow pages turns
// wrong. It reports whether that was found.
func overflowOutcome(t *testing.T, content []byte, all []sent, header, bit int, random *rand.Rand) (found bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	defer s.Close()
	at := header + 12 + bit/8
	writeByte(t, path, at, content[at]^1<<(bit%8))
	k := keeper.New(keeper.Config{Store: s, Digest: record.Digest})
	defer k.Close(t.Context())
	for i := range 20 {
		w := 200 + i*40 + random.IntN(40) // no writer twice, which would be refused
		if i%2 == 1 {
			w = 5000 + i<<20 + random.IntN(1<<20) // a request ID
		}
		c := newCharge(all[random.IntN(len(all))].ledger, audittest.Writer(w), 1, i)
		_, err := k.Do(t.Context(), c.ledger, c.request)
		if err == nil && i%5 == 0 {
			_, _, err = s.Create(
				storetest.Genesis(fmt.Sprintf("team/one-%03d/new-%d", random.IntN(80), random.Uint64())))
		}
		if errors.Is(err, ledger.ErrDamaged) {
			found = true
			break
		}
		if err != nil {
			t.Fatalf("page %d, bit %d: %v", header/aimPage, bit, err)
		}
	}
	if found != (s.Damage() != nil) {
		t.Errorf("page %d, bit %d: found %v, said %v", header/aimPage, bit, found, s.Damage())
	}
	if err := s.db.View(func(tx *bolt.Tx) error {
		f := rows.Pages(tx, s.space.file)
		free, err := f.Free(uint64(tx.ID()))
		if content[header+8] == 0x10 { // the list itself, which is damaged
			return nil
		}
		if err != nil || free(uint64(header/aimPage)) {
			t.Errorf("page %d, bit %d: freed: %v", header/aimPage, bit, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}
