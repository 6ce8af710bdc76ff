// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"math"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// mostRuns bounds the mean number of runs that is read.
const mostRuns = 1e9

// repeated reads how the number of runs is distributed, by its mean and shape: 0 is the
// logarithmic, 1 the geometric and infinity the Poisson distribution, others are the truncated
// negative binomial distribution of that η. γ is rounded down: more runs.
func (r *dpEventReader) repeated(n node) (*pb.Mechanism, error) {
	least, eta, poisson := 1.0, 0.0, n.fields["shape"] == infinity
	if poisson {
		least = 0
	} else {
		var err error
		if eta, err = toNumber(n.path+".shape", n.fields["shape"]); err != nil || !(eta >= 0 && eta <= mostRuns) {
			return nil, bad(n.path+".shape", text(n.fields["shape"]), "a number from 0, the logarithmic distribution, "+
				"to 1e9, or Infinity, the Poisson distribution")
		}
	}
	mean, err := toNumber(n.path+".mean", n.fields["mean"])
	if err == nil && !(mean > least && mean <= mostRuns) {
		err = bad(n.path+".mean", text(n.fields["mean"]),
			"a number > "+text(least)+", at most 1e9: how often the mechanism runs on average")
	}
	if err != nil {
		return nil, err
	}
	m, err := r.within(n)
	if err != nil || m == nil {
		return nil, err
	}
	best := &pb.RepeatAndSelect{Mechanism: m}
	if poisson {
		best.Mean = &mean
	} else {
		gamma := gammaOf(mean, eta)
		best.Gamma = &gamma
		if eta != 0 {
			best.Eta = &eta
		}
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_RepeatAndSelect{RepeatAndSelect: best}}, nil
}

func (w *dpEventWriter) repeated(m mechanism.RepeatAndSelect) (object, bool) {
	switch {
	case w.adj == mechanism.ReplaceOne:
		return w.refuse(m, "only RdpAccountant knows repetitions, and it takes REPLACE_ONE's distance for the noise "+
			"multiplier's sensitivity")
	case m.FirstAboveThreshold:
		return w.refuse(m, "dp_accounting has no event for runs until a threshold is reached")
	case m.Eta < 0:
		return w.refuse(m, "dp_accounting knows no shape below 0")
	case m.Mean > 0 && m.Mean < 1:
		return w.refuse(m, "dp_accounting knows no mean below 1")
	}
	inside, ok := w.one(m.Mechanism)
	if !ok {
		return inside, false
	}
	if inside.fails {
		return w.refuse(m, "RdpAccountant adds the δ of what is repeated once, however often it runs")
	}
	e, mean, shape := event("RepeatAndSelect"), m.Mean, number(m.Eta)
	switch {
	case m.Mean > 0:
		shape = number(math.Inf(1))
	case m.Eta == 1:
		mean = reciprocalUp(m.Gamma)
	default:
		mean = meanRuns(m.Gamma, m.Eta) * (1 + slackRuns)
	}
	if math.IsInf(mean, 1) {
		return w.refuse(m, "the mean number of runs is beyond a float64")
	}
	e.Event, e.Mean, e.Shape, w.rdp = &inside, &mean, &shape, true
	return e, true
}

// slackRuns is above the relative error of meanRuns.
const slackRuns = 1e-12

// meanRuns is the mean of the truncated negative binomial distribution, with x = ln(1/γ):
// η(e^x − 1)/(1 − e^{−ηx}), which is (e^x − 1)/x for η = 0 (Papernot and Steinke 2022, arXiv
// 2110.03620v2, Def. 1).
func meanRuns(gamma, eta float64) float64 {
	x := -math.Log1p(gamma - 1) // exact where γ ≥ 1/2, where it counts
	if gamma < 0.5 {
		x = -math.Log(gamma)
	}
	odds := (1 - gamma) / gamma
	if eta == 0 || eta*x < 1e-300 {
		return odds / x
	}
	return odds * eta / -math.Expm1(-eta*x)
}

// gammaOf is γ rounded down, at which the mean number of runs is no less than mean > 1.
func gammaOf(mean, eta float64) float64 {
	if eta == 1 {
		return ratioDown(1, mean)
	}
	// meanRuns falls with γ. Halving exponents first, then the interval, meets every float64.
	low, high := 0x1p-1022, 1.0
	for range 200 {
		mid := (low + high) / 2
		if low < high/4 {
			mid = math.Sqrt(low) * math.Sqrt(high)
		}
		if mid <= low || mid >= high {
			break
		}
		if meanRuns(mid, eta) >= mean*(1+slackRuns) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
