// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"sync"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// caps remembers what one charge may cost of the budgets of datasets, which other daemons may change. It is safe for
// concurrent use.
type caps struct {
	store ledger.Store
	known sync.Map // names of datasets' records → known
}

// known is the cap of a dataset at a position of its record.
type known struct {
	at  ledger.Head
	cap *ledger.ChargeCap
}

// maxNewer bounds the entries that are looked through for amendments.
const maxNewer = 500

// of returns the cap of a dataset, nil if it has none, as it is when its record's head is newest. It reads the
// store only if the head has moved, and the whole record only if an entry has amended the dataset.
func (c *caps) of(name string, newest ledger.Head) (*ledger.ChargeCap, error) {
	if found, ok := c.known.Load(name); ok {
		k := found.(known)
		if k.at == newest || c.unchanged(name, k.at, newest) {
			c.known.Store(name, known{newest, k.cap})
			return k.cap, nil
		}
	}
	snapshot, err := c.store.Load(name)
	if err != nil {
		return nil, err
	}
	state := ledger.NewState(snapshot)
	k := known{state.Summary().Head, state.ChargeCap()}
	c.known.Store(name, k)
	return k.cap, nil
}

// unchanged reports whether no entry between two heads has amended the dataset.
func (c *caps) unchanged(name string, from, to ledger.Head) bool {
	if to.Position <= from.Position || to.Position-from.Position > maxNewer {
		return false
	}
	records, err := c.store.Records(name, from.Position+1, int(to.Position-from.Position))
	if err != nil || len(records) == 0 || records[0].Previous != from.Hash ||
		records[len(records)-1].Hash != to.Hash {
		return false
	}
	for _, r := range records {
		if r.Entry.Amends() {
			return false
		}
	}
	return true
}
