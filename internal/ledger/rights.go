package ledger

import (
	"math/big"
	"strings"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Unverified begins the principal of a caller that said who it is, where nothing
// proves that.
const Unverified = "unverified:"

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
	who := "only " + creator + ", or a caller"
	if strings.HasPrefix(creator, Unverified) {
		who = "nobody can prove to be that, so only a caller"
	}
	return refuse(ErrNotCreator, "ledger %s was created by %s: %s on the daemon's own socket (accountctl --server "+
		"unix:DIR/accountant.sock), may %s; you are %s",
		genesis.Spec.Name, creator, who, to, caller)
}

// mostOfAll reports whether parts are more than half of all that the ledger allows, used
// or not: of the plan's applications together, or of any budget.
func (d *draft) mostOfAll(parts []mechanism.Part) bool {
	if d.plan != nil {
		var asked, planned uint64 // below 2^63 each
		for _, p := range parts {
			asked += p.Count
		}
		for _, n := range d.plan {
			planned += n
		}
		if asked > planned-min(asked, planned) {
			return true
		}
	}
	half := new(big.Int).SetUint64(accountant.Whole / 2)
	for i := range d.limits {
		value, delta := new(big.Int), new(big.Int)
		for _, p := range parts {
			value, delta = d.line(p.Mechanism).need(i, p.Count, value, delta)
		}
		if value == nil || value.Cmp(half) > 0 || delta.Cmp(half) > 0 {
			return true
		}
	}
	return false
}
