// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"slices"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// Listen returns the store with a channel that says when another daemon may have recorded a policy. It says so from
// the time at which somebody, the keeper, asks the returned store for Changes; so the store tells of its changes once.
func Listen(shared fleet.Shared) (store fleet.Shared, changed <-chan struct{}) {
	c := make(chan struct{}, 1)
	return listened{shared, c}, c
}

type listened struct {
	fleet.Shared
	changed chan<- struct{}
}

// Changes implements fleet.Shared.
func (l listened) Changes(f func(names ...string)) (stop func()) {
	return l.Shared.Changes(func(names ...string) {
		if len(names) == 0 || slices.Contains(names, ledger.AccessLedger) {
			select {
			case l.changed <- struct{}{}:
			default: // whoever reads the first one finds both changes
			}
		}
		f(names...)
	})
}
