// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
)

// plain gives a value as JSON has it.
func plain(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case *List:
		out := []any{}
		for _, item := range v.Items {
			out = append(out, plain(item))
		}
		return out
	case *Dict:
		out := map[string]any{}
		for _, name := range v.Names() {
			value, _ := v.Get(name)
			out[name] = plain(value)
		}
		return out
	}
	return v
}

// What Python's pickle wrote of plain values in each protocol (bench/peers/checkpoints.py).
func TestPicklesOfPython(t *testing.T) {
	raw, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Protocol int
		Pickle   []byte
		Value    any
	}
	if err := json.Unmarshal(raw, &rows); err != nil || len(rows) < 150 {
		t.Fatal(len(rows), err)
	}
	for _, r := range rows {
		v, rest, err := Load(append(r.Pickle, "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Errorf("protocol %d of %.60v: %v, %q", r.Protocol, r.Value, err, rest)
			continue
		}
		got, _ := json.Marshal(plain(v))
		want, _ := json.Marshal(r.Value)
		if !bytes.Equal(got, want) {
			t.Errorf("protocol %d: %.60s, want %.60s", r.Protocol, got, want)
		}
	}
}

// What a pickle asks to be called or made is only named.
func TestNothingIsCalled(t *testing.T) {
	for _, test := range []struct{ name, pickle, want string }{
		{"a function of a module", "\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", "os.system"},
		{"by names on the stack", "\x80\x04\x8c\x08builtins\x8c\x04exec\x93\x8c\x04pass\x85R.", "builtins.exec"},
		{"an object of a class", "\x80\x02csubprocess\nPopen\nX\x04\x00\x00\x00true\x85\x81.", "subprocess.Popen"},
		{"with named arguments", "\x80\x04\x8c\x08builtins\x8c\x04eval\x93)}\x92.", "builtins.eval"},
		{"told to a class", "\x80\x02cm\nc\n)\x81}X\x01\x00\x00\x00aK\x01sb.", "m.c"},
		{"a dictionary that is made by another class", "\x80\x02ccollections\nUserDict\n)R.", "collections.UserDict"},
		{"an ordered one that is made of something", "\x80\x02ccollections\nOrderedDict\n]\x85R.",
			"collections.OrderedDict"},
		{"what is outside", "\x80\x02K\x00Q.", "a persistent object"},
	} {
		v, _, err := Load([]byte(test.pickle))
		if err != nil || v != any(Opaque{test.want}) {
			t.Errorf("%s: %v, %v", test.name, v, err)
		}
	}
}

func TestPicklesThatAreRefused(t *testing.T) {
	for _, test := range []struct{ name, pickle, want string }{
		{"nothing", "", "byte 0 of the pickle: it ends in the middle"},
		{"no end", "\x80\x02K\x01", "byte 4"},
		{"protocol 0", "(lp0\nI1\na.", "byte 1 of the pickle: opcode 0x6c is not one of protocols 2 to 5"},
		{"an extension", "\x80\x02\x82\x01.", "opcode 0x82"},
		{"an empty stack", "\x80\x02.", "takes a value that is not there"},
		{"below a mark", "\x80\x02K\x01(0.", "takes a value that is not there"},
		{"no mark", "\x80\x02t.", "a mark that is not there"},
		{"a memo that is not there", "\x80\x02h\x07.", "takes a value that is not there"},
		{"a tuple that grows", "\x80\x02)K\x01a.", "not a list"},
		{"half a pair", "\x80\x02}(K\x01u.", "takes a value"},
		{"4 GB that are not there", "\x80\x02X\xff\xff\xff\xff.", "ends in the middle"},
		{"2^63 bytes that are not there", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.", "ends in the middle"},
		{"2^64 bytes that are not there", "\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "ends in the middle"},
		{"a long of 4 GB", "\x80\x02\x8b\xff\xff\xff\xff.", "ends in the middle"},
		{"too many values", "\x80\x02" + strings.Repeat("}", maxValues), "more than 2000000"},
		{"too many bytes", "\x80\x02" + strings.Repeat("X\x00\x00\x01\x00"+strings.Repeat("a", 1<<16)+"0", 512) + "N.",
			"within 32 MiB"},
	} {
		_, _, err := Load([]byte(test.pickle))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// Pickles that say much in few bytes: what is shared is not copied, so that the memory that is
// taken stays below what so many values can take.
func TestHostilePicklesStaySmall(t *testing.T) {
	laughs := "\x80\x02]q\x00" + strings.Repeat("(h\x00h\x00h\x00h\x00h\x00h\x00h\x00h\x00tq\x00", 100_000) + "."
	for name, pickle := range map[string]string{
		"each tuple holds the last one eight times": laughs,
		"a list that holds itself":                  "\x80\x02]q\x00h\x00a.",
		"a long name again and again": "\x80\x04X\x00\x00\x10\x00" + strings.Repeat("a", 1<<20) + "\x94" +
			strings.Repeat("h\x00h\x00\x930", 50_000) + "N.",
		"marks":             "\x80\x02" + strings.Repeat("(", maxValues-10) + "N.",
		"dictionaries":      "\x80\x02" + strings.Repeat("}", maxValues-10) + ".",
		"numbers in a memo": "\x80\x02N" + strings.Repeat("\x94", maxValues-10) + ".",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, _, err := Load([]byte(pickle))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<30 {
			t.Errorf("%s takes %d MiB", name, taken>>20)
		}
		_ = Describe(v)
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.",
		"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00(K\x01e.",
		"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
		"\x80\x02\x8a\x01\xff\x8a\x00\x86G\x7f\xf8\x00\x00\x00\x00\x00\x00\x87.",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, rest, err := Load(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "byte ") {
				t.Fatal(err)
			}
			return
		}
		if len(rest) >= len(data) || !bytes.HasSuffix(data, rest) {
			t.Fatalf("%q of %q is left", rest, data)
		}
		// The same bytes give the same value.
		again, _, err := Load(data)
		if err != nil || Describe(again) != Describe(v) && !isNaN(v) {
			t.Fatalf("%v, then %v, %v", v, again, err)
		}
	})
}

func isNaN(v any) bool { f, ok := v.(float64); return ok && math.IsNaN(f) }
