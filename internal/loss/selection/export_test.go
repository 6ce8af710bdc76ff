// SPDX-License-Identifier: Apache-2.0

package selection

import "github.com/dpaccountant/accountant/internal/loss"

// BestOf is ln(1 + C·(e^k − 1)) for log = ln C.
func BestOf(log, k float64) float64 { return bestOf(log, k) }

// MeanOf is E[n] of the best of several runs.
func MeanOf(l loss.Loss) float64 { return l.(selection).mean }
