// SPDX-License-Identifier: Apache-2.0

package ledger

import "strings"

// mayDispose refuses what only the ledger's creator may do, unless the request comes from it.
// Until there are roles the creator is known by its principal, so this holds where
// principals are proven: for a proven caller, and for a ledger whose creator is proven.
// Where neither is, anybody may say that they are the creator.
func (b *Batch) mayDispose(to string) error {
	genesis := b.state.summary.Genesis
	creator, caller := genesis.Principal, b.request.Caller
	if caller == "" || caller == creator ||
		strings.HasPrefix(creator, Unverified) && strings.HasPrefix(caller, Unverified) {
		return nil
	}
	who := "only " + creator + " may, or the daemon's owner"
	if strings.HasPrefix(creator, Unverified) {
		who = "as nobody can prove to be that, only the daemon's owner may,"
	}
	return refuse(ErrNotCreator, "you are %s and may not %s: ledger %s was created by %s; %s with %s",
		caller, to, genesis.Spec.Name, creator, who, OwnSocket)
}
