// SPDX-License-Identifier: Apache-2.0

package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/pld/lattice"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"pgregory.net/rapid"
)

func parallelOf(parts ...mechanism.Mechanism) mechanism.Parallel {
	return mechanism.Parallel{Parts: mechanism.ListOf(parts...)}
}

// fixedOf is parallelOf with a partition that was fixed in advance.
func fixedOf(parts ...mechanism.Mechanism) mechanism.Parallel {
	return mechanism.Parallel{Parts: mechanism.ListOf(parts...), PartitionFixedInAdvance: true}
}

// With partitions that were fixed in advance the answer is the largest over the parts that
// a record may be in, each beside everything else, mixtures of uses included.
func TestFixedPartitionIsTheWorstPart(t *testing.T) {
	g, l, z := mechanism.Gaussian{NoiseMultiplier: 2}, mechanism.Laplace{Scale: 1.3, Sensitivity: 1},
		mechanism.ZeroConcentratedDP{Rho: 0.11}
	beside := mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 5}
	event := func(m mechanism.Mechanism, n uint32) mechanism.Event { return mechanism.Event{Mechanism: m, Count: n} }
	for _, c := range []struct {
		name    string
		events  []mechanism.Event
		choices [][]mechanism.Event
	}{
		{"once", []mechanism.Event{event(fixedOf(g, l), 1)}, [][]mechanism.Event{{event(g, 1)}, {event(l, 1)}}},
		{"twice", []mechanism.Event{event(fixedOf(g, l), 2)},
			[][]mechanism.Event{{event(g, 2)}, {event(g, 1), event(l, 1)}, {event(l, 2)}}},
		{"two", []mechanism.Event{event(fixedOf(g, l), 1), event(fixedOf(z, l), 1)}, [][]mechanism.Event{
			{event(g, 1), event(z, 1)}, {event(g, 1), event(l, 1)}, {event(l, 1), event(z, 1)}, {event(l, 2)}}},
		{"covered", []mechanism.Event{event(fixedOf(mechanism.Gaussian{NoiseMultiplier: 3}, g, g), 7)},
			[][]mechanism.Event{{event(g, 7)}}},
		{"repeated within",
			[]mechanism.Event{event(fixedOf(mechanism.Composed{Events: mechanism.ListOf(event(g, 30))}, l), 1)},
			[][]mechanism.Event{{event(g, 30)}, {event(l, 1)}}},
	} {
		for _, delta := range []float64{1e-8, 1e-3, 0.3} {
			got, reason := Epsilon(pldtest.Compose(t, mechanism.AddOrRemoveOne, append(c.events, beside)...),
				delta, Wanted{})
			if reason != "" {
				t.Fatal(c.name, reason)
			}
			var want loss.Bounds
			for _, chosen := range c.choices {
				one, _ := Epsilon(pldtest.Compose(t, mechanism.AddOrRemoveOne, append(chosen, beside)...),
					delta, Wanted{})
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
func TestFixedPartitionOfManyUses(t *testing.T) {
	g, l := mechanism.Gaussian{NoiseMultiplier: 20}, mechanism.Laplace{Scale: 20, Sensitivity: 1}
	beside := mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: 3}
	c := pldtest.Compose(t, mechanism.AddOrRemoveOne, mechanism.Event{Mechanism: fixedOf(g, l), Count: 100}, beside)
	if len(compound.Choices(c, mostChoices, nil)) > 0 {
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
			if one, _ := Epsilon(pldtest.Compose(t, mechanism.AddOrRemoveOne, append(events, beside)...), delta,
				Wanted{}); one.Lower > got.Upper {
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
			parts = append(parts,
				mechanism.RenyiDP{Orders: mechanism.NumbersOf(2, 3+float64(i)), Epsilons: mechanism.NumbersOf(1, 2)})
		}
		m, err := mechanism.Compose(mechanism.AddOrRemoveOne,
			[]mechanism.Event{{Mechanism: fixedOf(parts...), Count: uint32(n)},
				{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 5}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := kinds.Compose(m)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		for i := 1; i < k; i++ { // C(n+k−1, k−1)
			want = want * (n + i) / i
		}
		if compound.Choices(c, want-1, nil) != nil {
			t.Fatalf("more choices than %d", want-1)
		}
		all := compound.Choices(c, want, nil)
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

// What the oracle's adversary reaches is never above the answer, and nothing that is said
// to be reached is above what he reaches. With
// one choice to make he reaches the answer.
func TestParallelAgainstOracle(t *testing.T) {
	several := map[string]bool{"twice": true, "two kinds": true, "three times": true} // adaptive partitions
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "testdata/parallel.json", &data)
	for _, w := range data.Rows {
		c := pldtest.Workload(t, w)
		for _, r := range w.Truth {
			b, reason := LogDelta(c, r.Epsilon.Value, Wanted{})
			want := r.LogDelta.Value
			if slack := 1e-14 * (1 - want); reason != "" || b.Lower > want+slack || b.Upper < want-slack {
				t.Errorf("%s: ln δ(%v) in %+v, want %v (%s)", w.Name, r.Epsilon.Value, b, want, reason)
			}
			if b.Upper-b.Lower > lattice.LogGap && !several[w.Name] {
				t.Errorf("%s: ln δ(%v) in %+v is wide", w.Name, r.Epsilon.Value, b)
			}
		}
	}
}

// play is what an adversary may still run, in whatever order he likes.
type play []mechanism.Mechanism

type output struct{ p, q float64 }

// outputsOf are those of pure and approximate DP, by their definitions.
func outputsOf(m mechanism.Mechanism) []output {
	switch m := m.(type) {
	case mechanism.PureDP:
		return outputsOf(mechanism.ApproximateDP{Epsilon: m.Epsilon})
	case mechanism.ApproximateDP:
		p := (1 - m.Delta) / (1 + math.Exp(-m.Epsilon))
		return []output{{p, p * math.Exp(-m.Epsilon)}, {p * math.Exp(-m.Epsilon), p}, {m.Delta, 0}, {0, m.Delta}}
	case mechanism.NameAndShame:
		return []output{{1 - m.Delta, 1 - m.Delta}, {m.Delta, 0}, {0, m.Delta}}
	}
	panic(m)
}

// best is what an adversary gets who tries everything: then at the end, and before it the
// best release and part for what he has seen.
func (p play) best(at output, then func(output) float64) float64 {
	if len(p) == 0 || at.p == 0 || at.q == 0 { // once he knows, the rest tells him nothing
		return then(at)
	}
	most := 0.0
	for i, m := range p {
		rest := append(p[:i:i], p[i+1:]...)
		most = math.Max(most, run(m, at, func(at output) float64 { return rest.best(at, then) }))
	}
	return most
}

// run is what he gets from m, whose parts and their order he chooses, and from what follows.
func run(m mechanism.Mechanism, at output, then func(output) float64) (most float64) {
	switch m := m.(type) {
	case mechanism.Parallel:
		for _, part := range m.Parts.Values() {
			most = math.Max(most, run(part, at, then))
		}
	case mechanism.Composed:
		most = playOf(m.Events.Values()).best(at, then)
	default:
		for _, o := range outputsOf(m) {
			most += then(output{at.p * o.p, at.q * o.q})
		}
	}
	return most
}

func playOf(events []mechanism.Event) (p play) {
	for _, e := range events {
		for range e.Count {
			p = append(p, e.Mechanism)
		}
	}
	return p
}

// fixings are the plays in which every partition that was fixed in advance is one of its
// parts, another one for each of its uses.
func (p play) fixings() []play {
	all := []play{nil}
	for _, m := range p {
		var next []play
		for _, before := range all {
			for _, one := range fixings(m) {
				next = append(next, append(before[:len(before):len(before)], one))
			}
		}
		all = next
	}
	return all
}

func fixings(m mechanism.Mechanism) (all []mechanism.Mechanism) {
	switch m := m.(type) {
	case mechanism.Parallel:
		if m.PartitionFixedInAdvance {
			for _, part := range m.Parts.Values() {
				all = append(all, fixings(part)...)
			}
			return all
		}
		for _, parts := range play(m.Parts.Values()).fixings() {
			all = append(all, parallelOf(parts...))
		}
		return all
	case mechanism.Composed:
		for _, p := range playOf(m.Events.Values()).fixings() {
			var events []mechanism.Event
			for _, one := range p {
				events = append(events, mechanism.Event{Mechanism: one, Count: 1})
			}
			all = append(all, mechanism.Composed{Events: mechanism.ListOf(events...)})
		}
		return all
	}
	return []mechanism.Mechanism{m}
}

// reachedBy is the largest p − e^ε·q that an adversary reaches, whatever part the record is
// in of the releases that were parted in advance.
func reachedBy(events []mechanism.Event, epsilon float64) (most float64) {
	alpha := math.Exp(epsilon)
	for _, p := range playOf(events).fixings() {
		most = math.Max(most, p.best(output{1, 1}, func(o output) float64 { return math.Max(0, o.p-alpha*o.q) }))
	}
	return most
}

func drawLeaf(t *rapid.T, name string) mechanism.Mechanism {
	if rapid.IntRange(0, 3).Draw(t, name) == 0 {
		return mechanism.Composed{Events: mechanism.ListOf(
			mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: rapid.Float64Range(0.05, 2).Draw(t, "ε")}, Count: 2})}
	}
	return drawOne(t, name)
}

func drawOne(t *rapid.T, name string) mechanism.Mechanism {
	epsilon := func() float64 { return rapid.Float64Range(0.05, 2).Draw(t, "ε") }
	switch rapid.IntRange(0, 2).Draw(t, name) {
	case 0:
		return mechanism.NameAndShame{Delta: rapid.Float64Range(1e-6, 0.2).Draw(t, "δ")}
	case 1:
		return mechanism.ApproximateDP{Epsilon: epsilon(), Delta: rapid.Float64Range(1e-6, 0.1).Draw(t, "δ")}
	}
	return mechanism.PureDP{Epsilon: epsilon()}
}

func drawPlay(t *rapid.T) (events []mechanism.Event) {
	add := func(m mechanism.Mechanism) { events = append(events, mechanism.Event{Mechanism: m, Count: 1}) }
	for range rapid.IntRange(0, 2).Draw(t, "releases beside") {
		add(drawLeaf(t, "beside"))
	}
	for range rapid.IntRange(1, 2).Draw(t, "partitions") {
		parts := []mechanism.Mechanism{drawLeaf(t, "part"), drawLeaf(t, "part")}
		if rapid.Bool().Draw(t, "three") {
			parts = append(parts, drawLeaf(t, "part"))
		}
		add(parallelOf(parts...))
	}
	return events
}

// An adversary who chooses the next release and the part of the record after each output
// never gets more than is stated, nor less than is stated from below; with one partition the
// answer is what he gets.
func TestAdversaryOfPartitions(t *testing.T) {
	caught := 0
	rapid.Check(t, func(t *rapid.T) {
		events := drawPlay(t)
		epsilon := rapid.Float64Range(0, 3).Draw(t, "ε")
		reached := reachedBy(events, epsilon)
		b := between(t, events, epsilon, reached)
		partitions := 0
		for _, e := range events {
			if _, ok := e.Mechanism.(mechanism.Parallel); ok {
				partitions++
			}
		}
		// where one part covers all others the lattice is asked
		if partitions == 1 && b.Upper-b.Lower > 5*lattice.LogGap {
			t.Fatalf("%+v is wider than a lattice: %v", b, events)
		}
		for i, e := range events {
			if on, ok := e.Mechanism.(mechanism.Parallel); ok {
				on.PartitionFixedInAdvance = true
				events[i].Mechanism = on
			}
		}
		// The rule for partitions that were fixed in advance, as if these had been.
		if old, _ := LogDelta(pldtest.Losses(t, events...), epsilon, Wanted{}); math.Exp(old.Upper) < reached*(1-1e-9) {
			caught++
		}
	})
	if caught == 0 {
		t.Error("the adversary never got more than the rule for fixed partitions allows")
	}
}

// between asks for δ(ε), which must enclose what was reached.
func between(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, events []mechanism.Event, epsilon, reached float64) loss.Bounds {
	b, reason := LogDelta(pldtest.Losses(t, events...), epsilon, Wanted{})
	if reason != "" {
		t.Fatal(reason)
	}
	if lower, upper := math.Exp(b.Lower),
		math.Exp(b.Upper); upper < reached*(1-1e-12)-1e-15 || lower > reached*(1+1e-12)+1e-15 {
		t.Fatalf("δ(%v) reached %v, stated %v to %v: %v", epsilon, reached, lower, upper, events)
	}
	return b
}

// drawNested draws partitions of leaves, or of partitions to a depth, alone or several
// together in a part; some were fixed in advance.
func drawNested(t *rapid.T, depth int) mechanism.Mechanism {
	part := func() mechanism.Mechanism {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			return drawOne(t, "part")
		}
		inner := drawNested(t, depth-1)
		switch rapid.IntRange(0, 2).Draw(t, "within") {
		case 0:
			return mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: inner, Count: 2})}
		case 1:
			return mechanism.Composed{Events: mechanism.ListOf(mechanism.Event{Mechanism: inner, Count: 1},
				mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: rapid.Float64Range(0.05, 2).Draw(t, "ε")},
					Count: 1})}
		}
		return inner
	}
	m := parallelOf(part(), part())
	m.PartitionFixedInAdvance = rapid.Bool().Draw(t, "fixed")
	return m
}

// The same with partitions within partitions, of which some were fixed in advance.
func TestAdversaryOfNestedPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := []mechanism.Event{{Mechanism: drawNested(t, 1), Count: uint32(rapid.IntRange(1, 2).Draw(t, "uses"))}}
		if rapid.Bool().Draw(t, "beside") {
			events = append(events, mechanism.Event{Mechanism: drawLeaf(t, "beside"), Count: 1})
		}
		epsilon := rapid.Float64Range(0, 3).Draw(t, "ε")
		between(t, events, epsilon, reachedBy(events, epsilon))
	})
}

// Cases in which a lower bound was too high: partitions within partitions, and more vectors
// of fixed parts than are asked about.
func TestLowerBoundsOfPartitions(t *testing.T) {
	pure := func(e float64) mechanism.Mechanism { return mechanism.PureDP{Epsilon: e} }
	fails := func(d float64) mechanism.Mechanism { return mechanism.NameAndShame{Delta: d} }
	event := func(m mechanism.Mechanism, n uint32) mechanism.Event { return mechanism.Event{Mechanism: m, Count: n} }
	composed := func(events ...mechanism.Event) mechanism.Mechanism {
		return mechanism.Composed{Events: mechanism.ListOf(events...)}
	}
	one := parallelOf(pure(1), fails(0.3))
	for name, events := range map[string][]mechanism.Event{
		"nested":         {event(parallelOf(one, pure(0.1)), 2)},
		"composed":       {event(parallelOf(composed(event(one, 2)), pure(0.1)), 1), event(pure(1), 1)},
		"fixed within":   {event(parallelOf(fixedOf(pure(1), fails(0.3)), pure(0.1)), 1), event(pure(1), 1)},
		"fixed and both": {event(fixedOf(one, pure(0.1)), 2), event(one, 1)},
	} {
		for _, epsilon := range []float64{0.1, 0.5, 1, 1.5} {
			t.Run(name, func(t *testing.T) { between(t, events, epsilon, reachedBy(events, epsilon)) })
		}
	}
	for n := uint32(7); n <= 9; n++ { // 2(n+1) vectors
		const epsilon = 1.
		truth := math.Inf(-1)
		for i := range n + 1 {
			for _, m := range []mechanism.Mechanism{pure(1), fails(0.1)} {
				events := []mechanism.Event{event(pure(1), 1), event(m, 1)}
				if i > 0 {
					events = append(events, event(pure(0.001), i))
				}
				if i < n {
					events = append(events, event(fails(1e-4), n-i))
				}
				b, _ := LogDelta(pldtest.Losses(t, events...), epsilon, Wanted{})
				truth = math.Max(truth, b.Upper)
			}
		}
		b, reason := LogDelta(pldtest.Losses(t, event(pure(1), 1),
			event(fixedOf(pure(1), fails(0.1)), 1), event(fixedOf(pure(0.001), fails(1e-4)), n)), epsilon, Wanted{})
		if reason != "" || b.Lower > truth || b.Upper < truth-2*lattice.LogGap || b.Lower < truth-0.05 {
			t.Errorf("%d uses: ln δ(1) in %+v, of all vectors ≤ %v (%s)", n, b, truth, reason)
		}
	}
}

// The example of the issue that found this, by hand: after an output of ε = 1 the adversary
// takes ε = 1 where the record is likely there, otherwise the failures.
func TestPartitionChosenByAnOutput(t *testing.T) {
	events := []mechanism.Event{
		{Mechanism: mechanism.PureDP{Epsilon: 1}, Count: 1},
		{Mechanism: parallelOf(mechanism.PureDP{Epsilon: 1}, mechanism.NameAndShame{Delta: 0.1}), Count: 1},
	}
	likely := 1 / (1 + math.Exp(-1))
	reached := likely*math.Tanh(0.5) + (1-likely)*0.1
	b, reason := LogDelta(pldtest.Losses(t, events...), 1, Wanted{})
	if lower, upper := math.Exp(b.Lower),
		math.Exp(b.Upper); reason != "" || upper < reached || upper > reached*(1+1e-11) || lower > reached ||
		lower < reached*(1-1e-11) {
		t.Errorf("δ(1) from %v to %v, reached %v (%s)", lower, upper, reached, reason)
	}
	e, reason := Epsilon(pldtest.Losses(t, events...), reached, Wanted{})
	if reason != "" || e.Upper < 1 || e.Upper > 1+1e-10 || e.Lower > 1 || e.Lower < 1-1e-10 {
		t.Errorf("ε(%v) in %+v (%s)", reached, e, reason)
	}
}

// Pairs of which one part has an atom at an end of what the other's losses cover were cut
// there, so that nothing was proven. All parts together lose more than any one of them, and
// with one choice to make the bounds meet.
func TestAtomsAtEndsOfParts(t *testing.T) {
	check := func(q, sigma, e0, delta float64) {
		drawn := mechanism.PoissonSampled{SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}
		pure := mechanism.PureDP{Epsilon: e0}
		event := func(m mechanism.Mechanism) mechanism.Event { return mechanism.Event{Mechanism: m, Count: 1} }
		for _, first := range []mechanism.Mechanism{mechanism.PureDP{Epsilon: 1},
			mechanism.Gaussian{NoiseMultiplier: 1}} {
			answer := func(events ...mechanism.Event) loss.Bounds {
				b, reason := Epsilon(pldtest.Losses(t, append(events, event(first))...), delta, Wanted{})
				if reason != "" {
					t.Fatal(reason)
				}
				return b
			}
			got, all := answer(event(parallelOf(drawn, pure))), answer(event(drawn), event(pure))
			one, other := answer(event(drawn)), answer(event(pure))
			if got.Lower > all.Upper || got.Upper > all.Upper+1e-3 || got.Upper < math.Max(one.Lower, other.Lower) ||
				got.Upper-got.Lower > 1e-3 {
				t.Fatalf("q=%v σ=%v ε0=%v after %v: ε(%v) in %+v, of all parts together %+v, of one %+v %+v", q, sigma,
					e0, first, delta, got, all, one, other)
			}
		}
	}
	for _, c := range [][3]float64{{0.07, 2.95, 0.83}, {0.05, 3.59, 1.49}, {0.21, 3.6, 1.22}, {0.28, 3.46, 1.26}} {
		for _, delta := range []float64{1e-5, 0.1, 0.47} {
			check(c[0], c[1], c[2], delta)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		draw := func(from, to float64) float64 { return from + (to-from)*rnd.Float64() }
		check(draw(0.01, 0.5), draw(0.8, 4), draw(0.05, 2), math.Pow(10, draw(-7, -0.3)))
	}
}
