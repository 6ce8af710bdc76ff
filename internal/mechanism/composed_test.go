// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Lists are equal when their values are, and give them back.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 1), 0, 4)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		if got := ListOf(a...).Values(); !slices.Equal(got, a) {
			t.Fatalf("%v came back as %v", a, got)
		}
		if (ListOf(a...) == ListOf(b...)) != slices.Equal(a, b) {
			t.Fatalf("%v and %v", a, b)
		}
	})
	if ListOf[int]() != (List[int]{}) {
		t.Error("the empty list is not the zero value")
	}
}

// Counts multiply from list to list.
func TestExpand(t *testing.T) {
	g, p := Gaussian{NoiseMultiplier: 1}, PureDP{1}
	inner := Composed{ListOf(Event{g, 2}, Event{p, 3})}
	got := Expand(
		Composed{ListOf(Event{inner, 5}, Event{p, 7},
			Event{DPSGD{NoiseMultiplier: 1, BatchSize: 2, DatasetSize: 10, Epochs: 3}, 11})})
	want := []Part{{g, 10}, {p, 15}, {p, 7}, {PoissonSampled{BatchSize: 2, DatasetSize: 10, Mechanism: g}, 165}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Expand(p); !slices.Equal(got, []Part{{p, 1}}) {
		t.Errorf("%v", got)
	}
}

// Steps are rounded up twice: those of an epoch, and those of the run. 60,000/256 is
// 234.375; 0.1 is the decimal, not the float64 above it.
func TestStepCount(t *testing.T) {
	for _, c := range []struct {
		epochs                float64
		batch, dataset, piece uint64
		want                  uint64
	}{
		{10, 256, 60000, 0, 2350}, {1, 256, 60000, 1, 235}, {2.5, 256, 60000, 0, 588}, {3, 256, 60000, 2, 354},
		{0.1, 10, 1000, 0, 10}, {0.3, 10, 1000, 0, 30}, {1e-9, 10, 1000, 0, 1}, {7, 1, 1, 0, 7},
		{4294967295, 1, 1, 0, 4294967295}, {4294967296, 1, 1, 0, 0},
	} {
		d := DPSGD{NoiseMultiplier: 1, BatchSize: c.batch, DatasetSize: c.dataset,
			Epochs: c.epochs, Accumulation: c.piece}
		if got := d.stepCount(); got != c.want {
			t.Errorf("%v epochs of %d: %d steps, want %d", c.epochs, c.dataset, got, c.want)
		}
	}
	if got := (DPSGD{Steps: 9, BatchSize: 1, DatasetSize: 100}).stepCount(); got != 9 {
		t.Errorf("%d steps, want 9", got)
	}
}
