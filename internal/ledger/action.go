// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/dpaccountant/accountant/internal/mechanism"

// Action is what an entry does to its ledger. Each kind of action has a file of its
// own, which says what it is, how it is decided and what it changes. How it travels
// stands in package wire, how it is stored in package record.
//
// What it changes follows from its Details, which say what it moves, and from amend if it is an amendment.
type Action interface {
	// Kind is the name of the action's kind in the API and in stored bytes, such as "charge".
	Kind() string
	// Details returns what actions of several kinds have.
	Details() Details

	// decide refuses what b.request asks for, or returns nil and changes nothing but
	// this: it takes from the budgets what they will be charged (Batch.admit), and it
	// completes b.request.Action with what only the ledger knows.
	decide(b *Batch) error
}

// actions has an action without content of each kind. Whatever goes over all kinds goes over it.
var actions = [...]Action{
	Charge{}, Close{}, Reserve{}, Commit{}, Release{}, Expire{}, Free{}, Refund{}, Raise{}, Restored{}, Reconcile{},
	Acknowledge{}, Propose{}, Withdraw{}, AccessPolicy{}, Adopt{}, AmendDataset{},
	Together{}, Observe{},
}

// Assertion is a field of an action that its caller must set: without that the action is refused.
type Assertion struct{}

// Details are what actions of several kinds have, for whoever lists, filters, weighs or
// checks actions of any kind.
type Details struct {
	About  uint64            // the position of the reservation or of the entry that it is about; 0 for none
	Events []mechanism.Event // that it is about
	Labels []Label
	Reason string
	Child  string // the ledger that it reserves for
	Shares string // the identifier of a dataset that shares the budget from now on
	More   int    // about how many bytes of memory its other content takes

	// Elsewhere is the contribution of Events that the action charges because other ledgers and this one were
	// charged with them before it lost that. 0 for other actions: an entry's SetPart has the contribution.
	Elsewhere Contribution

	// The action moves Events from one pot to another. Without Events it moves all that
	// is left of the reservation About, and without About all of that pot. Where From
	// and To are equal it moves nothing.
	From, To Pot
	Closes   bool // nothing follows the action
}

// Pot is where an application of a mechanism counts. Those in the last two use up the
// ledger's budgets.
type Pot uint8

const (
	PotBudget   Pot = iota // it may still be used, as far as there are budgets
	PotReserved            // an open reservation holds it
	PotCharged             // it was charged
)

// Spends reports whether the action takes its Events from the budgets.
func (d Details) Spends() bool { return d.From == PotBudget && d.To != PotBudget }

// amendment is an action that changes what the ledger's other entries stand for, or what
// answers say of them.
type amendment interface {
	Action
	// amend returns a with the change by e, the entry with this action.
	amend(a amendments, e Entry) amendments
	// reconciles reports whether a ledger takes the action while it needs reconciling,
	// and however many amendments it has.
	reconciles() bool
}

// Amends reports whether e changes what the ledger's other entries stand for, or what
// answers say of them: a refund, a raise, a freed reservation, a restore, what reconciles
// it, an acknowledged warning, a proposal, what concerns its dataset, or the first of the charges that
// were made to several ledgers at once.
func (e Entry) Amends() bool {
	_, amends := e.Action.(amendment)
	return amends || e.First
}

// reconciles reports whether a ledger takes v while it needs reconciling.
func reconciles(v Action) bool {
	a, ok := v.(interface{ reconciles() bool })
	return ok && a.reconciles()
}

// Refundable is an action that charges, so that a Refund can give it back.
type Refundable interface {
	Action
	// Charged returns what the action's entry has charged. It calls left for what was
	// left of a reservation just before that entry.
	Charged(left func(reservation uint64) ([]mechanism.Event, error)) ([]mechanism.Event, error)
}

// Incomplete is an action that needs, before it is decided, what its decision cannot
// find: what stands in the log, or what takes long to compute.
type Incomplete interface {
	Action
	// Complete returns the action with that.
	Complete(from Sources) (Action, error)
}

// Sources are where an Incomplete action finds what it needs.
type Sources interface {
	// ChargedBy returns what the entry at position has charged; ErrRefund if it has
	// charged nothing.
	ChargedBy(position uint64) ([]mechanism.Event, error)
	// Resolve finds what a raise comes to, and keeps the costs that this changes for
	// the decision.
	Resolve(v Raise) (Resolution, error)
}
