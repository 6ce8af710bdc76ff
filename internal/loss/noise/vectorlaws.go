// SPDX-License-Identifier: Apache-2.0

package noise

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/num"
)

// Bounds on the vectors whose ways to move are listed: on ⌊d²⌋, on the number of ways, on their laws' additions,
// and on σ, below which losses are too far apart for a table of them.
const (
	mostSquared  = 128
	mostWays     = 400
	mostLawWork  = 1e8
	leastListed  = 0.2
	workPerTerm  = 1   // nanoseconds for an addition
	deepestTable = 690 // −ln of the least probability in a table
)

// ways are the moves of a vector's coordinates that count: all lists of whole numbers a_1 ≥ a_2 ≥ … ≥ 1 with Σ a_i² ≤
// squared, no more of them than there are coordinates, of which none can be raised and to which none can be
// added. Every other way to move is dominated by one of them (docs/math/vectors.md §1.4.13.1).
// It returns false where there are too many.
func ways(squared, coordinates int) (all [][]int, ok bool) {
	var list func(so []int, most, left int) bool
	list = func(so []int, most, left int) bool {
		if left == 0 || len(so) == coordinates {
			if len(so) > 0 && 2*so[len(so)-1]+1 > left {
				all = append(all, append([]int(nil), so...))
			}
			return len(all) <= mostWays
		}
		for a := min(most, int(math.Sqrt(float64(left)))); a >= 1; a-- {
			if !list(append(so, a), a, left-a*a) {
				return false
			}
		}
		return true
	}
	ok = squared >= 1 && squared <= mostSquared && list(nil, squared, squared)
	return all, ok
}

// squaredOf is ⌊d²⌋, where a d² that is less than a whole number by rounding counts as that number.
func squaredOf(d float64) float64 { return math.Floor(num.MulUp(d, d) * (1 + 1e-12)) }

// vectorLaws are the laws of the loss Σ a_i(2z_i + a_i)/2σ² of every way to move, for independent z_i of the
// discrete Gaussian of parameter σ.
type vectorLaws struct {
	sigma   float64
	squared int
	ways    [][]int
}

// newVectorLaws returns false where the ways to move cannot be listed.
func newVectorLaws(sigma, d, coordinates float64) (v vectorLaws, ok bool) {
	squared := squaredOf(d)
	if !(squared >= 1 && squared <= mostSquared && sigma >= leastListed && sigma < 1<<20) {
		return v, false
	}
	v = vectorLaws{sigma: sigma, squared: int(squared)}
	v.ways, ok = ways(v.squared, int(math.Min(coordinates, squared)))
	return v, ok && v.work(deepestTable) <= mostLawWork
}

// reach is how far Σ a_i·z_i and each z_i are followed, with a probability of e^{−depth} beyond for all of them
// together: each is sub-Gaussian, P(|Σ a_i·z_i| > w) ≤ 2e^{−w²/2σ²Σa_i²}.
func (v vectorLaws) reach(depth float64) (sum, one int) {
	x := v.sigma * math.Sqrt(2*(depth+2+math.Log(float64(v.squared))))
	return int(math.Ceil(x*math.Sqrt(float64(v.squared)))) + 1, int(math.Ceil(x)) + 1
}

// work is about how many additions all laws take.
func (v vectorLaws) work(depth float64) float64 {
	sum, one := v.reach(depth)
	return 2 * float64(len(v.ways)) * float64(2*sum+1) * float64(2*one+1)
}

// Moves implements loss.Moved. Laws of ways that begin alike share what they have in common.
func (v vectorLaws) Moves(depth float64, in *num.Interrupt) (loss.Moves, bool) {
	in.Spend(int(v.work(depth) * workPerTerm))
	sum, one := v.reach(depth)
	noise, all := make([]float64, 2*one+1), 0.0
	for z := -one; z <= one; z++ {
		noise[z+one] = math.Exp(-float64(z) * float64(z) / (2 * v.sigma * v.sigma))
		all += noise[z+one]
	}
	for i := range noise {
		noise[i] /= all
	}
	m := loss.Moves{Unit: 1 / (2 * v.sigma * v.sigma), Stride: 2, Least: float64(v.squared), Tail: math.Exp(-depth)}
	norms := make([]int, len(v.ways))
	for i, way := range v.ways {
		for _, a := range way {
			norms[i] += a * a
		}
		m.Least, m.Most = math.Min(m.Least, float64(norms[i])), math.Max(m.Most, float64(norms[i]))
		if norms[i]%2 != norms[0]%2 {
			m.Stride = 1
		}
	}
	m.Reach = 2 * float64(sum)
	// e^{−z²/2σ²} is within 4 + 4·z²/2σ² Ulp, what is left out of the sum of all of them within e^{−depth}, and
	// an addition within an Ulp of its terms, which are all positive.
	far := float64(one) / v.sigma
	m.Err = float64(v.squared)*num.Ulp*(24+4*far*far+8*float64(one)) + 2*m.Tail*float64(v.squared)
	start := make([]float64, 2*sum+1)
	start[sum] = 1
	prefix := [][]float64{start} // the laws of the first 0, 1, … moves of the last way
	var last []int
	for i, way := range v.ways {
		same := 0
		for same < min(len(last), len(way)) && last[same] == way[same] {
			same++
		}
		for prefix = prefix[:same+1]; len(prefix) <= len(way); {
			prefix = append(prefix, moved(prefix[len(prefix)-1], noise, way[len(prefix)-1]))
		}
		last = way
		law := loss.Law{First: norms[i] - 2*sum, Masses: prefix[len(way)]}
		if m.Stride == 1 { // every second loss is another way's
			law.Masses = make([]float64, 4*sum+1)
			for j, p := range prefix[len(way)] {
				law.Masses[2*j] = p
			}
		}
		m.Laws = append(m.Laws, law)
	}
	return m, true
}

// moved is the law of a sum with a·z more, as far as the sum's law goes.
func moved(law, noise []float64, a int) []float64 {
	out := make([]float64, len(law))
	one := len(noise) / 2
	for j, w := range noise {
		shift := a * (j - one)
		if shift >= len(law) || -shift >= len(law) {
			continue
		}
		from, to := law[max(0, -shift):len(law)-max(0, shift)], out[max(0, shift):]
		for i, p := range from {
			to[i] += w * p
		}
	}
	return out
}
