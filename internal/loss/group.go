package loss

import (
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

const groupGuarantee = "group's guarantee"

// ofGroup is the loss of k records in the place of one. Noise by distance has k times
// the distance, μ-GDP is kμ-GDP (Dong–Roth–Su 2022, Thm 6), ρ-zCDP k²ρ-zCDP
// (Bun–Steinke 2016, Prop. 1.9) and (ε, δ)-DP (kε, δ(e^{kε}−1)/(e^ε−1))-DP (Vadhan
// 2017, Lemma 2.2); sampled Gaussian noise is a mixture (docs/math.md §1.7).
func ofGroup(m mechanism.Group, adj mechanism.Adjacency) (Loss, error) {
	one, err := Of(m.Mechanism, adj)
	if err != nil || m.Size == 1 {
		return one, err
	}
	k := float64(m.Size)
	switch l := one.(type) {
	case gaussian:
		return gaussian{mu: num.MulUp(k, l.mu)}, nil
	case laplace:
		return laplace{e0: num.MulUp(k, l.e0)}, nil
	case zeroConcentrated:
		return zeroConcentrated{rho: num.MulUp(k*k, l.rho)}, nil
	case sampledGaussian:
		if m.Size > mechanism.MaxSampledGroup {
			return nil, fmt.Errorf("group: more than %d members of a sampled mechanism", mechanism.MaxSampledGroup)
		}
		return binomialMixture(l.mu, l.rate, m.Size, l.replace), nil
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
