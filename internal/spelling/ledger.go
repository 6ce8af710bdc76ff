// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"strconv"
	"strings"
	"unicode"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Policy says what guards a ledger.
func Policy(spec *accountantv1.LedgerSpec) string {
	switch spec.GetPolicy() {
	case accountantv1.LedgerSpec_PLAN:
		return "plan: only its events, in any order"
	case accountantv1.LedgerSpec_FILTER:
		return "filter: whatever keeps within its budgets"
	}
	return "descriptive: nothing is refused"
}

// State is whether a ledger takes charges.
func State(l *accountantv1.Ledger) string {
	switch {
	case l.GetClosed():
		return "closed"
	case l.GetNeedsReconciling():
		return "needs reconciling"
	}
	return "open"
}

// Identifier is a dataset's identifier. Letters of different alphabets can look alike, so one that is not
// ASCII alone has its characters' numbers beside it.
func Identifier(id string) string {
	if strings.ContainsFunc(id, func(r rune) bool { return r > unicode.MaxASCII }) {
		return id + " (" + strconv.QuoteToASCII(id) + ")"
	}
	return id
}

// Reference writes a version of a dataset as flags take it.
func Reference(r *accountantv1.DatasetReference) string {
	if r.GetVersion() == "" {
		return r.GetId()
	}
	return r.GetId() + "@" + r.GetVersion()
}
