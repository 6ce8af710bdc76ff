// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// cutting holds the chances of a record in a Poisson sample that is cut to B records
// (docs/math/batches.md §1.10). Where a neighbour has a record more or less, they hold for
// either number of other records.
type cutting struct {
	// least and most enclose τ, the probability that B or more other records are drawn;
	// least < 1.
	least, most float64
	// rate is q′, from above: the probability that the record is drawn and kept, given that
	// B or more others are drawn.
	rate float64
	// kept is the probability that the record is drawn and kept, from below.
	kept float64
}

// chancesOfCutting computes them for a dataset of m.DatasetSize records.
func chancesOfCutting(m mechanism.TruncatedPoissonSampled, adj mechanism.Adjacency) cutting {
	q, b := m.Probability(), num.Count(m.MaximumBatchSize)
	fewest := num.Count(m.DatasetSize - 1)
	others := fewest
	if adj == mechanism.AddOrRemoveOne {
		others = num.Count(m.DatasetSize) // the record may be beyond what was counted
	}
	least, above := binomialTail(fewest, q, b)
	_, most := binomialTail(others, q, b)
	c := cutting{least: least, most: most, rate: q}
	// (B/(n+1))·P(Bin(n+1, q) > B) is the sum over N ≥ B of q·B/(N+1)·P(Bin(n, q) = N).
	if least > 0 {
		_, more := binomialTail(fewest+1, q, b+1)
		c.rate = math.Min(q, num.UpUlps(b/(fewest+1)*more/least, 8))
	}
	fewer, _ := binomialTail(others+1, q, b+1)
	if adj != mechanism.AddOrRemoveOne {
		most = above
	}
	c.kept = math.Max(0, num.DownUlps(q*(1-most)+b/(others+1)*fewer, 16))
	return c
}

// binomialTail encloses P(Bin(n, q) ≥ b), with an upper end that is at least 1e-300 where the
// probability is not 0, and a lower end below 1 where it is not 1.
func binomialTail(n, q, b float64) (least, most float64) {
	switch {
	case b <= 0:
		return 1, 1
	case b > n:
		return 0, 0
	case b > n*q:
		return binomialSum(n, q, 1-q, b)
	}
	down, up := binomialSum(n, 1-q, q, n-b+1)
	return math.Max(0, num.Down(1-up)), math.Min(1, num.Up(1-down))
}

// binomialSum encloses P(Bin(n, p) ≥ b), 1 ≤ b ≤ n, r = 1 − p: b is above the
// mean, so that the terms fall, by the factor (n−k)/(k+1)·p/r from each to the next.
func binomialSum(n, p, r, b float64) (least, most float64) {
	first, err := num.LogBinomialMass(b, n, p, r)
	low, high, down, up := 0.0, 0.0, 1.0, 1.0
	for k := b; ; k++ {
		low, high = low+down, high+up
		ratio := (n - k) / (k + 1) * p / r
		rising, falling := ratio*(1+8*num.Ulp), ratio*(1-8*num.Ulp)
		if terms := k - b + 1; terms >= 1<<14 || ratio == 0 || up*rising <= 1e-3*num.Ulp*(1-rising)*high {
			rest := math.Inf(1)
			if rising < 1 {
				rest = up * rising / (1 - rising) // a geometric series above what is left
			}
			low, high = low*(1-2*terms*num.Ulp), (high+rest)*(1+2*terms*num.Ulp)
			break
		}
		down, up = down*falling, up*rising
	}
	least = num.DownUlps(num.ExpDown(num.DownBy(first, err))*low, 4)
	most = num.UpUlps(num.ExpUp(num.UpBy(first, err))*high, 4)
	return math.Max(0, least), math.Min(1, math.Max(most, 1e-300))
}
