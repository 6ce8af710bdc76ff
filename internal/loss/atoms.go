// SPDX-License-Identifier: Apache-2.0

package loss

// AtomicPair is finitely many outcomes, by increasing loss.
type AtomicPair struct {
	atoms          []Mass
	infinite, null float64
}

func (p AtomicPair) Ends(_, _ float64) (lo, hi float64) {
	return p.atoms[0].Loss, p.atoms[len(p.atoms)-1].Loss
}

func (p AtomicPair) Cells(_ []float64, cells []Mass) (slack float64) {
	for i := range cells {
		cells[i] = Nothing()
	}
	return 0
}

func (p AtomicPair) Atoms() []Mass { return p.atoms }

func (p AtomicPair) Infinite() float64 { return p.infinite }

func (p AtomicPair) Null() float64 { return p.null }

// Anchor is the likeliest outcome.
func (p AtomicPair) Anchor() float64 {
	best := p.atoms[0]
	for _, a := range p.atoms {
		if a.LogP >= best.LogP {
			best = a
		}
	}
	return best.Loss
}

// NewAtomicPair has these outcomes, of which there is one at least, and the masses of P and Q
// where the other has nothing.
func NewAtomicPair(atoms []Mass, infinite, null float64) Pair {
	return AtomicPair{atoms: atoms, infinite: infinite, null: null}
}
