// SPDX-License-Identifier: Apache-2.0

package num

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"
)

// The directed functions are on their side of the exact value, compared as
// rationals, and within 7 units of it, at points where the standard library
// errs most and at others.
func TestDirectedAgainstOracle(t *testing.T) {
	raw, err := os.ReadFile("testdata/elementary.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct {
		up, down func(float64) float64
	}{
		"exp": {ExpUp, ExpDown}, "log": {LogUp, LogDown}, "log1p": {Log1pUp, nil}, "expm1": {Expm1Up, nil},
	} {
		var rows []struct {
			X     float64
			Value string
		}
		if err := json.Unmarshal(file[name], &rows); err != nil || len(rows) < 100 {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		for _, r := range rows {
			want, ok := new(big.Rat).SetString(r.Value)
			if !ok {
				t.Fatalf("%s(%v): %q", name, r.X, r.Value)
			}
			near, _ := want.Float64()
			if up := f.up(r.X); new(big.Rat).SetFloat64(up).Cmp(want) < 0 || up > stepsUp(near, 7) {
				t.Errorf("%s(%v) up is %v, exactly %s", name, r.X, up, r.Value)
			}
			if f.down == nil {
				continue
			}
			if down := f.down(r.X); new(big.Rat).SetFloat64(down).Cmp(want) > 0 ||
				down < stepsDown(near, 7) && down > 0 {
				t.Errorf("%s(%v) down is %v, exactly %s", name, r.X, down, r.Value)
			}
		}
	}
}

// The ends of the range.
func TestDirectedAtTheEnds(t *testing.T) {
	for _, c := range [][2]float64{
		{ExpUp(math.Inf(-1)), 0}, {ExpUp(0), 1}, {ExpUp(math.Inf(1)), math.Inf(1)}, {ExpDown(0), 1}, {ExpDown(-1e9), 0},
		{LogUp(0), math.Inf(-1)}, {LogUp(1), 0}, {LogDown(1), 0}, {Log1pUp(0), 0}, {Log1pUp(-1), math.Inf(-1)},
		{Expm1Up(0), 0}, {Expm1Up(math.Inf(-1)), -1}, {Expm1Up(800), math.Inf(1)},
	} {
		if c[0] != c[1] {
			t.Errorf("got %v, want %v", c[0], c[1])
		}
	}
	if up := ExpUp(-1e9); !(up > 0) {
		t.Errorf("e^−1e9 is %v", up)
	}
}
