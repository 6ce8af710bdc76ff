// SPDX-License-Identifier: Apache-2.0

package questions

import "github.com/dpaccountant/accountant/internal/ledger"

// GuaranteeText says what a number means that was given under a guarantee.
func GuaranteeText(guarantee string) string {
	switch guarantee {
	case ledger.GuaranteePlan:
		return "It holds for the whole plan, however much of it is run and in whatever order."
	case ledger.GuaranteeFilter:
		return "It holds for the whole budget, however it is spent, also if what was run depended on earlier outputs."
	}
	return "It holds for what was charged or is reserved so far, if neither what was run, nor its parameters, nor " +
		"when it stopped depended on outputs."
}

// SpentText says what the ε of what was spent so far means.
const SpentText = "Every ε is rounded up. The ε spent so far holds only if neither what was run, nor its " +
	"parameters, nor when it stopped depended on outputs; the guaranteed ε holds as each guarantee says."
