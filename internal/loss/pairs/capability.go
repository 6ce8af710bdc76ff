// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/poisson"
)

// What the pairs have beside a loss's methods.
var (
	_ loss.Gaussian      = gaussian{}
	_ loss.Closed        = laplace{}
	_ loss.Response      = Response{}
	_ loss.Ranked        = boundedRange{}
	_ poisson.Sampleable = laplace{}
	_ poisson.Sampleable = Response{}
)
