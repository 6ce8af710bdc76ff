// SPDX-License-Identifier: Apache-2.0

package spelling

import pb "github.com/dpaccountant/accountant/gen/accountant/v1"

// LargestShare is how much of a ledger's budget a group has used, of that of which it has used most, and what that
// budget is. It is nil where there is no budget.
func LargestShare(r *pb.LedgerSpending) (share *float64, of string) {
	for i, s := range r.GetGroup().GetShares() {
		if share == nil || s > *share {
			share = &s
			if of = ""; i < len(r.GetBudgets()) {
				of = r.GetBudgets()[i]
			}
		}
	}
	return share, of
}
