// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// export writes a ledger as accountctl does: a line an object.
func export(t testing.TB, kind, requests int) (lines []string) {
	t.Helper()
	s := memory.New(memory.Config{})
	audittest.Fill(t, s, audittest.Spec("a", kind), requests, 7)
	genesis, _, err := s.GenesisRecord("a")
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Records("a", 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte, err error) {
		var line bytes.Buffer
		if err == nil {
			err = json.Compact(&line, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.String())
	}
	write(wirejson.Marshal(&pb.ListEntriesResponse{Genesis: genesis}))
	for _, r := range records {
		write(wirejson.Marshal(wire.FromRecord(r, true)))
	}
	return lines
}

func verify(lines []string) error {
	_, err := audit.Export(strings.NewReader(strings.Join(lines, "\n")), nil, func(uint64) error { return nil })
	return err
}

func TestExport(t *testing.T) {
	lines := export(t, 0, 60)
	n := uint64(0)
	r, err := audit.Export(strings.NewReader(strings.Join(lines, "\n")+"\n"), nil,
		func(done uint64) error { n = done; return nil })
	if err != nil || r.Head().Position != uint64(len(lines)-1) || n != r.Head().Position {
		t.Fatalf("%v; %d entries", err, n)
	}
	if r.Again() == nil {
		t.Fatal("no refunds in it")
	}
	pipe := struct{ io.Reader }{strings.NewReader(strings.Join(lines, "\n"))}
	if _, err := audit.Export(pipe, nil, func(uint64) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "a file, no pipe") {
		t.Errorf("refunds through a pipe: %v", err)
	}
	stop := errors.New("stop")
	if _, err := audit.Export(strings.NewReader(lines[0]), nil,
		func(uint64) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// What an export shows of an entry is what its stored bytes say, field by field;
// and what is not an export is told by its line.
func TestTamperedExports(t *testing.T) {
	lines := export(t, 3, 10)
	replace := func(line int, old, new string) func(lines []string) []string {
		return func(lines []string) []string {
			if !strings.Contains(lines[line-1], old) {
				t.Fatalf("line %d has no %s: %s", line, old, lines[line-1])
			}
			lines[line-1] = strings.Replace(lines[line-1], old, new, 1)
			return lines
		}
	}
	for _, c := range []struct {
		name   string
		change func(lines []string) []string
		says   string
	}{
		{"position", replace(3, `"position":2`, `"position":3`), "ledger a: entry 2: position: 3; expected: 2"},
		{"writer", replace(3, `"writer":"`, `"writer":"x`), "ledger a: entry 2: writer: "},
		{"sequence", replace(3, `"sequence":`, `"sequence":1`), "ledger a: entry 2: sequence: "},
		{"principal", replace(3, `unverified:p`, `unverified:q`),
			`ledger a: entry 2: principal: "unverified:q"; expected: "unverified:p"`},
		{"time", replace(3, `"time":"2026`, `"time":"2025`), "ledger a: entry 2: time: "},
		{"count", replace(3, `"count":`, `"count":1`), "ledger a: entry 2: charge: "},
		{"label", replace(3, `"run":"`, `"run":"x`), "ledger a: entry 2: charge: "},
		{"hash", replace(3, `"hash":"`, `"hash":"AAAA`), "ledger a: entry 2: hash: "},
		{"raw", replace(3, `"raw":"CAI`, `"raw":"CAM`), "ledger a: entry 2: position: 3; expected: 2"},
		{"no raw", replace(3, `"raw":"`, `"raw":"","writer":"`), "line 3: "},
		{"without raw", func(l []string) []string { l[2] = l[2][:strings.Index(l[2], `,"raw"`)] + "}"; return l },
			"line 3: raw: missing"},
		{"no genesis", func(l []string) []string { return l[1:] }, "line 1: "},
		{"empty genesis", func(l []string) []string { l[0] = "{}"; return l }, "line 1: genesis: missing"},
		{"nothing", func([]string) []string { return nil }, "line 1: nothing"},
		{"cut short", func(l []string) []string { l[3] = l[3][:20]; return l[:4] }, "line 4: "},
		{"a longer line",
			func(l []string) []string { l[3] = strings.Repeat(" ", 2*wire.MaxJSONBytes); return l }, "line 4: over "},
		{"a long line", func(l []string) []string { l[3] = strings.Repeat(" ", wire.MaxJSONBytes+100); return l },
			"line 4: JSON: 4194404 bytes"},
		{"dropped", func(l []string) []string { return append(l[:2], l[3:]...) },
			"ledger a: entry 2: position: 3; expected: 2"},
		{"an unknown field", replace(3, `"position"`, `"x":1,"position"`), "line 3: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verify(c.change(append([]string(nil), lines...)))
			if err == nil || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("found: %v\nwant:  %s", err, c.says)
			}
		})
	}
}

// Whatever the file: no panic, and nothing but what was exported verifies with
// another line changed.
func FuzzExport(f *testing.F) {
	for kind := range audittest.Kinds {
		f.Add([]byte(strings.Join(export(f, kind, 2), "\n")))
	}
	f.Add([]byte("{}\n{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := audit.Export(bytes.NewReader(content), nil, func(uint64) error { return nil })
		if err == nil && r.Head().Position > uint64(bytes.Count(content, []byte("\n"))) {
			t.Errorf("%d entries of %d lines", r.Head().Position, bytes.Count(content, []byte("\n")))
		}
	})
}

// Any changed byte of the stored bytes is found, with the last hash kept.
func FuzzStoredBytes(f *testing.F) {
	s := memory.New(memory.Config{})
	audittest.Fill(f, s, audittest.Spec("a", 0), 12, 7)
	whole := read(f, s, "a")
	honest, err := whole.replay()
	if err != nil {
		f.Fatal(err)
	}
	kept := audit.Witness{Ledger: "a", Position: honest.Head().Position, Hash: honest.Head().Hash}
	f.Add(uint16(0), uint16(10), byte(1))
	f.Add(uint16(1), uint16(60), byte(128))
	f.Fuzz(func(t *testing.T, entry, at uint16, bits byte) {
		l := log{bytes.Clone(whole.genesis), append([][]byte(nil), whole.entries...)}
		n := int(entry) % (len(l.entries) + 1)
		raw := l.genesis
		if n > 0 {
			raw = bytes.Clone(l.entries[n-1])
			l.entries[n-1] = raw
		}
		raw[int(at)%len(raw)] ^= bits
		if _, err := l.replay(kept); (err == nil) != (bits == 0) {
			if err == nil && n == 0 && l.renamed() {
				return // then nothing was kept of it
			}
			t.Errorf("byte %d of record %d ^ %#x: %v", int(at)%len(raw), n, bits, err)
		}
	})
}

func (l log) renamed() bool {
	g, err := record.UnmarshalGenesis(l.genesis)
	return err == nil && g.Spec.Name != "a"
}

func TestReadWitnesses(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	hash := base64.StdEncoding.EncodeToString(make([]byte, 32))
	receipt := `{"storeId":"` + id + `","ledger":"a","writer":"w","sequence":1,"position":3,"headHash":"` + hash + `"}`
	for _, c := range []struct{ text, says string }{
		{receipt, ""},
		{`{"receipt":` + receipt + `,"replayed":false,"checkOnly":false}`, ""},
		{`{"receipt":` + receipt + `,"expireTime":"2026-01-01T00:00:00Z"}`, ""},
		{strings.Replace(receipt, hash, "AAAA", 1), "head_hash: 3 bytes; allowed: 32"},
		{strings.Replace(receipt, `"position":3`, `"position":0`, 1), "position: 0"},
		{strings.Replace(receipt, `"ledger":"a",`, ``, 1), "ledger: missing"},
		{`{"receipt":null}`, "JSON: syntax error (line 1:1): unexpected token null"},
		{`{"recipt":{}}`, "recipt"},
		{`text`, "JSON"},
		{``, "JSON"},
	} {
		w, err := audit.ReadReceipt("receipt", []byte(c.text))
		if c.says == "" && (err != nil || w.Ledger != "a" || w.Position != 3) ||
			c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v, %v; want %s", c.text, w, err, c.says)
		}
	}
	if _, err := audit.ReadSignedHead("head", []byte(receipt), nil); err == nil {
		t.Error("a receipt passed as a signed head")
	}
}
