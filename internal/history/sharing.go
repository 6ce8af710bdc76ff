// SPDX-License-Identifier: Apache-2.0

package history

import (
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Share is what a ledger has charged alone, or together with the ledgers of one set.
type Share struct {
	Set     string // "" if the ledger was charged alone
	Part    *ledger.SetPart
	Charged []mechanism.Part
	Used    []mechanism.Part // with what is reserved
}

// Sharing returns what Groups by set have found. It is not whole for a ledger that has had children: what these have
// charged together with others is written down in their own entries. Nor is it for a ledger that has lost a charge to
// several ledgers, or has committed alone what was set aside in each of several: nobody knows whether the others have
// the same release.
func (g *Groups) Sharing() (list []Share, whole bool) {
	whole = true
	for _, group := range g.groups {
		whole = whole && (!group.Unnamed || group.Name == "alone")
		s := Share{Part: group.Set}
		if group.Set != nil {
			s.Set = group.Name
		}
		for _, c := range group.cells {
			m := g.mechanisms[c.mechanism]
			if c.charged > 0 {
				s.Charged = append(s.Charged, mechanism.Part{Mechanism: m, Count: c.charged})
			}
			if n := c.charged + c.reserved; n > 0 {
				s.Used = append(s.Used, mechanism.Part{Mechanism: m, Count: n})
			}
		}
		list = append(list, s)
	}
	return list, whole
}
