// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Answerable returns nil if m, which must have passed Check under adj, has a privacy loss, and
// otherwise why it has none: then no question about a composition with it has an answer. in, which
// may be nil, interrupts the making of the loss.
func Answerable(m mechanism.Mechanism, adj mechanism.Adjacency, in *num.Interrupt) error {
	_, err := kinds.ComposeWithin(mechanism.Composition{Adjacency: adj,
		Parts: []mechanism.Part{{Mechanism: m, Count: 1}}}, in)
	return err
}
