// SPDX-License-Identifier: Apache-2.0

package adversarytest

import (
	"math"
	"testing"
)

// limited accepts each move as often as its count says.
type limited []int

func (l limited) Accept(move int) bool {
	l[move]--
	return l[move] >= 0
}

func reached(t *testing.T, g Game, epsilon float64) float64 {
	t.Helper()
	best := g.Explore().Best(epsilon, false)
	exact, err := best.Play(epsilon)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := exact.Float64()
	if math.Abs(v-best.Value()) > 1e-12 {
		t.Errorf("promised %.15g, reached %.15g", best.Value(), v)
	}
	return v
}

// Pure ε = 1 first, and then one of two parts: who takes pure ε = 1 after the likely
// answer and (0, 0.1) after the other reaches 0.73106·0.46212 + 0.26894·0.1 = 0.3647 at
// ε = 1. With the part fixed beforehand 0.3378 is the most.
func TestPartChosenByTheFirstOutput(t *testing.T) {
	const epsilon = 1
	likely := 1 / (1 + math.Exp(-1))
	parts := [][]Outcome{Response(1), Failing(0, 0.1)}
	first := Move{Name: "first", Faces: [][]Outcome{Response(1)}}
	game := func(second ...[]Outcome) float64 {
		return reached(t, Game{Moves: []Move{first, {Name: "second", Faces: second}},
			Fresh: func() Ledgers { return limited{1, 1} }}, epsilon)
	}
	want := likely*math.Tanh(0.5) + (1-likely)*0.1
	if got := game(parts...); math.Abs(got-want) > 1e-12 || math.Abs(want-0.3647) > 5e-5 {
		t.Errorf("chosen by the output: %.12g, want %.12g", got, want)
	}
	if got := max(game(parts[0]), game(parts[1])); math.Abs(got-0.3378) > 5e-5 {
		t.Errorf("fixed: %.12g, want 0.3378", got)
	}
}

// n binary answers of ε0 each: the binomial sum of (1 − e^{ε−(2k−n)ε0})₊.
func TestRepeatedResponse(t *testing.T) {
	const n, e0 = 6, 0.4
	p := 1 / (1 + math.Exp(-e0))
	for _, epsilon := range []float64{0, 0.3, 1, 2.3, 2.4} {
		want, choose := 0.0, 1.0
		for k := range n + 1 {
			mass := choose * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
			want += mass * math.Max(0, -math.Expm1(epsilon-float64(2*k-n)*e0))
			choose *= float64(n-k) / float64(k+1)
		}
		g := Game{Moves: []Move{{Name: "answer", Faces: [][]Outcome{Response(e0)}}},
			Fresh: func() Ledgers { return limited{n} }}
		if got := reached(t, g, epsilon); math.Abs(got-want) > 1e-13 {
			t.Errorf("ε = %g: %.15g, want %.15g", epsilon, got, want)
		}
	}
}

func TestExp(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 5.5, -20, 1e-9} {
		if got, _ := Exp(x).Float64(); math.Abs(got-math.Exp(x)) > 2e-16*math.Exp(x) {
			t.Errorf("e^%g = %g", x, got)
		}
	}
}
