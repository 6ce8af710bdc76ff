// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

func readCheckpoint(data []byte) (*pb.Workload, error) {
	w, _, err := ReadCheckpoint(bytes.NewReader(data), int64(len(data)), pb.Workload_ADJACENCY_UNSPECIFIED)
	return w, err
}

// What Opacus 1.6.0 wrote itself with torch 2.15.0, in both of torch's formats, and Python's pickle of
// the state alone (bench/peers/checkpoints.py): an epoch of eight steps with σ = 1.1, one with 1.3.
func TestCheckpointsOfOpacus(t *testing.T) {
	step := func(sigma float64) mechanism.Part {
		return mechanism.Part{Count: 8, Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.125,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}}
	}
	for _, name := range []string{"checkpoint.pt", "legacy.pt", "state.pickle"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !IsCheckpoint(data) {
			t.Errorf("%s is no checkpoint", name)
		}
		w, err := readCheckpoint(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, c, err := wire.ToWorkload(w)
		if err != nil || len(c.Parts) != 2 || c.Parts[0] != step(1.1) || c.Parts[1] != step(1.3) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}

// str is a string in a pickle.
func str(s string) string { return fmt.Sprintf("X%c\x00\x00\x00%s", len(s), s) }

// zipped is an archive of entries, in turns their names and contents.
func zipped(t testing.TB, entries ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(entries); i += 2 {
		f, err := w.Create(entries[i])
		if err == nil {
			_, err = f.Write([]byte(entries[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const pickled2 = "\x80\x02"

// one is a history of one step, 1.5 half of the time, five times.
const one = "](G\x3f\xf8\x00\x00\x00\x00\x00\x00G\x3f\xe0\x00\x00\x00\x00\x00\x00K\x05ta"

func TestWhereTheHistoryIs(t *testing.T) {
	state := "}(" + str("history") + one + str("mechanism") + str("rdp") + "u"
	for name, data := range map[string]string{
		"alone":                    pickled2 + one + ".",
		"a state":                  pickled2 + state + ".",
		"of save_checkpoint":       pickled2 + "}(" + str("epoch") + "K\x07" + str(stateKey) + state + "u.",
		"by a name of theirs":      pickled2 + "}(" + str("model") + "}" + str("accountant") + state + "u.",
		"the last of two settings": pickled2 + "}(" + str(stateKey) + "N" + str(stateKey) + state + "u.",
	} {
		for _, file := range [][]byte{[]byte(data), zipped(t, "archive/data.pkl", data, "archive/data/0", "tensor")} {
			w, err := readCheckpoint(file)
			if err != nil || len(w.Events) != 1 || w.Events[0].Count != 5 {
				t.Errorf("%s: %v, %v", name, w, err)
			}
		}
	}
}

func TestCheckpointsThatAreRefused(t *testing.T) {
	state := "}(" + str("history") + one + "u"
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"no archive", []byte("PK\x03\x04 and nothing"), "file: a ZIP archive that cannot be read"},
		{"no pickle in it", zipped(t, "a/weights", "x"), "file: a ZIP archive without an entry data.pkl"},
		{"two pickles in it", zipped(t, "a/data.pkl", "x", "b/data.pkl", "x"), "two entries data.pkl"},
		{"no accountant", []byte(pickled2 + "}(" + str("module_state_dict") + "}u."),
			`file: a dictionary with the keys ["module_state_dict"]; allowed: one state of an accountant, as ` + stateKey},
		{"two accountants", []byte(pickled2 + "}(" + str("a") + state + str("b") + state + "u."),
			`file: the states ["a" "b"]`},
		{"a history that a function makes", []byte(pickled2 + "}" + str("history") + "cbuiltins\nlist\n)Rs."),
			`history: "builtins.list"; allowed: a list of`},
		{"noise of NumPy", []byte(pickled2 + "}" + str("history") + "](cnumpy\nscalar\n)RK\x01K\x05tas."),
			`history[0][0]: "numpy.scalar"; allowed: a number`},
		{"a step of two numbers", []byte(pickled2 + "](K\x01K\x01ta."), `history[0]: "a tuple of 2"; allowed: [noise`},
		{"NaN", []byte(pickled2 + "](G\x7f\xf8\x00\x00\x00\x00\x00\x00K\x01K\x01ta."), "history[0][0]: NaN"},
		{"infinite noise", []byte(pickled2 + "](G\x7f\xf0\x00\x00\x00\x00\x00\x00K\x01K\x01ta."),
			"history[0][0]: Infinity"},
		{"True for 1", []byte(pickled2 + "](\x88K\x01K\x01ta."), "history[0][0]: true; allowed: a number"},
		{"no noise", []byte(pickled2 + "](K\x00K\x01K\x01ta."), "history[0][0]: 0; allowed: a number > 0"},
		{"steps beyond 64 bits", []byte(pickled2 + "](K\x01K\x01\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01ta."),
			`history[0][2]: "a whole number beyond 64 bits"`},
		{"a pickle that is cut", []byte(pickled2 + "}("), "file: byte 4 of the pickle: it ends in the middle"},
		{"no dictionary", []byte(pickled2 + "cos\nsystem\n" + str("true") + "\x85R."), `history: "os.system"`},
	} {
		_, err := readCheckpoint(test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// Small files that ask for much: entries that inflate, lists of entries that are long, and lists that
// hold one list many times.
func TestHostileCheckpointsStaySmall(t *testing.T) {
	var inflating bytes.Buffer
	w := zip.NewWriter(&inflating)
	f, err := w.Create("archive/data.pkl")
	if err != nil {
		t.Fatal(err)
	}
	block := []byte(pickled2 + strings.Repeat("X\x00\x00\x10\x00"+strings.Repeat("a", 1<<20)+"0", 8))
	for range 5 {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var crowded bytes.Buffer
	w = zip.NewWriter(&crowded)
	for i := range 60_000 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%0150d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	row := "]q\x00(" + strings.Repeat("K\x01", 500_000) + "e0"
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"40 MiB in an entry", inflating.Bytes(), "no end within 32 MiB"},
		{"60,000 entries", crowded.Bytes(), "list of entries is longer than 8 MiB"},
		{"a history of one long row many times",
			[]byte(pickled2 + row + "](" + strings.Repeat("h\x00", 150_000) + "e."), "history[0]"},
		{"a history of very many rows", []byte(pickled2 + "](" + strings.Repeat("N", 300_000) + "e."),
			"history: 300000 steps; allowed: at most 200000"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readCheckpoint(test.data)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %.300v, want %s", test.name, err, test.want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 512<<20 {
			t.Errorf("%s takes %d MiB", test.name, taken>>20)
		}
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	for _, name := range []string{"checkpoint.pt", "legacy.pt", "state.pickle"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(zipped(f, "archive/data.pkl", pickled2+one+"."))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := readCheckpoint(data)
		if err != nil {
			return
		}
		for _, e := range w.Events {
			g := e.Mechanism.GetPoissonSampled().GetMechanism().GetGaussian()
			if e.Count == 0 || !(g.GetNoiseMultiplier() > 0) {
				t.Fatal(w)
			}
		}
	})
}
