// SPDX-License-Identifier: Apache-2.0

// Package kinds lists the kinds of mechanism that have a loss, and takes the losses of what was
// reported.
package kinds

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/compound"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/noise"
	"github.com/dpaccountant/accountant/internal/loss/sampling"
	"github.com/dpaccountant/accountant/internal/loss/selection"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// lists are the families' own entries: all kinds but those that mechanism.Expand takes apart.
var lists = [...][]loss.Kind{declared.Kinds(), noise.Kinds(), selection.Kinds(), sampling.Kinds(), compound.Kinds()}

var kinds = loss.NewKinds(lists[:]...)

// Of returns the loss of one application of m under adj. m must have passed
// Check(adj). A mechanism that is several releases has several losses (TermsWithin):
// Of has none.
func Of(m mechanism.Mechanism, adj mechanism.Adjacency) (loss.Loss, error) {
	return kinds.Under(adj, nil).Loss(m)
}

// TermsWithin returns the losses of one application of m under adj: of a mechanism that
// is several releases those of all of them, of every other one the loss that Of
// returns. m must have passed Check(adj). in interrupts the making of the losses.
func TermsWithin(m mechanism.Mechanism, adj mechanism.Adjacency, in *num.Interrupt) (loss.Composition, error) {
	return kinds.Under(adj, in).Terms(m)
}

// Compose takes the losses of c's mechanisms and merges equal ones. c must
// come from mechanism.Compose.
func Compose(c mechanism.Composition) (loss.Composition, error) { return ComposeWithin(c, nil) }

// ComposeWithin is Compose, and in interrupts the making of the losses.
func ComposeWithin(c mechanism.Composition, in *num.Interrupt) (loss.Composition, error) {
	return kinds.Under(c.Adjacency, in).Compose(c.Parts...)
}
