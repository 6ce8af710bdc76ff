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

// AnywhereText says what the numbers of an answer about spending in many ledgers mean.
func AnywhereText() string {
	return "Each row is about one ledger alone: its ε is what the group would have spent of it if it were alone, " +
		"rounded up, and its shares are of that ledger's budget. What different ledgers have is not added up here. " +
		"The statement of a dataset says what all that was released from its ledgers costs together; ledgers without " +
		"a common dataset may be about the same people or not, which no ledger knows. What is set aside for a child " +
		"ledger counts in the child, for whoever charges that. The numbers hold only if neither what was run, nor " +
		"its parameters, nor when it stopped depended on outputs."
}
