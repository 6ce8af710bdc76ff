// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"math"
	"math/big"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// K of a table against the sum itself, P's finite mass apart, in either direction: the
// reverse one has −l with p·e^{−l}.
func TestTableCumulant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "losses")
		l := make([]float64, n)
		p := make([]float64, n)
		at, sum, sumQ := rapid.Float64Range(-1, 0).Draw(t, "first"), 0.0, 0.0
		for i := range l {
			l[i], p[i] = at, rapid.Float64Range(0.01, 1).Draw(t, "p")
			at += rapid.Float64Range(0.01, 1).Draw(t, "step")
			sum += p[i]
			sumQ += p[i] * math.Exp(-l[i])
		}
		total := math.Max(sum, sumQ) * rapid.Float64Range(1, 1.5).Draw(t, "infinite")
		sum = 0
		for i := range p {
			p[i] /= total
			sum += p[i]
		}
		m := mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(l...), Masses: mechanism.NumbersOf(p...),
			InfiniteMass: math.Max(0, 1-sum)}
		if m.InfiniteMass < 1e-300 {
			m.InfiniteMass = 0
		}
		if err := m.Check(mechanism.ReplaceOne); err != nil {
			t.Fatal(err)
		}
		table := ofTable(m, nil)
		s := rapid.Float64Range(-4, 9).Draw(t, "s")
		d := rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
		var moment, finite float64
		for i := range l {
			w, v := p[i], l[i]
			if d == loss.Add {
				w, v = w*math.Exp(-v), -v
			}
			finite += w
			moment += w * math.Exp(s*v)
		}
		want := math.Log(moment / finite)
		if v := table.Cumulant(d, s, nil); math.Abs(v.K-want) > v.Err+1e-13*(1+math.Abs(want)) ||
			v.Err > 1e-12*(1+math.Abs(want)+math.Abs(s)) {
			t.Fatalf("%v %v: K(%v) = %v ± %v, want %v", m, d, s, v.K, v.Err, want)
		}
		if f := table.Facts(); math.Abs(f.InfinityMassIn(d)-(1-finite)) > 1e-14 {
			t.Fatalf("%v %v: atom %v, want %v", m, d, f.InfinityMassIn(d), 1-finite)
		}
	})
}

// What Q is missing is enclosed: against 200 bits.
func TestTableMissing(t *testing.T) {
	m := mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 1),
		Masses: mechanism.NumbersOf(1/(1+math.E), math.E/(1+math.E))}
	b := ofTable(m, nil).(lossTable).missing
	if b.Lower != 0 || !(b.Upper > 0 && b.Upper < 4e-15) {
		t.Errorf("[%v, %v] of randomized response", b.Lower, b.Upper)
	}
	// e is Euler's number to 200 bits, OEIS A001113.
	e, _, _ := big.ParseFloat("2.71828182845904523536028747135266249775724709369995957496696763",
		10, 200, big.ToNearestEven)
	p, _, _ := big.ParseFloat("0.25", 10, 200, big.ToNearestEven)
	q := new(big.Float).SetPrec(200).Add(new(big.Float).SetPrec(200).Quo(p, e), new(big.Float).SetPrec(200).Mul(p, e))
	want := new(big.Float).SetPrec(200).Sub(big.NewFloat(1).SetPrec(200), q)
	b = ofTable(mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 1), Masses: mechanism.NumbersOf(0.25, 0.25),
		InfiniteMass: 0.5}, nil).(lossTable).missing
	if want.Cmp(big.NewFloat(b.Lower)) < 0 || want.Cmp(big.NewFloat(b.Upper)) > 0 || b.Upper-b.Lower > 1e-14 {
		t.Errorf("[%v, %v], want %v", b.Lower, b.Upper, want)
	}
}
