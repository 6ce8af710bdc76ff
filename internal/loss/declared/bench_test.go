// SPDX-License-Identifier: Apache-2.0

package declared

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
)

// BenchmarkTableCumulant has K at one order of a table of 3,000 losses, as a random allocation is one.
func BenchmarkTableCumulant(b *testing.B) {
	const n = 3000
	losses, masses := make([]float64, n), make([]float64, n)
	for i := range losses {
		losses[i] = -5 + 10*float64(i)/n
		masses[i] = math.Exp(-losses[i]*losses[i]/2) * 10 / n / math.Sqrt(2*math.Pi)
	}
	l := Computed("table", losses, masses, 0, 0, 1e-12, 1e-12)
	for _, d := range []loss.Direction{loss.Remove, loss.Add} {
		b.Run(d.String(), func(b *testing.B) {
			for b.Loop() {
				l.Cumulant(d, 3.5, nil)
			}
		})
	}
}
