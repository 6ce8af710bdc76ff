// SPDX-License-Identifier: Apache-2.0

package record

import (
	"sync"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Charges reads encoded charges with their digests. Jobs send the same few again and again, so it knows some by their
// bytes. Nobody changes an action, so many entries may have the same one. It is safe for concurrent use.
type Charges struct {
	reader *wire.Charges
	most   int

	mu    sync.RWMutex
	known map[string]digested
}

type digested struct {
	charge ledger.Action
	digest ledger.Digest
}

// maxKnownCharge is up to how many bytes an encoded charge is kept.
const maxKnownCharge = 1 << 10

// NewCharges returns a reader of the charges of ledgers with this adjacency, which knows at most so many of them and
// of their events.
func NewCharges(adj mechanism.Adjacency, most int) *Charges {
	return &Charges{reader: wire.NewCharges(adj, most), most: most, known: map[string]digested{}}
}

// newStoredCharges returns a reader of charges in entries.
func newStoredCharges() *Charges {
	return &Charges{reader: wire.NewStoredCharges(), most: 64, known: map[string]digested{}}
}

// Charge reads an encoded charge as wire.Charges does.
func (c *Charges) Charge(body []byte) (ledger.Action, ledger.Digest, bool) {
	c.mu.RLock()
	known, ok := c.known[string(body)]
	c.mu.RUnlock()
	if ok {
		return known.charge, known.digest, true
	}
	v, ok := c.reader.Charge(body)
	if !ok {
		return nil, ledger.Digest{}, false
	}
	known = digested{v, Digest(v)}
	if len(body) <= maxKnownCharge {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.known) == c.most { // what is still in use is soon here again
			clear(c.known)
		}
		c.known[string(body)] = known
	}
	return known.charge, known.digest, true
}
