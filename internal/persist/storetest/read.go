// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// testOldDuplicates asks for sequence numbers thousands of entries back, in
// lanes that are interleaved with others, around every 256th.
func testOldDuplicates(t *testing.T, h Harness) {
	s := h.open(t)
	b, other := create(t, s, "l"), create(t, s, "other")
	const rounds = 700
	for done := 0; done < rounds; {
		var requests, others []ledger.Request
		for range min(100, rounds-done) {
			requests = append(requests, b.charge(writer(0), 0, 1), b.charge(writer(1), 1, 1), b.charge(writer(0), 0, 1))
			if done%70 == 0 {
				requests = append(requests, b.charge(writer(2), 0, 1))
			}
			others = append(others, other.charge(writer(0), 0, 1))
			done++
		}
		b.append(requests...)
		other.append(others...)
	}
	for _, w := range []ledger.Writer{writer(0), writer(1), writer(2)} {
		last := b.last[w]
		for _, sequence := range []uint64{
			0, 1, 2, 3, 100, 254, 255, 256, 257, 258, 510, 511, 512, 513, 514, 600, 767, 768, 769, 1023,
			1024, 1025, 1279, 1280, 1281,
			last - 1, last, last + 1, last + 2, last + 256, 1 << 40, 1<<64 - 1,
		} {
			b.checkRecordOf(w, sequence)
		}
	}
	b.check()
	other.check()
}

// testPaging reads pages that begin and end around every 256th position.
func testPaging(t *testing.T, h Harness) {
	s := h.open(t)
	b := create(t, s, "l")
	other := create(t, s, "other")
	for _, size := range []int{255, 256, 257, 512, 700} {
		for n := size - len(b.records); n > 0; n = size - len(b.records) {
			var requests []ledger.Request
			for range min(n, 90) {
				requests = append(requests, b.charge(writer(0), 0, 1))
			}
			b.append(requests...)
			other.append(other.charge(writer(0), 0, 1)) // the log is shared
		}
		for _, from := range []int{1, 2, 255, 256, 257, size - 256, size - 1, size, size + 1, size + 300} {
			for _, limit := range []int{1, 2, 256, 1000} {
				b.checkPage(max(from, 1), limit)
			}
		}
	}
	for _, limit := range []int{0, -1} {
		if got, err := s.Records("l", 1, limit); err != nil || len(got) != 0 {
			t.Errorf("Records with limit %d = %d records, %v", limit, len(got), err)
		}
	}
	if got, err := s.Records("l", 1<<64-1, 1<<62); err != nil || len(got) != 0 {
		t.Errorf("Records past all positions = %d records, %v", len(got), err)
	}
	if got, err := s.Records("l", 0, 2); err != nil || len(got) != 2 || got[0].Entry.Position != 1 {
		t.Errorf("Records from 0 = %d records, %v; want them from 1", len(got), err)
	}
}

func (b *book) checkPage(from, limit int) {
	b.t.Helper()
	var want []ledger.Record
	if from <= len(b.records) {
		want = b.records[from-1 : min(from-1+limit, len(b.records))]
	}
	got, err := b.s.Records(b.name, uint64(from), limit)
	if err != nil || len(got) != len(want) {
		b.t.Fatalf("Records(%s, %d, %d) of %d = %d records, %v; want %d", b.name, from, limit, len(b.records),
			len(got), err, len(want))
	}
	for i, r := range got { // check compares them whole
		if r.Hash != want[i].Hash || r.Previous != want[i].Previous || r.Entry.Position != want[i].Entry.Position {
			b.t.Fatalf("Records(%s, %d, %d)[%d] is record %d", b.name, from, limit, i, r.Entry.Position)
		}
	}
}
