// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
)

// BenchmarkSum has the bounds of an epoch, of which everything else follows.
func BenchmarkSum(b *testing.B) {
	for _, c := range []struct {
		name  string
		mu    float64
		steps uint64
	}{{"little noise", 5, 10_000}, {"10,000 steps", 1, 10_000}, {"much noise", 0.05, 100_000}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				ofGaussian(c.mu, c.steps)
			}
		})
	}
}

func ofGaussian(mu float64, steps uint64) Bounds { return gaussianTo(mu, steps, 0x1p-126) }

// gaussianTo leaves out so much at either end.
func gaussianTo(mu float64, steps uint64, lost float64) Bounds {
	l := pairs.NewGaussian(mu)
	b, _ := Sum(l.Pair(loss.Remove, loss.Dominating, nil), l.Pair(loss.Add, loss.Dominating, nil),
		l.Pair(loss.Remove, loss.Dominated, nil), steps, 1, lost, nil)
	return b
}
