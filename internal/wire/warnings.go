// SPDX-License-Identifier: Apache-2.0

package wire

// The names of warnings. They are stored in ledgers, so they never change.
const (
	LargeDelta     = "large-delta"
	Shuffled       = "shuffled"
	NameAndShame   = "name-and-shame"
	PlanOverBudget = "plan-over-budget"
)

// WarningNames are the names of all warnings that can be acknowledged.
var WarningNames = []string{LargeDelta, Shuffled, NameAndShame, PlanOverBudget}
