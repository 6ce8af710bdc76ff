// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// One wrong bit that gets into any page while the store is used changes no answer: what is
// read is what was written, or the read says that the file is damaged. In particular no
// ledger, writer, record or namesake that is there is called missing.
func TestReadsOfDamagedPages(t *testing.T) {
	testaid.Long(t, "it opens a damaged store hundreds of times")
	content, all := flippedStore(t)
	path := filepath.Join(t.TempDir(), "s.db")
	open := func() *Store {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	}
	s := open()
	right, err := answers(s, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var often []string // these pages alone say what is missing
	by := kinds(aims(t, content))
	for kind := range by {
		if strings.HasPrefix(kind, "writers/branch") || strings.HasPrefix(kind, "ledgers/branch") {
			often = append(often, kind, kind, kind, kind, kind, kind)
			// bbolt has those in memory
		} else if !strings.Contains(kind, "meta/") && !strings.HasPrefix(kind, "freelist/") {
			often = append(often, kind)
		}
	}
	slices.Sort(often)
	random := rand.New(rand.NewPCG(7, 1))
	named := 0
	for n := range flips(len(often)) {
		kind := often[n%len(often)]
		a := aim{kind, by[kind][random.IntN(len(by[kind]))]}
		s := open()
		writeByte(t, path, a.at, content[a.at]^1<<random.IntN(8))
		got, err := answers(s, all)
		switch {
		case err != nil && !errors.Is(err, ledger.ErrDamaged):
			t.Errorf("%s: %v; want a damaged file", a, err)
		case err == nil && !slices.Equal(got, right):
			t.Errorf("%s: another answer", a)
		case err != nil:
			named++
		}
		_ = s.Close()
	}
	t.Logf("%d of %d named", named, flips(len(often)))
}

// answers is all that the store says of what was charged, up to its first error.
func answers(s *Store, all []sent) (out []string, err error) {
	say := func(what ...any) { out = append(out, fmt.Sprint(what...)) }
	for after := ""; ; {
		list, err := s.List("", after, 7)
		if err != nil {
			return nil, err
		}
		for _, sum := range list {
			say(sum.Genesis.Spec.Name, sum.Head)
		}
		if len(list) < 7 {
			break
		}
		after = list[len(list)-1].Genesis.Spec.Name
	}
	for _, c := range all {
		sequence, position, err := s.Writer(c.ledger, c.request.Writer)
		if err != nil {
			return nil, err
		}
		say(c.ledger, sequence, position)
		r, err := s.RecordOf(c.ledger, c.request.Writer, c.request.Sequence)
		if err != nil {
			return nil, err
		}
		say(r.Entry.Position, r.Hash)
		other := ledger.Writer{Principal: "uid:" + c.request.Writer.Principal, Name: c.request.Writer.Name}
		same, err := s.Namesakes(c.ledger, other)
		if err != nil {
			return nil, err
		}
		for _, r := range same {
			say(r.Entry.Position)
		}
	}
	return out, nil
}

// An old version of a page is whole. Where a branch leads to one that is free by now, what
// was written since is not called missing.
func TestReadsThroughFreePages(t *testing.T) {
	content, _ := flippedStore(t)
	path := filepath.Join(t.TempDir(), "s.db")
	open := func(content []byte) *Store {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, Config{Path: path, AllocationStep: 1 << 16, hooks: hooks{noSync: true}})
	}
	s := open(content)
	k := keeper.New(keeper.Config{Store: s, Digest: record.Digest})
	c := newCharge("many", audittest.Writer(140), 1, 1)
	c.request.Writer.Name = strings.TrimSuffix(c.request.Writer.Name, "1") + "a" // among writers that were there before
	if _, err := k.Do(t.Context(), c.ledger, c.request); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.Close(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	var number uint64
	free := 2
	if err := rows.OpenToRead(path, time.Second, func(tx *bolt.Tx, file io.ReaderAt) error {
		f := rows.Pages(tx, file)
		isFree, err := f.Free(uint64(tx.ID()))
		for err == nil && !isFree(uint64(free)) {
			free++
		}
		n, e := (&rows.View{Tx: tx}).Number(c.ledger)
		number = n
		return errors.Join(err, e)
	}); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, before := leadsTo(t, content, rows.AppendWriter(nil, number, c.request.Writer))
	element, _ := leadsTo(t, now, rows.AppendWriter(nil, number, c.request.Writer))
	s = open(now)
	defer s.Close()
	if sequence, _, err := s.Writer(c.ledger, c.request.Writer); err != nil || sequence != 1 {
		t.Fatal(sequence, err)
	}
	order := binary.NativeEndian
	old := bytes.Clone(content[before*aimPage : (before+1)*aimPage])
	order.PutUint64(old, uint64(free))
	write := func(at int, content []byte) {
		for i, b := range content {
			writeByte(t, path, at+i, b)
		}
	}
	write(free*aimPage, old)
	write(element+8, order.AppendUint64(nil, uint64(free)))
	sequence, _, err := s.Writer(c.ledger, c.request.Writer)
	if !errors.Is(err, ledger.ErrDamaged) || !strings.Contains(err.Error(), "found a free page") {
		t.Errorf("sequence %d, %v; want that the page is free", sequence, err)
	}
}

// leadsTo returns where the branch of writers leads to the leaf of a key, and that page.
func leadsTo(t *testing.T, content, key []byte) (element, page int) {
	t.Helper()
	order := binary.NativeEndian
	at := kinds(aims(t, content))["writers/branch/element"]
	for i := 0; i < len(at); i += elementSize {
		begin, size := at[i]+int(order.Uint32(content[at[i]:])), int(order.Uint32(content[at[i]+4:]))
		if i == 0 || bytes.Compare(content[begin:begin+size], key) <= 0 {
			element, page = at[i], int(order.Uint64(content[at[i]+8:]))
		}
	}
	return element, page
}

const elementSize = 16 // of a page
