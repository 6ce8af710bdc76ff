// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/pages"
	"github.com/dpaccountant/accountant/internal/persist/roots"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// TestPowerCut makes the files that a power cut within a commit can leave, where
// whole sectors are written, in any order between two syncs: any sectors of the new
// pages with the old root, and all of them with any part of the new meta page. Each
// verifies as what was before the commit or after it, never as something between. Of a
// root that was torn within a sector it is so if it is known that its commit was not
// acknowledged; otherwise the file is refused.
func TestPowerCut(t *testing.T) {
	const sector = 512
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	path, cut := filepath.Join(dir, "s.db"), filepath.Join(dir, "cut.db")
	s := mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	defer s.Close()
	mustCreate(t, s, "a", "b")
	metas := 2 * s.db.Info().PageSize
	read := func() []byte {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	// entries of a file; ok: it verifies.
	entries := func(content []byte) (n uint64, ok bool) {
		if err := os.WriteFile(cut, content, 0o600); err != nil {
			t.Fatal(err)
		}
		done, err := verify.File(t.Context(), verify.Config{Path: cut})
		return done.Entries, err == nil
	}
	known := func(transaction int) { // to have been acknowledged, in this boot of the kernel
		line := roots.Acknowledged{Store: s.id, Transaction: uint64(transaction), Boot: roots.BootID()}.Line()
		if err := os.WriteFile(cut+roots.Suffix, line, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	forget := func() {
		if err := remove(cut + roots.Suffix); err != nil {
			t.Fatal(err)
		}
	}
	const rounds = 12
	torn := 0
	rootFirst := 0 // files that were damaged because the root came first
	for round := range uint64(rounds) {
		before, acknowledgedBefore := read(), s.published.tx
		if _, err := s.Append([]ledger.Proposal{propose(t, s, "a", lane1(0)),
			propose(t, s, "b", lane1(1))}); err != nil {
			t.Fatal(err)
		}
		after := read()
		before = append(before, make([]byte, len(after)-len(before))...) // its room was synced before
		some := func() []byte {
			mixed := slices.Clone(before)
			for at := metas; at < len(after); at += sector {
				if random.IntN(2) == 0 {
					copy(mixed[at:at+sector], after[at:])
				}
			}
			return mixed
		}
		for range 4 {
			if n, ok := entries(some()); !ok || n != 2*round {
				t.Errorf("round %d: with the old root %d entries, whole: %v; want %d", round, n, ok, 2*round)
			}
		}
		for range 4 {
			mixed := append(slices.Clone(before[:metas]), after[metas:]...)
			for at := range metas { // of the meta page that is written: any of its bytes
				if random.IntN(2) == 0 {
					mixed[at] = after[at]
				}
			}
			want := 2 * round
			if bytes.Equal(mixed, after) {
				want += 2
			}
			known(acknowledgedBefore)
			if n, ok := entries(mixed); roots.BootID() != "" && (!ok || n != want) {
				t.Errorf("round %d: with a torn root %d entries, whole: %v; want %d", round, n, ok, want)
			}
			known(s.published.tx)
			if _, ok := entries(mixed); ok != bytes.Equal(mixed, after) {
				t.Errorf("round %d: with a torn root of a commit that was acknowledged, whole: %v", round, ok)
			}
			forget()
			if file := (pages.File{Reader: bytes.NewReader(mixed), PageSize: int64(metas / 2)}); isTorn(t, &file) {
				torn++
				if _, ok := entries(mixed); ok {
					t.Errorf("round %d: with a torn root, and nothing known, it is whole", round)
				}
			}
		}
		if n, ok := entries(after); !ok || n != 2*round+2 {
			t.Errorf("round %d: afterwards %d entries, whole: %v", round, n, ok)
		}
		if _, ok := entries(append(slices.Clone(after[:metas]), some()[metas:]...)); !ok {
			rootFirst++
		}
	}
	if torn == 0 {
		t.Error("no root was torn")
	}
	if rootFirst == 0 { // then these files would have been no test of the order
		t.Error("no file was damaged by a root without its pages")
	}
}

func isTorn(t *testing.T, f *pages.File) bool {
	t.Helper()
	damaged, err := f.DamagedMeta()
	if err != nil {
		t.Fatal(err)
	}
	return damaged >= 0
}
