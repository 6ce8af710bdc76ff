// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"math"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

func TestLedgerName(t *testing.T) {
	segment := strings.Repeat("a", 63)
	for name, ok := range map[string]bool{
		"a": true, "0": true, "a.b_c-d/0": true, segment: true,
		segment + "/" + segment + "/" + segment + "/" + segment:             true, // 255 bytes
		segment + "/" + segment + "/" + segment + "/" + segment[:62] + "/":  false,
		segment + "/" + segment + "/" + segment + "/" + segment[:61] + "/a": true,
		segment + "/" + segment + "/" + segment + "/" + segment[:62] + "/a": false, // 256 bytes
		segment + "a": false, "": false, "/": false, "a/": false, "/a": false, "a//b": false, "A": false, ".": false,
		"-a": false, "_": false, "a b": false, "é": false, "a\x00": false, "a\n": false, "../a": false, "a/.": false,
	} {
		err := CheckLedgerName("ledger", name)
		if (err == nil) != ok {
			t.Errorf("CheckLedgerName(%q) = %v", name, err)
		}
		if err != nil {
			checkInvalid(t, err, "ledger")
		}
		if ok && CheckPrefix("prefix", name) != nil {
			t.Errorf("CheckPrefix(%q) refuses a name", name)
		}
	}
}

func TestPrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "a/": true, "a": true, strings.Repeat("a", 255): true,
		strings.Repeat("a", 256): false, "A": false, "a b": false, "\xff": false,
	} {
		if err := CheckPrefix("prefix", prefix); (err == nil) != ok {
			t.Errorf("CheckPrefix(%q) = %v", prefix, err)
		}
	}
}

func TestWriter(t *testing.T) {
	key := strings.Repeat("Kk0._-", 21) + "ab" // 128 bytes
	for name, ok := range map[string]bool{
		wiretest.UUID: true, "request/x": true, "request/" + key: true,
		"request/" + key + "c": false, "request/": false, "request/a/b": false,
		"request/a b": false, "request/é": false,
		"": false, "x": false, strings.ToUpper(wiretest.UUID): false, wiretest.UUID[:35]: false,
		wiretest.UUID + "0":             false,
		"{" + wiretest.UUID[1:35] + "}": false, strings.ReplaceAll(wiretest.UUID, "-", ""): false,
		strings.ReplaceAll(wiretest.UUID, "-", "0"): false,
		"3f2b8a4e-6f0d-4b9a-9c0e-2a1d5e7f9b1g":      false, "3f2b8a4e-6f0d-4b9a-9c0e2-a1d5e7f9b10": false,
		"00000000-0000-0000-0000-000000000000": false, // the nil UUID
	} {
		w, err := ToWriter(wiretest.Principal, name)
		if (err == nil) != ok || ok && (w != ledger.Writer{Principal: wiretest.Principal, Name: name}) {
			t.Errorf("ToWriter(%q) = %v, %v", name, w, err)
		}
		if err != nil {
			checkInvalid(t, err, "writer")
		}
	}
	for _, principal := range []string{"", "\xff", strings.Repeat("p", 257)} {
		_, err := ToWriter(principal, wiretest.UUID)
		checkInvalid(t, err, "principal")
	}
}

func TestSequence(t *testing.T) {
	for _, c := range []struct {
		writer   string
		sequence uint64
		ok       bool
	}{
		{wiretest.UUID, 0, false}, {wiretest.UUID, 1, true}, {wiretest.UUID, math.MaxUint64, true},
		{"request/x", 0, false}, {"request/x", 1, true}, {"request/x", 2, false},
	} {
		err := CheckSequence(ledger.Writer{Name: c.writer}, c.sequence)
		if (err == nil) != c.ok {
			t.Errorf("CheckSequence(%s, %d) = %v", c.writer, c.sequence, err)
		}
	}
	if err := CheckStreamWriter(ledger.Writer{Name: wiretest.UUID}); err != nil {
		t.Error(err)
	}
	checkInvalid(t, CheckStreamWriter(ledger.Writer{Name: "request/x"}), "open.writer")
}

func TestClose(t *testing.T) {
	long := strings.Repeat("r", 1024)
	if c, err := To[ledger.Close]("", 0, &pb.Close{Reason: long}); err != nil || c.Reason != long {
		t.Errorf("ToClose of 1024 bytes: %v", err)
	}
	for _, reason := range []string{long + "r", "\xff"} {
		_, err := To[ledger.Close]("", 0, &pb.Close{Reason: reason})
		if e := checkInvalid(t, err, "reason"); len(e.Error()) > 200 {
			t.Errorf("a message of %d bytes", len(e.Error()))
		}
	}
}

func TestSize(t *testing.T) {
	r := &pb.GetLedgerRequest{Name: strings.Repeat("n", MaxRequestBytes-4)} // 1 byte of tag, 3 of length
	if err := CheckSize(r); err != nil {
		t.Error(err)
	}
	r.Name += "n"
	checkInvalid(t, CheckSize(r), "request")
}

func TestShow(t *testing.T) {
	for in, want := range map[string]string{
		"":                             `""`,
		"a\n":                          `"a\n"`,
		"\xff":                         `"\xff"`,
		strings.Repeat("a", 64):        `"` + strings.Repeat("a", 64) + `"`,
		strings.Repeat("a", 65):        `"` + strings.Repeat("a", 64) + `"… (65 bytes)`,
		strings.Repeat("a", 63) + "éa": `"` + strings.Repeat("a", 63) + `"… (66 bytes)`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestUnderKeepsOtherErrors(t *testing.T) {
	base := errors.New("other")
	if err := Under("a", base); !errors.Is(err, base) || err.Error() != "a: other" {
		t.Errorf("under = %v", err)
	}
	if err := FromDomain(base); err != base {
		t.Errorf("fromDomain = %v", err)
	}
}
