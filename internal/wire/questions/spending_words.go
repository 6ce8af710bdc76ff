// SPDX-License-Identifier: Apache-2.0

package questions

// SpendingText says what the numbers of an answer about spending mean.
func SpendingText(shares bool) string {
	text := "Each ε is what the group would have spent if it were alone, rounded up. These ε do not add up: together " +
		"the groups cost what the total says. They hold only if neither what was run, nor its parameters, nor when " +
		"it stopped depended on outputs."
	if shares {
		text += " The shares of a budget add up to the total's, apart from rounding: a guard adds what each charge " +
			"costs."
	}
	return text
}
