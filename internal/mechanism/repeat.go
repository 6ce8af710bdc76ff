// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
)

// mostRepetitions bounds η and the Poisson mean.
const mostRepetitions = 1e9

// RepeatAndSelect runs Mechanism a random number of times, each run afresh, and
// publishes only the best output, best being told from the outputs alone: the tuning of
// hyperparameters (Papernot–Steinke 2022, arXiv 2110.03620v2). How often is drawn from
//
//   - the truncated negative binomial distribution of η > −1 and γ, where 1 is the
//     geometric and 0, which stands for not given, the logarithmic distribution:
//     P(k) ∝ (1−γ)^k·Π_{l<k} (l+η)/(l+1), k ≥ 1 (Def. 1), or
//   - the Poisson distribution of a mean (Thm 6); with no run the output is a constant.
//
// With FirstAboveThreshold it publishes the first output that is good enough, and after each
// run that is not it ends with probability γ (Liu–Talwar 2019, arXiv 1811.07971v1, Alg. 1).
type RepeatAndSelect struct {
	// γ in (0, 1); 0 with Mean
	Gamma float64 `field:"2" role:"probability" range:"(0,1)"`
	// η > −1, at most 1e9; 0: the logarithmic distribution
	Eta float64 `field:"3" role:"shape" range:">-1"`
	// > 0, at most 1e9; alone
	Mean      float64   `field:"4" role:"shape" range:">0"`
	Mechanism Mechanism `field:"1" role:"inside"`

	FirstAboveThreshold bool `field:"5" role:"choice"`
}

// Kind is "repeat_and_select".
func (RepeatAndSelect) Kind() string { return "repeat_and_select" }

func (RepeatAndSelect) number() int { return 25 }

// Check implements Mechanism: defined where Mechanism is.
func (r RepeatAndSelect) Check(adj Adjacency) error {
	switch {
	case r.FirstAboveThreshold && (r.Mean != 0 || r.Eta != 0):
		return &ParameterError{"repeat_and_select.first_above_threshold", "given together with eta or mean",
			"gamma alone with first_above_threshold"}
	case r.Gamma == 0 && r.Mean == 0:
		return &ParameterError{"repeat_and_select.gamma", "missing or 0", "exactly one of gamma, mean"}
	case r.Gamma != 0 && r.Mean != 0:
		return &ParameterError{"repeat_and_select.mean", "given together with gamma", "exactly one of gamma, mean"}
	case r.Mean != 0:
		if err := checkPositive("repeat_and_select.mean", r.Mean); err != nil {
			return err
		}
		if r.Mean > mostRepetitions {
			return &ParameterError{"repeat_and_select.mean", number(r.Mean), "a number > 0, at most 1e9"}
		}
		if r.Eta != 0 {
			return &ParameterError{"repeat_and_select.eta", "given together with mean", "eta with gamma"}
		}
	default:
		if err := checkProbability("repeat_and_select.gamma", r.Gamma, true); err != nil {
			return err
		}
		if r.Eta != 0 && !(r.Eta > -1 && math.Abs(r.Eta) >= smallestNormal && r.Eta <= mostRepetitions) {
			return &ParameterError{"repeat_and_select.eta", number(r.Eta),
				"a number > -1, at most 1e9; absent for the logarithmic distribution"}
		}
	}
	if r.Mechanism == nil {
		return &ParameterError{"repeat_and_select.mechanism", "missing", "the mechanism that is repeated"}
	}
	if err := r.Mechanism.Check(adj); err != nil {
		if pe, ok := err.(*ParameterError); ok && pe.Field != "adjacency" {
			pe.Field = "repeat_and_select.mechanism." + pe.Field
		}
		return err
	}
	if kind := failsUnevenly(r.Mechanism); kind != "" {
		return &ParameterError{"repeat_and_select.mechanism", "a " + kind,
			"mechanisms that fail as often in both directions, or never"}
	}
	return nil
}

func (r RepeatAndSelect) String() string {
	switch {
	case r.FirstAboveThreshold:
		return fmt.Sprintf("repeat_and_select(first above a threshold, γ=%s, %v)", atLeast(r.Gamma), r.Mechanism)
	case r.Mean != 0:
		return fmt.Sprintf("repeat_and_select(Poisson of mean %s, %v)", atMost(r.Mean), r.Mechanism)
	}
	return fmt.Sprintf("repeat_and_select(η=%s, γ=%s, %v)", atMost(r.Eta), atLeast(r.Gamma), r.Mechanism)
}

// assumes implements assuming. A limit on the number of runs would tell far more
// (docs/math/best-of.md §1.6.7).
func (r RepeatAndSelect) assumes(Adjacency) string {
	if !r.FirstAboveThreshold {
		return ""
	}
	return "repeat_and_select, first above a threshold: the threshold does not depend on the data, how many runs " +
		"there were is not published, and nothing but the coin of probability gamma ends the runs early. If they " +
		"also end after n runs, name_and_shame with delta = (1 - gamma)^n is to be reported, too."
}

func (RepeatAndSelect) places() place { return nowhere }

func (r RepeatAndSelect) branches() (list []Mechanism, nested bool) {
	return []Mechanism{r.Mechanism}, false
}

func (r RepeatAndSelect) failsUnevenly() string { return unevenly(r.Mechanism) }
