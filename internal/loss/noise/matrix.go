package noise

import (
	"math"
	"math/bits"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

func ofTree(m mechanism.TreeAggregation, adj mechanism.Adjacency) loss.Loss {
	sigma, distance := m.Ratio(adj)
	squares, exact := treeSensitivity(m.Participation)
	return pairs.TimesNorm(num.DivUp(distance, sigma), squares, exact)
}

func ofBanded(m mechanism.BandedMatrix, adj mechanism.Adjacency) loss.Loss {
	sigma, distance := m.Ratio(adj)
	squares, exact := bandedSensitivity(m.Coefficients.Values(), m.Participation)
	return pairs.TimesNorm(num.DivUp(distance, sigma), squares, exact)
}

// mostCounted bounds the participations that are counted one by one.
const mostCounted = 1 << 16

// treeSensitivity bounds, over all patterns of participation, the sum over the
// complete nodes of the square of the participations in each, and says whether a
// pattern has that. A node over 2^l steps holds at most ⌈2^l/separation⌉
// participations, and of all with as many together the most uneven are the most
// (docs/math/matrices.md §1.8.3). One participation has ⌊log2 steps⌋ + 1 nodes (Kairouz et al.
// 2021, arXiv 2103.00039, Thm 4.1).
func treeSensitivity(p mechanism.Participation) (squares float64, exact bool) {
	count, separation := p.Most()
	k := num.Count(count)
	var reached float64
	for level := range bits.Len64(p.Steps) {
		size, nodes := uint64(1)<<level, num.Count(p.Steps>>level)
		most := math.Min(k, num.Count((size-1)/separation+1))
		full := math.Floor(k / most)
		if full >= nodes {
			squares += nodes * most * most
		} else {
			rest := k - full*most
			squares += full*most*most + rest*rest
		}
		if count > mostCounted {
			continue
		}
		// The steps 0, separation, 2·separation, …
		var node, in uint64
		for a := range count {
			if at := (a * separation) >> level; at != node {
				reached += float64(in) * float64(in)
				node, in = at, 0
			}
			if node < p.Steps>>level {
				in++
			}
		}
		reached += float64(in) * float64(in)
	}
	exact = count <= mostCounted && reached >= squares
	if squares < 1<<53 { // whole numbers, so that nothing was rounded
		return squares, exact
	}
	return num.UpBy(squares, 512*num.Ulp*squares), exact
}

// bandedSensitivity bounds the square of max ‖Σ_{j∈π} ±C's column j‖ over all
// patterns π, C[i][i−u] = c_u, and says whether a pattern has that. Inner products of
// columns i < j are Σ_u c_u·c_{u+j−i} over u < steps−j. Where the separation is at
// least the bands they vanish, and else where c ≥ 0 falls they are the largest for
// π = 0, separation, 2·separation, … (Kalinin and Lampert 2024, arXiv 2405.13763,
// Thm 2; docs/math/matrices.md §1.8.2). Other c are replaced by the falling sequence
// max_{v≥u}|c_v| above them.
func bandedSensitivity(c []float64, p mechanism.Participation) (squares float64, exact bool) {
	for len(c) > 1 && c[len(c)-1] == 0 {
		c = c[:len(c)-1]
	}
	if num.Count(p.Steps) < float64(len(c)) {
		c = c[:p.Steps]
	}
	most, separation := p.Most()
	b, m := uint64(len(c)), num.Count(most)
	up := func(v float64) float64 { return num.UpBy(v, num.Ulp*(64+4*float64(b))*v) }
	if separation >= b {
		var column, last float64 // the last one may be cut
		left := p.Steps - (most-1)*separation
		for u, v := range c {
			column += v * v
			if uint64(u) < left {
				last += v * v
			}
		}
		return up((m-1)*column + last), true
	}
	exact = c[0] > 0
	above := make([]float64, b)
	for u := int(b) - 1; u >= 0; u-- {
		above[u] = math.Abs(c[u])
		if u+1 < int(b) {
			exact = exact && c[u+1] >= 0 && c[u] >= c[u+1]
			above[u] = math.Max(above[u], above[u+1])
		}
	}
	return up(rowSquares(above, p.Steps, most, separation)), exact
}

// rowSquares is Σ_t v_t², v_t = Σ_{a<m} c_{t−as} over the rows t < steps, for more
// bands than s.
func rowSquares(c []float64, steps, m, s uint64) (sum float64) {
	b := uint64(len(c))
	square := func(v float64) { sum += v * v }
	if m*s < b {
		for t := range min(steps, (m-1)*s+b) {
			var v float64
			for a := range min(m, t/s+1) {
				if u := t - a*s; u < b {
					v += c[u]
				}
			}
			square(v)
		}
		return sum
	}
	before, after := make([]float64, b), make([]float64, b) // Σ over u−s, u−2s, … and u+s, u+2s, …
	for u := range b {
		before[u] = c[u]
		if u >= s {
			before[u] += before[u-s]
		}
		after[b-1-u] = c[b-1-u]
		if u >= s {
			after[b-1-u] += after[b-1-u+s]
		}
	}
	for t := range min(b, steps) {
		square(before[t])
	}
	// Rows b to m·s − 1 repeat with period s.
	if end := min(m*s, steps); end > b {
		for r := range s {
			first := b + (r+s-b%s)%s
			if first < end {
				sum += num.Count((end-1-first)/s+1) * after[r] * after[r]
			}
		}
	}
	for u := s; u < b; u++ { // row (m−1)s + u
		if (m-1)*s+u < steps {
			square(after[u])
		}
	}
	return sum
}
