// SPDX-License-Identifier: Apache-2.0

package num

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"
)

// row is a line of testdata/num.json, written by oracle/ with 30 digits.
type row struct {
	X, A, B, Logp, N, K float64
	Value               string
}

func (r row) want(t *testing.T) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(r.Value, 64)
	if err != nil && !(v == 0 || math.IsInf(v, 0)) {
		t.Fatal(err)
	}
	return v
}

func oracle(t *testing.T, section string) []row {
	t.Helper()
	raw, err := os.ReadFile("testdata/num.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := json.Unmarshal(file[section], &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 10 {
		t.Fatalf("section %s has %d rows", section, len(rows))
	}
	return rows
}

// within fails unless got is within ulps·Ulp·scale of want, plus one subnormal.
func within(t *testing.T, got, want, scale, ulps float64, what string, args ...any) {
	t.Helper()
	if got == want {
		return
	}
	if d := math.Abs(got - want); !(d <= ulps*Ulp*scale+math.SmallestNonzeroFloat64) {
		t.Errorf(what+": got %v, want %v: off by %.3g Ulp of %.3g", append(args, got, want, d/scale/Ulp, scale)...)
	}
}

// The factors are those of the doc comments plus 1 for the rounding of want.
func TestAgainstOracle(t *testing.T) {
	for _, r := range oracle(t, "logNormalCDF") {
		want := r.want(t)
		within(t, LogNormalCDF(r.X), want, math.Abs(want), 33, "LogNormalCDF(%v)", r.X)
	}
	for _, r := range oracle(t, "log1mExp") {
		want := r.want(t)
		within(t, Log1mExp(r.X), want, math.Abs(want), 5, "Log1mExp(%v)", r.X)
	}
	for _, r := range oracle(t, "log1pExp") {
		want := r.want(t)
		within(t, Log1pExp(r.X), want, math.Abs(want), 5, "Log1pExp(%v)", r.X)
	}
	for _, r := range oracle(t, "logExpm1") {
		want := r.want(t)
		within(t, LogExpm1(r.X), want, math.Abs(want)+math.Abs(r.X), 5, "LogExpm1(%v)", r.X)
	}
	for _, r := range oracle(t, "logAddExp") {
		want := r.want(t)
		scale := math.Max(math.Abs(want), math.Max(math.Abs(r.A), math.Abs(r.B)))
		within(t, LogAddExp(r.A, r.B), want, scale, 5, "LogAddExp(%v, %v)", r.A, r.B)
		within(t, LogAddExp(r.B, r.A), want, scale, 5, "LogAddExp(%v, %v)", r.B, r.A)
		var s LogSum
		s.Add(r.A)
		s.Add(r.B)
		within(t, s.Log(), want, scale, 6, "LogSum(%v, %v)", r.A, r.B)
	}
	for _, r := range oracle(t, "logSubExp") {
		want := r.want(t)
		scale := math.Max(math.Abs(want), math.Abs(r.A))
		within(t, LogSubExp(r.A, r.B), want, scale, 5, "LogSubExp(%v, %v)", r.A, r.B)
	}
}

// Every mass C(n,k) p^k q^(n−k), by the oracle's logarithm of C(n,k).
func TestBinomialMassAgainstOracle(t *testing.T) {
	for _, r := range oracle(t, "logBinomial") {
		for _, p := range []float64{0.5, 0.25, 0.0078125} { // q exact too
			q := 1 - p
			terms := math.Abs(r.want(t)) + math.Abs(r.K*math.Log(p)) + math.Abs((r.N-r.K)*math.Log1p(-p))
			want := r.want(t) + r.K*math.Log(p) + (r.N-r.K)*math.Log1p(-p)
			got, err := LogBinomialMass(r.K, r.N, p, q)
			if d := math.Abs(got - want); !(d <= err+4*Ulp*terms) {
				t.Errorf("n=%v k=%v p=%v: got %v, want %v, off by %.3g, bound %.3g", r.N, r.K, p, got, want, d, err)
			}
		}
	}
}
