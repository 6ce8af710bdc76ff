// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math/big"

	"github.com/dpaccountant/accountant/internal/num"
)

// MaxBuckets bounds the answers of a randomized response. Above it the
// probabilities of single answers lose their digits.
const MaxBuckets = 1 << 40

// RandomizedResponse reports one of Buckets answers (0 stands for 2): the true
// one with probability 1 − ν + ν/k, each of the others with ν/k. It is given by
// Epsilon, the log ratio of the two, or by Noise = ν.
type RandomizedResponse struct {
	// ε0 = ln((1 − ν + ν/k)/(ν/k)); > 0
	Epsilon float64 `field:"1" role:"loss" range:">0"`
	// ν: probability that the answer is drawn uniformly; (0, 1)
	Noise float64 `field:"2" role:"probability" range:"(0,1)"`
	// k, 2 … MaxBuckets; required with Noise, otherwise 2 unless given
	Buckets uint64 `field:"3" role:"shape" range:"2..2^40"`
}

// Kind is "randomized_response".
func (RandomizedResponse) Kind() string { return "randomized_response" }

func (RandomizedResponse) number() int { return 4 }

func (RandomizedResponse) aliases() []string { return []string{"rr", "randomisedresponse"} }

// Check implements Mechanism: the answer exists only while the record does, so
// it is defined under REPLACE_ONE and ZERO_OUT only. Under ZERO_OUT the null record has
// to answer too; every answer and statement names that assumption.
func (r RandomizedResponse) Check(adj Adjacency) error {
	one, err := exactlyOne("randomized_response", given{"epsilon", r.Epsilon}, given{"noise", r.Noise})
	if err != nil {
		return err
	}
	if one.name == "epsilon" {
		err = checkPositive("randomized_response.epsilon", r.Epsilon)
	} else {
		err = checkProbability("randomized_response.noise", r.Noise, true)
		if err == nil && r.Buckets == 0 {
			err = &ParameterError{"randomized_response.buckets", "missing", "a whole number from 2 to 2^40, with noise"}
		}
	}
	if err == nil && (r.Buckets == 1 || r.Buckets > MaxBuckets) {
		err = &ParameterError{"randomized_response.buckets", fmt.Sprint(r.Buckets), "a whole number from 2 to 2^40"}
	}
	if err == nil {
		err = checkAdjacency(adj)
	}
	if err == nil && adj == AddOrRemoveOne {
		err = &AdjacencyError{"randomized_response", adj,
			"a record's own answer is missing when the record is",
			"pure_dp with its epsilon, if that is what was proven"}
	}
	return err
}

// assumes implements assuming. If the null record gave no answer, a missing answer would
// tell which of two neighbours the dataset is, whatever the noise.
// See docs/math/cumulant.md §1.1.3.
func (RandomizedResponse) assumes(adj Adjacency) string {
	if adj != ZeroOut {
		return ""
	}
	return "Under ZERO_OUT the null record takes part in randomized_response as every record does: " +
		"it has one of the k true answers and reports it with the same noise. Where a null record gives no answer " +
		"this is not private at all."
}

// K is the number of possible answers.
func (r RandomizedResponse) K() uint64 { return max(r.Buckets, 2) }

func (r RandomizedResponse) String() string {
	if r.Noise != 0 {
		return fmt.Sprintf("randomized_response(noise %s, %d buckets)", atLeast(r.Noise), r.K())
	}
	return fmt.Sprintf("randomized_response(ε=%s, %d buckets)", atMost(r.Epsilon), r.K())
}

// exactEpsilon is known where ε was reported and not the noise.
func (r RandomizedResponse) exactEpsilon(Adjacency) (*big.Rat, bool) {
	if r.Noise != 0 {
		return nil, false
	}
	return num.Decimal(r.Epsilon), true
}

func (RandomizedResponse) places() place {
	return inGroup | inSampledGroup | onPoissonSample | onReport
}
