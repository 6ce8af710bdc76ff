package pld

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// δ of n releases of a table, in both directions, by listing all outcomes.
func listed(m mechanism.PrivacyLossTable, n int, epsilon float64) (delta float64) {
	l, p := m.Losses.Values(), m.Masses.Values()
	for _, add := range []bool{false, true} {
		type outcome struct{ p, q float64 }
		all := []outcome{{1, 1}}
		finite := 0.0
		for i := range l {
			if q := p[i] * math.Exp(-l[i]); add {
				finite += q
			} else {
				finite += p[i]
			}
		}
		for range n {
			var next []outcome
			for _, o := range all {
				for i := range l {
					x, y := p[i], p[i]*math.Exp(-l[i])
					if add {
						x, y = y, x
					}
					next = append(next, outcome{o.p * x, o.q * y})
				}
			}
			all = next
		}
		sum := 1 - math.Pow(finite, float64(n))
		for _, o := range all {
			sum += math.Max(0, o.p-math.Exp(epsilon)*o.q)
		}
		delta = math.Max(delta, sum)
	}
	return delta
}

// Trap 11: both directions of a loss table count. The first table loses more, and all,
// where the record is added.
func TestLossTableBothDirections(t *testing.T) {
	tables := []mechanism.PrivacyLossTable{
		{Losses: mechanism.NumbersOf(-2, 0.5), Masses: mechanism.NumbersOf(0.05, 0.95)},
		{Losses: mechanism.NumbersOf(-0.5, 0.25, 1), Masses: mechanism.NumbersOf(0.3, 0.4, 0.3)},
		{Losses: mechanism.NumbersOf(-0.5, 0, 0.7), Masses: mechanism.NumbersOf(0.2, 0.4, 0.3), InfiniteMass: 0.1},
	}
	for _, m := range tables {
		for n := 1; n <= 6; n++ {
			c := lossesUnder(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: m, Count: uint32(n)})
			for _, epsilon := range []float64{0, 0.3, 0.99, 2, 5} {
				b, reason := LogDelta(c, epsilon, Wanted{})
				want := math.Log(listed(m, n, epsilon))
				if reason != "" || b.Lower > want+1e-9 || b.Upper < want-1e-9*(1-want) && want > -30 || want > -30 && b.Upper > want+2*latticeLogGap {
					t.Errorf("%v ×%d: ln δ(%v) in %+v, want %v (%s)", m, n, epsilon, b, want, reason)
				}
			}
		}
	}
}

// A table of randomized response is randomized response, at every δ above rounding.
func TestLossTableOfResponse(t *testing.T) {
	p := 1 / (1 + math.Exp(-0.7))
	m := mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-0.7, 0.7), Masses: mechanism.NumbersOf(1-p, p)}
	for _, n := range []uint32{1, 30, 1000} {
		for _, delta := range []float64{1e-9, 1e-3, 0.5} {
			a, _ := Epsilon(lossesUnder(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: m, Count: n}), delta, Wanted{})
			b, _ := Epsilon(lossesUnder(t, mechanism.ReplaceOne, mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.7}, Count: n}), delta, Wanted{})
			if a.Upper < b.Lower || a.Lower > b.Upper || a.Upper > b.Upper+2*latticeEpsilonGap*math.Max(1, b.Upper) {
				t.Errorf("×%d: ε(%v) in %+v, randomized response %+v", n, delta, a, b)
			}
		}
	}
}

func parallelOf(parts ...mechanism.Mechanism) mechanism.Parallel {
	return mechanism.Parallel{Parts: mechanism.ListOf(parts...)}
}

// The answer is the largest over the parts that a record may be in, each beside
// everything else, mixtures of uses included.
func TestParallelIsTheWorstPart(t *testing.T) {
	g, l, z := mechanism.Gaussian{NoiseMultiplier: 2}, mechanism.Laplace{Scale: 1.3, Sensitivity: 1}, mechanism.ZeroConcentratedDP{Rho: 0.11}
	beside := mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 5}
	event := func(m mechanism.Mechanism, n uint32) mechanism.Event { return mechanism.Event{Mechanism: m, Count: n} }
	for _, c := range []struct {
		name    string
		events  []mechanism.Event
		choices [][]mechanism.Event
	}{
		{"once", []mechanism.Event{event(parallelOf(g, l), 1)}, [][]mechanism.Event{{event(g, 1)}, {event(l, 1)}}},
		{"twice", []mechanism.Event{event(parallelOf(g, l), 2)}, [][]mechanism.Event{{event(g, 2)}, {event(g, 1), event(l, 1)}, {event(l, 2)}}},
		{"two", []mechanism.Event{event(parallelOf(g, l), 1), event(parallelOf(z, l), 1)}, [][]mechanism.Event{
			{event(g, 1), event(z, 1)}, {event(g, 1), event(l, 1)}, {event(l, 1), event(z, 1)}, {event(l, 2)}}},
		{"covered", []mechanism.Event{event(parallelOf(mechanism.Gaussian{NoiseMultiplier: 3}, g, g), 7)}, [][]mechanism.Event{{event(g, 7)}}},
		{"repeated within", []mechanism.Event{event(parallelOf(mechanism.Composed{Events: mechanism.ListOf(event(g, 30))}, l), 1)},
			[][]mechanism.Event{{event(g, 30)}, {event(l, 1)}}},
	} {
		for _, delta := range []float64{1e-8, 1e-3, 0.3} {
			got, reason := Epsilon(lossesUnder(t, mechanism.AddOrRemoveOne, append(c.events, beside)...), delta, Wanted{})
			if reason != "" {
				t.Fatal(c.name, reason)
			}
			var want loss.Bounds
			for _, chosen := range c.choices {
				one, _ := Epsilon(lossesUnder(t, mechanism.AddOrRemoveOne, append(chosen, beside)...), delta, Wanted{})
				want = loss.Bounds{Lower: math.Max(want.Lower, one.Lower), Upper: math.Max(want.Upper, one.Upper)}
			}
			if got != want {
				t.Errorf("%s: ε(%v) in %+v, want %+v", c.name, delta, got, want)
			}
		}
	}
}

// Where there are too many choices to ask about, the bound is above all of them, and not
// above what Rényi divergences prove by more than its table's coarseness.
func TestParallelOfManyUses(t *testing.T) {
	g, l := mechanism.Gaussian{NoiseMultiplier: 20}, mechanism.Laplace{Scale: 20, Sensitivity: 1}
	beside := mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3}
	c := lossesUnder(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: parallelOf(g, l), Count: 100}, beside)
	if len(c.Choices(mostChoices)) > 0 {
		t.Fatal("a hundred uses were listed")
	}
	for _, delta := range []float64{1e-8, 1e-3} {
		got, reason := Epsilon(c, delta, Wanted{})
		if reason != "" {
			t.Fatal(reason)
		}
		for n := uint32(0); n <= 100; n += 25 {
			var events []mechanism.Event
			if n > 0 {
				events = append(events, mechanism.Event{Mechanism: g, Count: n})
			}
			if n < 100 {
				events = append(events, mechanism.Event{Mechanism: l, Count: 100 - n})
			}
			if one, _ := Epsilon(lossesUnder(t, mechanism.AddOrRemoveOne, append(events, beside)...), delta, Wanted{}); one.Lower > got.Upper {
				t.Errorf("ε(%v) ≤ %v, with %d in the one part ≥ %v", delta, got.Upper, n, one.Lower)
			}
		}
		if most := renyi(c, delta); got.Upper > most*1.05 {
			t.Errorf("ε(%v) ≤ %v, Rényi %v", delta, got.Upper, most)
		}
	}
}

// Every choice is a way to put the uses into parts, and none is missing.
func TestChoices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 4).Draw(t, "uses"), rapid.IntRange(2, 3).Draw(t, "parts")
		var parts []mechanism.Mechanism
		for i := range k { // no part covers another
			parts = append(parts, mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 3+float64(i)), Epsilons: mechanism.NumbersOf(1, 2)})
		}
		m, err := mechanism.Compose(mechanism.AddOrRemoveOne, []mechanism.Event{{Mechanism: parallelOf(parts...), Count: uint32(n)}, {Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 5}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := loss.Compose(m)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		for i := 1; i < k; i++ { // C(n+k−1, k−1)
			want = want * (n + i) / i
		}
		if c.Choices(want-1) != nil {
			t.Fatalf("more choices than %d", want-1)
		}
		all := c.Choices(want)
		if len(all) != want {
			t.Fatalf("%d choices, want %d", len(all), want)
		}
		for i, chosen := range all {
			var total uint64
			for _, term := range chosen {
				total += term.Count
			}
			if total != uint64(n)+5 {
				t.Fatalf("%+v: %d uses", chosen, total)
			}
			for _, other := range all[:i] {
				if len(other) == len(chosen) {
					same := true
					for j := range other {
						same = same && other[j] == chosen[j]
					}
					if same {
						t.Fatalf("%+v twice", chosen)
					}
				}
			}
		}
	})
}

// Tables of losses against the oracle's list of all outcomes.
func TestLossTablesAgainstOracle(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/loss_tables.json", &data)
	points := 0
	for _, w := range data.Rows {
		c := lossesOfWorkload(t, w)
		for _, r := range w.Truth {
			points++
			b, reason := LogDelta(c, r.Epsilon.Value, Wanted{})
			want := r.LogDelta.Value
			if slack := 1e-14 * (1 - want); reason != "" || b.Lower > want+slack || b.Upper < want-slack || b.Upper-b.Lower > latticeLogGap {
				t.Errorf("%s: ln δ(%v) in %+v, want %v (%s)", w.Name, r.Epsilon.Value, b, want, reason)
			}
		}
	}
	if points < 10 {
		t.Errorf("%d points", points)
	}
}
