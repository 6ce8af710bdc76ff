package persist

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"pgregory.net/rapid"
)

var writeFormat = flag.Bool("write-format", false, "write testdata/format1.db.gz anew, which is only for a new format")

const format1 = "testdata/format1.db.gz"

// TestFormat1 reads a file that was written when format 1 was new: whatever
// comes later has to read it, or refuse its version.
func TestFormat1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	if *writeFormat {
		writeFormat1(t, path)
	}
	f, err := os.Open(format1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Config{Path: path, hooks: hooks{noSync: true}})
	defer s.Close()
	if _, err := readAll(s); err != nil {
		t.Fatal(err)
	}
	sum, created, err := s.Create(storetest.Genesis("l"))
	if err != nil || created || sum.Head.Position != 600 || sum.Total != 600 || sum.Distinct != 20 ||
		sum.Genesis.StoreID != s.ID() {
		t.Errorf("ledger l = %+v, %v, %v", sum, created, err)
	}
	if _, err := s.Append([]ledger.Proposal{propose(t, s, "l", lane1(0))}); err != nil {
		t.Errorf("Append = %v", err)
	}
}

func writeFormat1(t *testing.T, path string) {
	t.Helper()
	fillAt(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(format1, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64()
		h := head{
			number: number.Draw(t, "number"), last: number.Draw(t, "last"), total: number.Draw(t, "total") >> 1,
			distinct: rapid.IntRange(0, 20).Draw(t, "distinct"), closed: rapid.Bool().Draw(t, "closed"),
			writer: number.Draw(t, "writer"), sequence: number.Draw(t, "sequence"),
		}
		h.at.Position = number.Draw(t, "position")
		h.at.Hash[rapid.IntRange(0, 31).Draw(t, "byte")] = rapid.Byte().Draw(t, "value")
		for range min(h.distinct, inlineTotals) {
			h.totals = append(h.totals, number.Draw(t, "count"))
		}
		if rapid.Bool().Draw(t, "reservations") {
			h.open = rapid.Uint64Range(1, 1<<40).Draw(t, "open")
			h.held = rapid.Uint64Range(h.open, 1<<63-1).Draw(t, "held")
		}
		if rapid.Bool().Draw(t, "amendments") {
			h.amended = rapid.Uint64Range(1, ledger.MaxAmendments).Draw(t, "amended")
		}
		b := h.append(nil)
		if len(b) > maxHeadSize {
			t.Fatalf("a head of %d bytes; at most %d were reckoned with", len(b), maxHeadSize)
		}
		if got, err := parseHead(h.number, b); err != nil || !reflect.DeepEqual(got, h) {
			t.Fatalf("head %+v, %v; want %+v", got, err, h)
		}
		l := lane{number.Draw(t, "id") | 1, number.Draw(t, "sequence") | 1, number.Draw(t, "position") | 1, 1<<64 - 1}
		if got, err := parseLane(l.append(nil)); err != nil || got != l {
			t.Fatalf("lane %+v, %v; want %+v", got, err, l)
		}
	})
}

// FuzzRows reads arbitrary bytes as rows: an error or a row that is written as
// the same bytes, never a panic.
func FuzzRows(f *testing.F) {
	f.Add(head{distinct: 1, totals: []uint64{3}, last: 7}.append(nil))
	f.Add(head{last: 7, amended: 2}.append(nil))
	f.Add(head{last: 7, open: 1, held: 5, amended: 2}.append(nil))
	f.Add(lane{1, 2, 3, 4}.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHead(1, b); err == nil {
			again, err := parseHead(1, h.append(nil))
			if err != nil || !reflect.DeepEqual(again, h) {
				t.Errorf("head %+v is read again as %+v, %v", h, again, err)
			}
		}
		if l, err := parseLane(b); err == nil {
			if again, err := parseLane(l.append(nil)); err != nil || again != l {
				t.Errorf("lane %+v is read again as %+v, %v", l, again, err)
			}
		}
	})
}
