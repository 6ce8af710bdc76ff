// SPDX-License-Identifier: Apache-2.0

package mechanisms

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// parse runs a command whose arguments are mechanisms, on one line.
func parse(line string) (events []*accountantv1.Event, err error) {
	c := &cobra.Command{Use: "test", SilenceErrors: true, SilenceUsage: true}
	f := AddFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) (err error) {
		events, err = f.Events(slices.DeleteFunc(slices.Clone(args),
			func(word string) bool { return word == Separator }))
		return err
	}
	c.SetArgs(strings.Fields(line))
	return events, c.Execute()
}

// An event that flags can describe is the same after it was written as flags and read again.
func TestLineIsRead(t *testing.T) {
	files, err := filepath.Glob("../../../../examples/mechanisms/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var line []string
	var want []*accountantv1.Event
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w := &accountantv1.Workload{}
		if err := wirejson.Unmarshal(data, w); err != nil {
			t.Fatal(err)
		}
		for _, e := range w.GetEvents() {
			if text := Line(e); text != "" {
				line = append(line, text)
				want = append(want, e)
			}
		}
	}
	if len(want) < len(Kinds()) {
		t.Errorf("%d events for %d kinds", len(want), len(Kinds()))
	}
	got, err := parse(strings.Join(line, " + "))
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d of %d events, %v", len(got), len(want), err)
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			t.Errorf("%s\nwas read as %v", line[i], got[i])
		}
	}
}

// A name means the same however people write it, and each alias names a kind.
func TestNames(t *testing.T) {
	for _, name := range []string{"dp-sgd", "dp_sgd", "DP-SGD", "dpSgd", "dpsgd", "sgd", "DP SGD mechanism"} {
		if k, ok := kindNamed(name); !ok || k.Name() != "dp_sgd" {
			t.Errorf("%q is %v", name, k)
		}
	}
	for _, kind := range allKinds() {
		for _, alias := range aliases(kind) {
			if k, ok := kindNamed(alias); !ok || k != kind {
				t.Errorf("%q is %v, not %s", alias, k, kind.Name())
			}
			if slices.ContainsFunc(Kinds(), func(k string) bool { return strings.ReplaceAll(k, "-", "") == alias }) {
				t.Errorf("the alias %q is the name of a kind", alias)
			}
		}
	}
	if k, ok := kindNamed("svt"); !ok || k.Name() != "above_threshold" {
		t.Errorf("svt is %v", k)
	}
	for wrong, want := range map[string]string{
		"dp-sdg": "did you mean dp-sgd? ", "laplac": "did you mean laplace? ",
		"gausian": "did you mean gaussian? ", "shuffle": "",
	} {
		if got := cli.Meant(wrong, Kinds()); got != want || Named(wrong) {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}

// The flags of the noise inside an allocation stand beside its own.
func TestNoiseInsideIsRead(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"random-allocation --steps 9 --noise-multiplier 2 --count 3", `{"mechanism": {"randomAllocation": {"steps": "9",
			"mechanism": {"gaussian": {"noiseMultiplier": 2}}}}, "count": 3}`},
		{"random-allocation --sensitivity 2 --scale 5 --steps 9 --selected 2", `{"mechanism": {"randomAllocation": {
			"steps": "9", "selected": "2", "mechanism": {"laplace": {"scale": 5, "sensitivity": 2}}}}, "count": 1}`},
		{"random-allocation --steps 9", `{"mechanism": {"randomAllocation": {"steps": "9",
			"mechanism": {"gaussian": {}}}}, "count": 1}`}, // which the check of its parameters refuses
		{"random-allocation --steps 9 --scale 5 --noise-multiplier 2", ""},
		{"random-allocation --steps 9 --noise-multiplier 2 --sampling-probability 0.1", ""},
		{"random-allocation --steps 9 --noise-multiplier 2 --rho 0.1", ""},
	} {
		got, err := parse(c.line)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %v", c.line, got)
			}
			continue
		}
		want := &accountantv1.Event{}
		if err := wirejson.Unmarshal([]byte(c.want), want); err != nil {
			t.Fatal(err)
		}
		if err != nil || len(got) != 1 || !proto.Equal(got[0], want) {
			t.Errorf("%s: %v, %v; want %v", c.line, got, err, want)
		}
	}
	deep := &accountantv1.Event{Count: 1}
	if err := wirejson.Unmarshal([]byte(`{"mechanism": {"randomAllocation": {"steps": 9, "mechanism":
		{"pureDp": {"epsilon": 1}}}}}`), deep); err != nil || Line(deep) != "" {
		t.Errorf("%q, %v", Line(deep), err)
	}
}
