// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// A test a theorem that this room rests on, as its paper states it.

// Mironov 2017 (arXiv 1702.07476v3), Prop. 5–7: the Rényi divergences of binary
// randomized response, of Laplace and of Gaussian noise.
func TestMironov2017Propositions5to7(t *testing.T) {
	of := func(m mechanism.Mechanism, alpha float64) float64 {
		l, err := Of(m, mechanism.ZeroOut)
		if err != nil {
			t.Fatal(err)
		}
		return l.Cumulant(loss.Remove, alpha-1, nil).K / (alpha - 1)
	}
	for _, a := range []float64{1.5, 2, 7, 40} {
		for _, x := range []float64{0.1, 1, 3} {
			p := 1 / (1 + math.Exp(-x))
			response := math.Log(math.Pow(p, a)*math.Pow(1-p, 1-a)+math.Pow(1-p, a)*math.Pow(p, 1-a)) / (a - 1)
			laplace := math.Log(a/(2*a-1)*math.Exp((a-1)*x)+(a-1)/(2*a-1)*math.Exp(-a*x)) / (a - 1)
			for _, r := range []struct {
				name      string
				got, want float64
			}{
				{"randomized response", of(mechanism.RandomizedResponse{Epsilon: x}, a), response},
				{"Laplace", of(mechanism.Laplace{Scale: 1 / x, Sensitivity: 1}, a), laplace},
				{"Gaussian", of(mechanism.Gaussian{StandardDeviation: 1 / x, Sensitivity: 1}, a), a * x * x / 2},
			} {
				if math.Abs(r.got-r.want) > 1e-12*(1+r.want) {
					t.Errorf("%s at α = %v, %v: %v, want %v", r.name, a, x, r.got, r.want)
				}
			}
		}
	}
}

// Bun–Steinke 2016 (arXiv 1605.02065v1), Prop. 3.3: the divergences of an ε-DP mechanism
// are at most those of randomized response, ln[(sinh αε − sinh (α−1)ε)/sinh ε]/(α−1),
// and that is at most αε²/2.
func TestBunSteinke2016Proposition33(t *testing.T) {
	for _, e := range []float64{0.01, 0.5, 4} {
		for _, a := range []float64{1.1, 2, 16} {
			want := math.Log((math.Sinh(a*e)-math.Sinh((a-1)*e))/math.Sinh(e)) / (a - 1)
			for _, m := range []mechanism.Mechanism{mechanism.PureDP{Epsilon: e},
				mechanism.Laplace{Scale: 1, Sensitivity: e}, mechanism.RandomizedResponse{Epsilon: e, Buckets: 9}} {
				l, err := Of(m, mechanism.ZeroOut)
				if err != nil {
					t.Fatal(err)
				}
				got := l.Cumulant(loss.Remove, a-1, nil).K / (a - 1)
				if _, worst := m.(mechanism.PureDP); got > want+1e-9*want ||
					worst && got < want-1e-9*want || got > a*e*e/2 {
					t.Errorf("%v at α = %v: %v, at most %v", m, a, got, want)
				}
			}
		}
	}
}

// The integer-order formula of Mironov–Talwar–Zhang 2019 (arXiv 1908.10530v1,
// eq. 6): (α−1)·ε(α) = ln Σ_k C(α,k)(1−q)^{α−k}q^k·e^{(k²−k)μ²/2}.
func TestMironovTalwarZhang2019(t *testing.T) {
	for _, q := range []float64{1e-6, 1e-3, 0.01, 0.3, 0.9} {
		for _, sigma := range []float64{0.5, 1, 4} {
			l := sampledAt(t, q, sigma, mechanism.AddOrRemoveOne)
			for _, alpha := range []float64{2, 3, 7, 20, 64} {
				var sum num.LogSum
				for k := 0.0; k <= alpha; k++ {
					a, _ := math.Lgamma(alpha + 1)
					b, _ := math.Lgamma(k + 1)
					c, _ := math.Lgamma(alpha - k + 1)
					sum.Add(a - b - c + (alpha-k)*math.Log1p(-q) + k*math.Log(q) + (k*k-k)/(2*sigma*sigma))
				}
				got, want := l.Cumulant(loss.Remove, alpha-1, nil), sum.Log()
				if math.Abs(got.K-want) > got.Err+1e-13*(1+alpha*math.Log(1/q)+math.Abs(want)) {
					t.Errorf("q=%v σ=%v α=%v: K = %v ± %v, want %v", q, sigma, alpha, got.K, got.Err, want)
				}
			}
		}
	}
}

// One step of a sampled (ε0, δ0) mechanism is (ln(1 + q(e^{ε0}−1)), qδ0)-DP and no
// less, in the pair itself (Balle–Barthe–Gaboardi 2018, Thm 8).
func TestBalleBartheGaboardi2018Theorem8(t *testing.T) {
	for _, q := range []float64{1e-5, 0.01, 0.5, 0.99} {
		for _, e := range []float64{0.01, 1, 8} {
			l := sampledOf(t, mechanism.ApproximateDP{Epsilon: e, Delta: 1e-4}, q, mechanism.AddOrRemoveOne)
			want := math.Log1p(q * math.Expm1(e))
			f := l.Facts()
			if math.Abs(f.Epsilon/want-1) > 1e-14 || f.Epsilon < want || math.Abs(f.InfinityMass/(q*1e-4)-1) > 1e-15 ||
				f.InfinityMass < q*1e-4 {
				t.Errorf("q=%v ε0=%v: (%v, %v), want (%v, %v)", q, e, f.Epsilon, f.InfinityMass, want, q*1e-4)
			}
			for _, d := range []loss.Direction{loss.Remove, loss.Add} {
				p, _ := loss.PairOf(l, d, loss.Dominating, nil)
				at := losstest.Hockey(p, want, 1)
				if at > q*1e-4*(1+1e-9) || d == loss.Remove && at < q*1e-4*(1-1e-9) {
					t.Errorf("q=%v ε0=%v %v: δ(ε') = %v, want %v", q, e, d, at, q*1e-4)
				}
				if before := losstest.Hockey(p, want*(1-1e-3), 1); d == loss.Remove && !(before > at) {
					t.Errorf("q=%v ε0=%v: δ does not rise below ε'", q, e)
				}
			}
		}
	}
}
