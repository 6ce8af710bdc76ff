// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"fmt"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// LowerBound says what stands beside a lower bound.
const LowerBound = "no accountant can prove less"

// Guarantees says what each guarantee means.
var Guarantees = map[string]string{
	"descriptive": "holds if the parameters and the number of steps were fixed before any result was seen",
	"plan":        "holds for the whole plan, in any order and wherever it stops",
	"filter":      "holds for the whole budget, also if parameters depended on outputs",
}

// Assumptions says what an answer rests on beyond its guarantee, a line each.
func Assumptions(list []*accountantv1.Assumption) (lines []string) {
	for _, a := range list {
		text := a.GetText()
		if a.GetPosition() > 0 {
			text = fmt.Sprintf("entry %d: %s", a.GetPosition(), text)
		}
		lines = append(lines, text)
	}
	return lines
}
