// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/allocation"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/num"
)

// lastBatch is the loss of an attacker who sees the answers of all batches under ADD_OR_REMOVE_ONE, in
// cells. Without the record all answers are at 0. With it, and with the probability share, the last one
// is at μ. Otherwise the last one is at −μ, as one record more is in another batch, and one of the others
// is at 2μ. Of these others rest is the pair, from below (docs/math/shuffling.md §1.8.5.4).
func lastBatch(rest allocation.Pair, mu, share float64, in *num.Interrupt) loss.Loss {
	in.Spend(lastCells * len(rest.Losses) * lastWork)
	logShare, logOthers := math.Log(share), math.Log1p(-share)
	type answer struct{ log, here, elsewhere float64 } // ln Q of a cell, and ln P/Q without the others' part
	var answers []answer
	low, high := math.Inf(1), math.Inf(-1)
	lowest, highest := rest.Losses[0], rest.Losses[len(rest.Losses)-1]
	for i := range lastCells {
		from, to := math.Inf(-1), math.Inf(1)
		if i > 0 {
			from = lastReach * (2*float64(i-1)/(lastCells-2) - 1)
		}
		if i < lastCells-1 {
			to = lastReach * (2*float64(i)/(lastCells-2) - 1)
		}
		q := logBetween(from, to)
		a := answer{q, logShare + logBetween(from-mu, to-mu) - q, logOthers + logBetween(from+mu, to+mu) - q}
		answers = append(answers, a)
		low = math.Min(low, num.LogAddExp(a.here, a.elsewhere+lowest))
		high = math.Max(high, num.LogAddExp(a.here, a.elsewhere+highest))
	}
	p, q := make([]float64, lastBins), make([]float64, lastBins)
	for j, l := range rest.Losses {
		massQ := rest.Masses[j] * math.Exp(-l)
		for _, a := range answers {
			loss := num.LogAddExp(a.here, a.elsewhere+l)
			bin := max(0, min(int((loss-low)/(high-low)*lastBins), lastBins-1))
			m := massQ * math.Exp(a.log)
			q[bin] += m
			p[bin] += m * math.Exp(loss)
		}
	}
	var losses, masses []float64
	for i := range p {
		if q[i] > 1e-290 && p[i] > 1e-290 {
			losses, masses = append(losses, math.Log(p[i])-math.Log(q[i])), append(masses, p[i])
		}
	}
	err := num.Up(cellErr + rest.MassErr + rest.LossErr)
	return declared.Computed("shuffled batches", losses, masses, 0, 0, err, 2*err)
}

// lastCells is how many cells the last answer is put into, from −lastReach to lastReach and what is beyond;
// lastBins into how many the likelihood ratios of all answers are gathered; and lastWork about what one
// ratio takes in nanoseconds.
const lastCells, lastReach, lastBins, lastWork = 400, 12, 2000, 40

// logBetween is ln(Φ(to) − Φ(from)), within cellErr/10 for cells as wide as those of lastBatch.
func logBetween(from, to float64) float64 {
	if from > 0 {
		from, to = -to, -from
	}
	a, b := num.LogNormalCDF(from), num.LogNormalCDF(to)
	if math.IsInf(from, -1) {
		return b
	}
	return b + num.Log1mExp(b-a)
}
