// SPDX-License-Identifier: Apache-2.0

package contour

import (
	"math/rand/v2"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/pld/interval"
)

// scattered are n sampled Gaussians with parameters of their own, in few clusters.
func scattered(t *testing.T, n int) loss.Composition {
	t.Helper()
	return scatteredFrom(t, n, 1, 1.05)
}

// scatteredFrom are n sampled Gaussians whose noise multipliers are between low and high.
func scatteredFrom(t *testing.T, n int, low, high float64) (c loss.Composition) {
	t.Helper()
	random := rand.New(rand.NewPCG(21, 1)) //nolint:gosec // the test's own
	for range n {
		l, err := kinds.Of(mechanism.PoissonSampled{
			SamplingProbability: 0.004 + 0.001*random.Float64(),
			Mechanism:           mechanism.Gaussian{NoiseMultiplier: low + (high-low)*random.Float64()},
		}, mechanism.AddOrRemoveOne)
		if err != nil {
			t.Fatal(err)
		}
		c = append(c, loss.Term{Loss: l, Count: 1 + random.Uint64N(9)})
	}
	return c
}

// Clusters answer as the losses themselves do, with an interval that is as good as usual, from far fewer terms.
func TestClustersAnswerAsTheirLosses(t *testing.T) {
	c := scattered(t, 500)
	p, reason := split(c)
	if reason != "" {
		t.Fatal(reason)
	}
	q, ok := p.inClusters()
	if !ok || 2*len(q.terms) > len(p.terms) {
		t.Fatalf("%d terms in clusters, of %d: %v", len(q.terms), len(p.terms), ok)
	}
	w := interval.Wanted{}
	for _, delta := range []float64{1e-5, 1e-9} {
		down, up := num.LogDown(delta), num.LogUp(delta)
		for _, d := range []loss.Direction{loss.Remove, loss.Add} {
			want, _, reason := p.epsilonOf(d, down, up, w)
			got, _, none := q.epsilonOf(d, down, up, w)
			if reason != "" || none != "" || !w.Reached(true, got) {
				t.Fatalf("ε(%v), %v: [%v, %v] %q, by clusters [%v, %v] %q", delta, d, want.Lower, want.Upper, reason,
					got.Lower, got.Upper, none)
			}
			// Both hold the truth, and their widths are 1e−6 at most.
			if !(got.Lower <= want.Upper && want.Lower <= got.Upper) {
				t.Errorf("ε(%v), %v in [%v, %v], by clusters [%v, %v]", delta, d, want.Lower, want.Upper,
					got.Lower, got.Upper)
			}
			at := want.Upper
			wantLog, _, reason := p.logDeltaOf(d, at, w)
			gotLog, _, none := q.logDeltaOf(d, at, w)
			if reason != "" || none != "" || !w.Reached(false, gotLog) ||
				!(gotLog.Lower <= wantLog.Upper && wantLog.Lower <= gotLog.Upper) {
				t.Errorf("ln δ(%v), %v in [%v, %v], by clusters [%v, %v] %q", at, d, wantLog.Lower, wantLog.Upper,
					gotLog.Lower, gotLog.Upper, none)
			}
		}
	}
}

// Clusters answer about thousands of losses, unless a narrower interval than usual is wanted, and a frame
// of their nodes answers while counts rise and losses come and go.
func TestFramesOfClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of losses")
	}
	c := scattered(t, manyDistinct)
	p, reason := split(c)
	if reason != "" {
		t.Fatal(reason)
	}
	if _, ok := p.clustered(interval.Wanted{Gap: 1e-9}); ok {
		t.Error("clusters answer where a narrower interval is wanted")
	}
	if _, ok := p.clustered(interval.Wanted{}); !ok {
		t.Error("clusters do not answer")
	}
	var cache Cache
	down, up := num.LogDown(1e-5), num.LogUp(1e-5)
	random := rand.New(rand.NewPCG(21, 2)) //nolint:gosec // the test's own
	extra := scattered(t, manyDistinct+20)[manyDistinct:]
	steps := []func(){
		func() {},
		func() { c[random.IntN(len(c))].Count++ },
		func() { c = append(c, extra...) },
		func() { c[random.IntN(len(c))].Count += 1000 },
		func() { c = c[:len(c)-10] },
		func() { c[0].Count = 1 + c[0].Count/2 },
	}
	var frame *frame
	for i, step := range steps {
		step()
		b, ok := cache.Epsilon(c, down, up, interval.Wanted{})
		if i == 0 {
			frame = cache.frames[loss.Remove]
		}
		if !ok || frame == nil || len(frame.clusters) == 0 || frame.members < manyDistinct {
			t.Fatalf("step %d: [%v, %v] %v, from the frame %+v", i, b.Lower, b.Upper, ok, frame)
		}
		if cache.frames[loss.Remove] != frame {
			t.Errorf("step %d: the frame was made anew", i)
		}
		want, reason := Epsilon(c, down, up, interval.Wanted{})
		if reason != "" || !(want.Lower <= b.Upper && b.Lower <= want.Upper) {
			t.Errorf("step %d: [%v, %v] from the frame, [%v, %v] without %s", i, b.Lower, b.Upper, want.Lower,
				want.Upper, reason)
		}
	}
	// Without clusters, once.
	wide, _, reason := p.epsilonOf(loss.Remove, down, up, interval.Wanted{})
	first, ok := new(Cache).Epsilon(p.rest, down, up, interval.Wanted{})
	if reason != "" || !ok || !(wide.Lower <= first.Upper && first.Lower <= wide.Upper) {
		t.Errorf("[%v, %v] from the losses %s, [%v, %v] from a frame %v", wide.Lower, wide.Upper, reason, first.Lower,
			first.Upper, ok)
	}
}

// Neighbouring clusters have nodes on their common border. Each of them keeps a factor of its own there: if a frame
// kept such a node once, ε would change by 5e−4 here.
func TestNeighboursShareNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of losses")
	}
	c := scatteredFrom(t, manyDistinct, 0.87, 0.99) // three clusters of the same width
	var cache Cache
	down, up := num.LogDown(1e-5), num.LogUp(1e-5)
	for i := range 3 {
		b, ok := cache.Epsilon(c, down, up, interval.Wanted{})
		want, reason := Epsilon(c, down, up, interval.Wanted{})
		if !ok || reason != "" || !(b.Lower <= want.Upper && want.Lower <= b.Upper) {
			t.Errorf("[%v, %v] from the frame %v, [%v, %v] without %s", b.Lower, b.Upper, ok, want.Lower, want.Upper,
				reason)
		}
		c[100*i].Count += 3
	}
}

// What clusters have proven is the answer where the time ends while the losses themselves are asked about, which
// follows where the interval of the clusters is wide: with little noise their error grows along the line.
func TestClustersAnswerWhenTheTimeEnds(t *testing.T) {
	c := scatteredFrom(t, manyDistinct, 0.3, 0.31)
	p, reason := split(c)
	if reason != "" {
		t.Fatal(reason)
	}
	down, up := num.LogDown(1e-5), num.LogUp(1e-5)
	var over bool
	w := interval.Wanted{In: num.NewInterrupt(func() bool { return over })}
	q, ok := p.clustered(w)
	want, none := q.epsilon(c, down, up, w)
	if !ok || none != "" || w.Reached(true, want) || !(want.Upper < 1000) {
		t.Fatalf("clusters alone: %v [%v, %v] %q, the test shows nothing", ok, want.Lower, want.Upper, none)
	}
	asked := 0
	got, none := answer(c, true, w, func(p *parts) (loss.Bounds, string) {
		over = asked == 1 // the second question is about all losses
		asked++
		return p.epsilon(c, down, up, w)
	})
	if none != "" || asked != 2 || got != want {
		t.Errorf("[%v, %v] %q after %d questions, the clusters alone have [%v, %v]", got.Lower, got.Upper, none, asked,
			want.Lower, want.Upper)
	}
}
