// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

func TestWarnings(t *testing.T) {
	size := uint64(60_000)
	batch := uint64(256)
	q := 0.01
	sized := &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{BatchSize: &batch,
		DatasetSize: &size}}}
	rated := &pb.Mechanism{
		Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q}}}
	nested := &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{Mechanism: sized}}}
	shame := &pb.Mechanism{Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: []*pb.Event{
		{Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_NameAndShame{NameAndShame: &pb.NameAndShame{Delta: &q}}}}}}}}
	shuffled := &pb.Mechanism{Kind: &pb.Mechanism_Shuffled{Shuffled: &pb.Shuffled{BatchSize: &batch,
		DatasetSize: &size}}}
	composed := &pb.Mechanism{
		Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: []*pb.Event{{Mechanism: rated},
			{Mechanism: shuffled}}}}}
	group := &pb.Mechanism{Kind: &pb.Mechanism_Group{Group: &pb.Group{Mechanism: shuffled}}}
	parallel := &pb.Mechanism{Kind: &pb.Mechanism_Parallel{Parallel: &pb.Parallel{Parts: []*pb.Mechanism{rated,
		group, composed}}}}
	for _, test := range []struct {
		name   string
		deltas []float64
		m      *pb.Mechanism
		want   []string // how each begins
	}{
		{"small δ", []float64{1e-6}, sized, nil},
		{"1e-5 is not a tenth of 1/60000", []float64{1e-5}, sized, []string{"δ = 1e-05 is close to 1/60000. "}},
		{"the largest counts", []float64{1e-10, 1e-4}, sized, []string{"δ = 0.0001 is more than 1/60000. "}},
		{"no δ", nil, sized, nil},
		{"name and shame in a composition", []float64{0.1}, shame, []string{"name_and_shame publishes"}},
		{"shuffled", []float64{1e-7}, shuffled, []string{"Batches that are cut from shuffled"}},
		{"shuffled in a composition", []float64{1e-7}, composed, []string{"Batches that "}},
		{"shuffled in a group", []float64{1e-7}, group, []string{"Batches that "}},
		{"shuffled in parallel parts, twice, with its sizes", []float64{1e-4}, parallel,
			[]string{"δ = 0.0001 is", "Batches that "}},
		{"sampled twice", []float64{0.1}, nested, []string{"δ = 0.1 is"}},
		{"no size", []float64{0.1}, rated, nil},
		{"nothing", []float64{0.1}, &pb.Mechanism{}, nil},
	} {
		list := []*pb.Mechanism{rated, test.m}
		got := Warnings(test.deltas, list, nil)
		if len(got) != len(test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], test.want[i]) {
				t.Errorf("%s: %q, want %q", test.name, got[i], test.want[i])
			}
			// Each is quiet once it is acknowledged by the name at its end, and the others are not.
			_, name, _ := strings.Cut(strings.TrimSuffix(got[i], "]"), " [")
			rest := Warnings(test.deltas, list, []*pb.Acknowledgement{{Warning: name}})
			if !slices.Contains(wire.WarningNames, name) ||
				!slices.Equal(rest, slices.Delete(slices.Clone(got), i, i+1)) {
				t.Errorf("%s: with %q acknowledged: %q", test.name, name, rest)
			}
		}
	}
}

// The δ that a warning advises is one that is not warned of.
func TestWarningAdvice(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 100, 60_000, 123_456_789, 1 << 53} {
		m := []*pb.Mechanism{{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{DatasetSize: &n}}}}
		got := Warnings([]float64{0.9}, m, nil)
		if len(got) != 1 {
			t.Fatalf("%d records: %q", n, got)
		}
		_, advice, _ := strings.Cut(got[0], "use at most ")
		advice, _, _ = strings.Cut(advice, " ")
		delta, err := strconv.ParseFloat(advice, 64)
		if err != nil || len(Warnings([]float64{delta}, m, nil)) > 0 {
			t.Errorf("%d records: %q is warned of, too (%v)", n, advice, err)
		}
	}
}
