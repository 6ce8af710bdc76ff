// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// GroupEpsilon bounds from above the ε that holds at delta for every size neighbours in a
// row, which is what size records of one person make: for what ask answers about. It knows nothing
// but its privacy curve. If a release is (ε, δ(ε))-DP for one record, then it is
//
//	(size·ε, δ(ε)·(e^(size·ε) − 1)/(e^ε − 1))-DP
//
// for size of them (Dwork and Roth 2014, Thm 2.2; Vadhan 2017, Lemma 2.2), whatever ε is; the search
// is for a small one whose δ is not above delta. The bound is +Inf where none is found. A mechanism that says
// more of groups has a better one: variant.ForGroup.
func GroupEpsilon(ask func(Question) (Answer, error), delta float64, size uint64, stop func() bool) (float64, error) {
	one, err := ask(Question{Delta: &delta, Stop: stop, rough: true})
	if err != nil {
		return math.Inf(1), err
	}
	holds := func(epsilon float64) (bool, error) {
		a, err := ask(Question{Epsilon: &epsilon, Stop: stop, rough: true})
		// GroupDelta is right within a relative 1e-12.
		return err == nil && mechanism.GroupDelta(epsilon, a.Delta, size)*(1+1e-11) <= delta, err
	}
	low := math.Max(one.Epsilon, 1e-9)
	high, ok := low, false
	for range 12 { // from the ε of one record on: below it not even one record's δ is small enough
		if math.IsInf(high, 1) {
			return high, nil
		}
		if ok, err = holds(high); ok || err != nil {
			break
		}
		low, high = high, 2*high
	}
	if !ok || err != nil {
		return math.Inf(1), err
	}
	for range 16 { // high always holds
		middle := low + (high-low)/2
		if ok, err = holds(middle); err != nil {
			break // what was found holds
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return num.MulUp(float64(size), high), nil
}
