// SPDX-License-Identifier: Apache-2.0

package packs_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/rows"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

// drawn is a pack of any entries: few writers and actions, which come again, with numbers that follow or do not.
func drawn(t *rapid.T) packs.Pack {
	p := packs.Pack{First: rapid.Uint64Range(1, 1<<40).Draw(t, "first")}
	copy(p.Previous[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "previous"))
	some := rapid.SliceOfN(wiretest.Entries(), 1, 3).Draw(t, "entries")
	key := rapid.Uint64Range(1, 1<<40).Draw(t, "key")
	for i := range rapid.IntRange(1, 80).Draw(t, "number") {
		e := rapid.SampledFrom(some).Draw(t, "entry")
		e.Position = p.First + uint64(i)
		later := e.Time.Add(time.Duration(i))
		if rapid.Bool().Draw(t, "later") && later.UnixNano() >= e.Time.UnixNano() { // what int64 can hold
			e.Time = later
		}
		raw, err := record.MarshalEntry(e, rapid.Uint64Range(0, e.Position).Draw(t, "before"))
		if err != nil {
			t.Fatal(err)
		}
		p.Keys, p.Raws = append(p.Keys, key), append(p.Raws, raw)
		key += rapid.Uint64Range(1, 3).Draw(t, "step")
	}
	return p
}

// Whatever the entries are, both forms give back their bytes, also where the bytes are not an entry's.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		if rapid.Bool().Draw(t, "others") {
			i := rapid.IntRange(0, len(p.Raws)-1).Draw(t, "at")
			p.Raws[i] = rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "raw")
		}
		for _, b := range [][]byte{p.Append(nil), p.AppendSmall([]byte("before"))[len("before"):]} {
			if got, err := packs.Parse(b); err != nil || !reflect.DeepEqual(got, p) {
				t.Fatalf("%+v came back as %+v, %v", p, got, err)
			}
			if len(b) > len(p.Append(nil)) {
				t.Fatalf("%d bytes; plainly %d", len(b), len(p.Append(nil)))
			}
		}
	})
}

// What Cut divides is the same entries in the same chain, however they were divided before, and Join puts them together
// again.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		var from []packs.Pack
		for rest := p; len(rest.Raws) > 0; {
			n := rapid.IntRange(1, len(rest.Raws)).Draw(t, "together")
			part := rest
			part.Keys, part.Raws, rest = rest.Keys[:n], rest.Raws[:n], rest.Without(n)
			from = append(from, part)
		}
		list := packs.Cut(from...)
		whole := list[0]
		for i, part := range list {
			if len(part.Raws) > packs.MaxEntries || len(part.Raws) == 0 {
				t.Fatalf("part %d has %d entries", i, len(part.Raws))
			}
			if i == 0 {
				continue
			}
			hash := list[i-1].Previous
			for _, raw := range list[i-1].Raws {
				hash = record.EntryHash(hash, raw)
			}
			if part.Previous != hash || part.First != list[i-1].Last()+1 {
				t.Fatalf("part %d does not follow", i)
			}
			whole = whole.Join(part)
		}
		if !reflect.DeepEqual(whole, p) {
			t.Fatalf("%+v came back as %+v", p, whole)
		}
	})
}

// FuzzParse reads any bytes: they are a pack, whose entries are written again and read as the same, or none.
func FuzzParse(f *testing.F) {
	f.Add(steps(70, 1, time.Nanosecond).Append(nil))
	f.Add(steps(70, 1, time.Microsecond).AppendSmall(nil))
	f.Add(steps(2, 2, 0).AppendSmall(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := packs.Parse(b)
		if err != nil {
			return
		}
		for _, again := range [][]byte{p.Append(nil), p.AppendSmall(nil)} {
			if got, err := packs.Parse(again); err != nil || len(got.Raws) != len(p.Raws) || got.First != p.First {
				t.Fatalf("%v", err)
			} else if !reflect.DeepEqual(got.Keys, p.Keys) || fmt.Sprint(got.Raws) != fmt.Sprint(p.Raws) {
				t.Fatal("other entries")
			}
		}
	})
}

// steps are n charges of one mechanism, by writers in turn.
func steps(n, writers int, every time.Duration) packs.Pack {
	p := packs.Pack{First: 1}
	last := make([]uint64, writers)
	random := rand.New(rand.NewPCG(1, 2))
	at := time.Unix(1_700_000_000, 0)
	for i := range n {
		at = at.Add(every + time.Duration(random.Int64N(int64(every)+1)))
		e := ledger.Entry{Position: uint64(i) + 1, Sequence: uint64(i/writers) + 1, Time: at,
			Writer: ledger.Writer{Principal: "uid:1000", Name: fmt.Sprintf("00000000-0000-4000-8000-%012x", i%writers)},
			Action: ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1},
				Count: 1}}}}
		raw, err := record.MarshalEntry(e, last[i%writers])
		if err != nil {
			panic(err)
		}
		last[i%writers] = e.Position
		p.Keys, p.Raws = append(p.Keys, uint64(i)+7), append(p.Raws, raw)
	}
	return p
}

// Each byte of a sealed pack that is damaged is found.
func TestDamage(t *testing.T) {
	key := rows.BlockKey(7, 64)
	sealed := rows.Seal(rows.PacksBucket, key, steps(64, 3, time.Microsecond).AppendSmall(make([]byte,
		rows.ChecksumSize)))
	for i := range sealed {
		for bit := range 8 {
			sealed[i] ^= 1 << bit
			if _, err := rows.Unseal(rows.PacksBucket, key, sealed); err == nil {
				t.Fatalf("byte %d, bit %d: not found", i, bit)
			}
			sealed[i] ^= 1 << bit
		}
	}
}

// A run of equal steps takes at most 40 bytes an entry, and 64 requests of their own at most 120: the aims of issue 31.
func TestSize(t *testing.T) {
	run := steps(packs.MaxEntries, 1, time.Microsecond)
	own := steps(packs.MaxEntries, packs.MaxEntries, time.Millisecond)
	for _, c := range []struct {
		name string
		p    packs.Pack
		most int
	}{{"a run", run, 40}, {"of their own", own, 120}} {
		n := len(c.p.AppendSmall(nil)) / len(c.p.Raws)
		t.Logf("%s: %d bytes an entry; plainly %d", c.name, n, len(c.p.Append(nil))/len(c.p.Raws))
		if n > c.most {
			t.Errorf("%s: %d bytes an entry; want at most %d", c.name, n, c.most)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	for _, writers := range []int{1, 64} {
		p := steps(64, writers, time.Microsecond)
		small := p.AppendSmall(nil)
		b.Run(fmt.Sprintf("append/%d", writers), func(b *testing.B) {
			for b.Loop() {
				p.AppendSmall(nil)
			}
		})
		b.Run(fmt.Sprintf("parse/%d", writers), func(b *testing.B) {
			for b.Loop() {
				if _, err := packs.Parse(small); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
