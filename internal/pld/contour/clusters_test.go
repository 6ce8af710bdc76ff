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
func scattered(t *testing.T, n int) (c loss.Composition) {
	t.Helper()
	random := rand.New(rand.NewPCG(21, 1)) //nolint:gosec // the test's own
	for range n {
		l, err := kinds.Of(mechanism.PoissonSampled{
			SamplingProbability: 0.004 + 0.001*random.Float64(),
			Mechanism:           mechanism.Gaussian{NoiseMultiplier: 1 + 0.05*random.Float64()},
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

// The first question about thousands of losses is answered by clusters, and later ones from a frame; a
// narrower interval than usual comes from the losses themselves.
func TestClustersAnswerOnce(t *testing.T) {
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
	if _, ok := cache.Epsilon(c, down, up, interval.Wanted{}); ok {
		t.Error("a frame was made for the first question")
	}
	first, reason := Epsilon(c, down, up, interval.Wanted{})
	if reason != "" {
		t.Fatal(reason)
	}
	later, ok := cache.Epsilon(c, down, up, interval.Wanted{})
	if !ok || !(first.Lower <= later.Upper && later.Lower <= first.Upper) {
		t.Errorf("[%v, %v] first, [%v, %v] later: %v", first.Lower, first.Upper, later.Lower, later.Upper, ok)
	}
}
