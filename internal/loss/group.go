package loss

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

const groupGuarantee = "group's guarantee"

// ofGroup is the loss of k records in the place of one. What adds noise by distance, or
// selects by scores, has k times the distance: exactly, by the triangle inequality and as k
// records may all move the output one way. μ-GDP is kμ-GDP (Dong–Roth–Su 2022, Thm 6),
// ρ-zCDP k²ρ-zCDP (Bun–Steinke 2016, Prop. 1.9) and (ε, δ)-DP (kε, δ(e^{kε}−1)/(e^ε−1))-DP
// (Vadhan 2017, Lemma 2.2); sampled Gaussian noise is a mixture (docs/math/groups.md §1.7.2).
func ofGroup(m mechanism.Group, adj mechanism.Adjacency, in *num.Interrupt) (Loss, error) {
	one, err := of(m.Mechanism, adj, in)
	if err != nil || m.Size == 1 {
		return one, err
	}
	k := float64(m.Size)
	if t, ok := m.Mechanism.(mechanism.TruncatedLaplace); ok {
		_, distance := t.Ratio(adj)
		t.Sensitivity, t.Distance = 0, num.MulUp(k, distance)
		return ofTruncatedLaplace(t, adj), nil
	}
	switch l := one.(type) {
	case gaussian:
		return gaussian{mu: num.MulUp(k, l.mu)}, nil
	case gaussianClass:
		return gaussianClass{gaussian{mu: num.MulUp(k, l.mu)}}, nil
	case laplace:
		return laplace{e0: num.MulUp(k, l.e0), class: l.class}, nil
	case discreteNormal:
		return discreteNormal{sigma: l.sigma, d: k * l.d}, nil // whole, at most 2^53
	case discrete:
		return discrete{a: l.a, d: k * l.d}, nil
	case sloped:
		return ranged(num.MulUp(k, l.r)), nil
	case zeroConcentrated:
		return zeroConcentrated{rho: num.MulUp(k*k, l.rho)}, nil
	case sampledGaussian:
		if m.Size > mechanism.MaxSampledGroup {
			return nil, fmt.Errorf("group: more than %d members of a sampled mechanism", mechanism.MaxSampledGroup)
		}
		return binomialMixture(l.mu, l.rate, m.Size, l.replace, in), nil
	}
	if l, ok := one.(response); ok && l.kind == discreteLaplace { // at distance 1
		return discrete{a: l.epsilon, d: k}, nil
	}
	f := one.Facts()
	if math.IsInf(f.Epsilon, 1) || f.OneSided {
		return nil, fmt.Errorf("group: nothing is known of groups of a %s", m.Mechanism.Kind())
	}
	g := response{epsilon: num.MulUp(k, f.Epsilon), buckets: 2, rounded: true, kind: groupGuarantee, class: true}
	if f.Atom > 0 {
		// Within 1e-12, and where it is 1 or more nothing is guaranteed.
		g.atom = math.Min(1, mechanism.GroupDelta(f.Epsilon, f.Atom, m.Size)*(1+1e-11))
	}
	return g, nil
}
