// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// ForMembers returns the parts of c as one person meets them who has rows in n of the ledgers to which each was
// charged, where the sensitivity bounds the rows in each ledger. Samples draw all rows of a person together, or the
// rows of each ledger apart. It fails where nothing is known of n such parts together. See docs/math/children.md
// §5.6.1.
func ForMembers(c mechanism.Composition, n uint64, peopleDrawn bool) (mechanism.Composition, error) {
	if n == 1 {
		return c, nil
	}
	return restate(c, func(p mechanism.Part) (mechanism.Part, error) {
		m, err := forMembers(p.Mechanism, n, peopleDrawn)
		if err == nil {
			err = m.Check(c.Adjacency)
		}
		return mechanism.Part{Mechanism: m, Count: p.Count}, err
	})
}

func forMembers(m mechanism.Mechanism, n uint64, peopleDrawn bool) (mechanism.Mechanism, error) {
	if _, poisson := m.(mechanism.PoissonSampled); peopleDrawn && !poisson && mechanism.Drawn(m) {
		return nil, unknownTogether(m)
	}
	switch k := m.(type) {
	case mechanism.NameAndShame: // each row is published with this probability
		k.Delta = math.Min(num.UpUlps(-math.Expm1(float64(n)*math.Log1p(-k.Delta)), 8), 1)
		return k, nil
	case mechanism.Group:
		if !mechanism.Drawn(k) {
			return mechanism.Group{Size: k.Size * n, Mechanism: k.Mechanism}, nil
		}
	case mechanism.Shuffled: // a person's rows may be in one batch, or in several
	case mechanism.PoissonSampled:
		if !peopleDrawn {
			return mechanism.Group{Size: n, Mechanism: m}, nil
		}
		inside, err := farther(k.Mechanism, float64(n))
		k.Mechanism = inside
		return k, err
	default:
		return mechanism.Group{Size: n, Mechanism: m}, nil
	}
	return nil, unknownTogether(m)
}

// farther returns noise on what is moved n times as far.
func farther(m mechanism.Mechanism, n float64) (mechanism.Mechanism, error) {
	switch k := m.(type) {
	case mechanism.GaussianDP:
		k.Mu = num.MulUp(k.Mu, n)
		return k, nil
	case mechanism.PureDP:
		k.Epsilon = num.MulUp(k.Epsilon, n)
		return k, nil
	case mechanism.Gaussian:
		if noise, none := NoiseOf(m); none == "" {
			return noise.With(num.Down(noise.Value / n)), nil
		}
	}
	return nil, unknownTogether(m)
}

func unknownTogether(m mechanism.Mechanism) error {
	return &mechanism.ParameterError{Field: "mechanism", Value: m.Kind(),
		Allowed: "one of which it is known what several rows of a person do to it"}
}
