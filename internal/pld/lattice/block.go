// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// block is several releases of losses with few atoms as one pair, all
// outcomes listed. Where the atoms' distances have no common divisor, a lattice
// would be wrong by O(h) in each of the releases; in the block the outcomes lie
// so close that it is wrong by O(h²), once. See docs/math/lattice.md §3.7.
type block struct {
	atoms    []loss.Mass // by increasing loss
	infinite float64
}

// Bounds: a block's outcomes, the blocks, the outcomes listed to make them.
const mostOutcomes, mostBlocks, mostListed = 2048, 32, 30000

func (b block) Ends(_, _ float64) (lo, hi float64) {
	return b.atoms[0].Loss, b.atoms[len(b.atoms)-1].Loss
}

func (b block) Cells(_ []float64, cells []loss.Mass) (slack float64) {
	for i := range cells {
		cells[i] = loss.Mass{LogP: math.Inf(-1)}
	}
	return 0
}

func (b block) Atoms() []loss.Mass { return b.atoms }
func (b block) Infinite() float64  { return b.infinite }

// Null is not asked for: blocks are not sampled.
func (b block) Null() float64 { return 0 }

func (b block) Anchor() float64 {
	return slices.MaxFunc(b.atoms, func(x, y loss.Mass) int { return cmp.Compare(x.LogP, y.LogP) }).Loss
}

// outcomesOf is how many outcomes power lists for n releases of a loss with k
// atoms, +Inf for a number of atoms that it does not take.
func outcomesOf(k int, n float64) float64 {
	switch k {
	case 2:
		return n + 1
	case 3:
		return (n + 1) * (n + 2) / 2
	}
	return math.Inf(1)
}

// power lists the outcomes of n releases of a pair with two or three atoms.
func power(p loss.Pair, n float64) block {
	atoms := p.Atoms()
	last := atoms[len(atoms)-1]
	b := block{infinite: -math.Expm1(n * math.Log1p(-p.Infinite()))}
	for i := 0.0; i <= n; i++ {
		// i of the first kind, j of the second where there are three.
		choose, err := logChoose(n, i)
		first := times(atoms[0], i).with(loss.Mass{LogP: choose, LogErr: err})
		if len(atoms) == 2 {
			b.atoms = append(b.atoms, first.with(times(last, n-i).Mass).Mass)
			continue
		}
		for j := 0.0; i+j <= n; j++ {
			choose, err := logChoose(n-i, j)
			second := times(atoms[1], j).with(loss.Mass{LogP: choose, LogErr: err})
			b.atoms = append(b.atoms, first.with(second.Mass).with(times(last, n-i-j).Mass).Mass)
		}
	}
	return b.merged()
}

// logChoose is ln C(n, k).
func logChoose(n, k float64) (value, err float64) {
	value, err = num.LogBinomialMass(k, n, 0.5, 0.5)
	return value + n*math.Ln2, err + num.Ulp*(4*n+2*math.Abs(value))
}

// product is an outcome of several releases.
type product struct{ loss.Mass }

func times(m loss.Mass, n float64) product {
	if n == 0 {
		return product{}
	}
	return product{loss.Mass{
		LogP: n * m.LogP, Loss: n * m.Loss,
		LogErr: n * (m.LogErr + num.Ulp*math.Abs(m.LogP)), LossErr: n * (m.LossErr + num.Ulp*math.Abs(m.Loss)),
	}}
}

func (a product) with(b loss.Mass) product {
	return product{loss.Mass{
		LogP: a.LogP + b.LogP, Loss: a.Loss + b.Loss,
		LogErr:  a.LogErr + b.LogErr + num.Ulp*math.Abs(a.LogP+b.LogP),
		LossErr: a.LossErr + b.LossErr + num.Ulp*math.Abs(a.Loss+b.Loss),
	}}
}

// times lists the outcomes of both blocks together.
func (b block) times(o block) block {
	all := block{
		atoms:    make([]loss.Mass, 0, len(b.atoms)*len(o.atoms)),
		infinite: b.infinite + o.infinite - b.infinite*o.infinite,
	}
	for _, x := range b.atoms {
		for _, y := range o.atoms {
			all.atoms = append(all.atoms, product{x}.with(y).Mass)
		}
	}
	return all
}

// block gathers terms of few atoms into blocks where no step serves them all.
// The order of releases does not matter, and a block's pair is their product.
func (p *problem) block() {
	var few []int // indices of terms that can be in a block
	var spans []float64
	for i := range p.terms {
		t := &p.terms[i]
		if !t.atomic || len(t.spans) == 0 {
			continue
		}
		for _, s := range t.spans {
			if len(spans) < 64 &&
				!slices.ContainsFunc(spans, func(o float64) bool { return math.Abs(s-o) <= 1e-12*s }) {
				spans = append(spans, s)
			}
		}
		if t.discrete && outcomesOf(len(t.upper.Atoms()), t.count) <= mostOutcomes &&
			len(t.lower.Atoms()) == len(t.upper.Atoms()) {
			few = append(few, i)
		}
	}
	if len(spans) < 2 || len(spans) < 3 && p.atomic() || commensurate(spans) {
		return
	}
	slices.SortStableFunc(few, func(a, b int) int { return cmp.Compare(p.terms[b].count, p.terms[a].count) })
	gone := make([]bool, len(p.terms))
	// The powers' outcomes, of as many terms as the bound allows.
	var more, fewer []block
	listed := 0
	for k, i := range few {
		t := &p.terms[i]
		if listed += int(outcomesOf(len(t.upper.Atoms()), t.count)); listed > mostListed {
			few = few[:k]
			break
		}
		more, fewer = append(more, power(t.upper, t.count)), append(fewer, power(t.lower, t.count))
	}
	var upper, lower []block
	for left := len(few); left > 0 && len(upper) < mostBlocks; {
		up, low := block{atoms: []loss.Mass{{}}}, block{atoms: []loss.Mass{{}}}
		for k, i := range few {
			if gone[i] || max(len(up.atoms)*len(more[k].atoms), len(low.atoms)*len(fewer[k].atoms)) > mostOutcomes {
				continue
			}
			gone[i] = true
			left--
			up, low = up.times(more[k]).merged(), low.times(fewer[k]).merged()
		}
		// Their few roundings are far within 1e-13.
		up.infinite, low.infinite = up.infinite*(1+1e-13), low.infinite*(1-1e-13)
		upper, lower = append(upper, up), append(lower, low)
	}
	kept := p.terms[:0]
	for i, t := range p.terms {
		if !gone[i] {
			kept = append(kept, t)
		}
	}
	p.terms, p.releases = kept, 0
	for _, t := range p.terms {
		p.releases += t.count
	}
	p.distinct = len(p.terms) + len(upper)
	for i := range upper {
		p.add(upper[i], lower[i], 1)
	}
}

// merged is the block by increasing loss, equal ones as one.
func (b block) merged() block {
	slices.SortFunc(b.atoms, func(x, y loss.Mass) int { return cmp.Compare(x.Loss, y.Loss) })
	all := b.atoms[:1]
	for _, x := range b.atoms[1:] {
		last := &all[len(all)-1]
		if d := x.Loss - last.Loss; d > last.LossErr+x.LossErr {
			all = append(all, x)
		} else {
			log := num.LogAddExp(last.LogP, x.LogP)
			last.LogErr = math.Max(last.LogErr, x.LogErr) + num.Ulp*4*math.Max(math.Abs(last.LogP), math.Abs(x.LogP))
			last.LogP, last.LossErr = log, math.Max(last.LossErr, x.LossErr+d)
		}
	}
	b.atoms = all
	return b
}

// commensurate: some step not far below the smallest divides all.
func commensurate(spans []float64) bool {
	least := slices.Min(spans)
	for k := 1.0; k <= 64; k++ {
		fits := true
		for _, s := range spans {
			n := s / least * k
			fits = fits && math.Abs(n-math.Round(n)) < 1e-9*n
		}
		if fits {
			return true
		}
	}
	return false
}
