// SPDX-License-Identifier: Apache-2.0

package sampling

import "github.com/dpaccountant/accountant/internal/loss"

// Kinds run on a sample of the records.
func Kinds() []loss.Kind {
	return []loss.Kind{
		loss.KindOf(ofPoissonSampled),
		loss.KindOf(ofFixedSize),
		loss.KindOf(ofTruncatedPoisson),
		loss.KindOf(ofShuffled),
		loss.KindOf(ofMixture),
		loss.Or(loss.KindOf(ofAllocation), ofAllocations),
		loss.Or(loss.KindOf(ofSampledMatrix), ofSampledMatrices),
		loss.KindOf(ofAllocatedMatrix),
		loss.KindOf(ofShuffledReports),
	}
}

// What the kinds have beside a loss's methods.
var (
	_ = []loss.Stepped{sampledGaussian{}, gaussianMixture{}, sampledLoss{}, truncatedPoisson{}}
	_ = []loss.Estimated{sampledGaussian{}, gaussianMixture{}}
	_ = []loss.Closed{sampledGaussian{}, gaussianMixture{}}
)
