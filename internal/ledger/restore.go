package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Restored begins a ledger's life in a store that was made of a copy. What was
// charged after the copy was made is lost, and nobody can tell from the copy what it
// was. So it ends every lane (a writer's next numbers may have been used for
// something else), charges what open reservations hold (they may have been
// committed), and the ledger takes nothing but questions until it is reconciled.
// Only a restore writes it, as the daemon. The entry before it is the copy's newest.
type Restored struct {
	From    string    // the store that was copied, in which the ledger was
	StoreID string    // the store that was made
	Copy    Hash      // SHA-256 of the copy
	Newest  time.Time // of the newest record in the copy, of any ledger: it was made then or later
}

// Reconcile says what was charged to a restored ledger after the copy and is lost.
// Its Events are charged even where budgets or the plan do not allow it, as they were
// released all the same. Once it was said that they are all, it may be corrected by
// more of them; and none may be the right answer. Or the loss is accepted.
type Reconcile struct {
	Events     []mechanism.Event
	AcceptLoss bool   // then without Events
	Reason     string // may be empty, unless the loss is accepted

	Over bool // budgets or the plan did not allow the Events; set by the decision
}

func (Restored) action()  {}
func (Reconcile) action() {}

// origin is a restore's entry with the stores.
type origin struct {
	position uint64
	from, to string
}

// reconciles reports whether a ledger that needs reconciling takes v: it may also be
// copied and restored once more.
func reconciles(v Action) bool {
	switch v.(type) {
	case Restored, Reconcile:
		return true
	}
	return false
}

// ended reports whether a lane that stands there was ended by a restore.
func (a amendments) ended(l Lane) bool {
	n := len(a.restored)
	return n > 0 && l.Sequence > 0 && l.Position < a.restored[n-1].position
}

// store is where the entry at position was written, of a ledger that was created in
// the store first.
func (a amendments) store(first string, position uint64) string {
	for _, r := range a.restored {
		if position < r.position {
			return first
		}
		first = r.to
	}
	return first
}

// StoreOf is the store in which the entry at position was written.
func (s *State) StoreOf(position uint64) string {
	return s.amended.store(s.summary.Genesis.StoreID, position)
}

// StoreOf is State's, of the state that the batch is on.
func (b *Batch) StoreOf(position uint64) string { return b.state.StoreOf(position) }

func (a amendments) withRestored(position uint64, v Restored) amendments {
	a.restored = append(slices.Clip(a.restored), origin{position, v.From, v.StoreID})
	a.unreconciled = true
	a.assumptions = append(slices.Clip(a.assumptions), Assumption{position, "restored", fmt.Sprintf(
		"restored by entry %d from a copy of store %s, made at %s or later: what was charged between the copy and the restore is counted only as far as later entries reconcile it",
		position, v.From, v.Newest.UTC().Format(time.RFC3339)), true})
	return a
}

func (a amendments) withReconciled(position uint64, v Reconcile) amendments {
	lost := fmt.Sprintf("what was charged after the copy from which entry %d restored, and lost", a.restored[len(a.restored)-1].position)
	as := Assumption{Position: position, Kind: "reconciled", Descriptive: v.Over}
	switch {
	case v.AcceptLoss:
		as.Kind, as.Descriptive = "loss", true
		as.Text = lost + ", is not counted: the loss was accepted"
	case len(v.Events) == 0:
		as.Text = lost + ", is nothing"
	case a.unreconciled:
		as.Text = lost + ", is no more than " + listed(v.Events)
	default:
		as.Text = lost + ", was also " + listed(v.Events)
	}
	if v.Over {
		as.Text += ", which the budgets or the plan do not allow"
	}
	if v.Reason != "" {
		as.Text += " (reason given: " + v.Reason + ")"
	}
	a.assumptions = slices.Clone(a.assumptions)
	for i := range a.assumptions {
		if a.assumptions[i].Kind == "restored" { // the guarantee is now as this entry leaves it
			a.assumptions[i].Descriptive = false
		}
	}
	a.assumptions = append(a.assumptions, as)
	a.reconciled++
	a.unreconciled = false
	return a
}

// restore begins the ledger's life in another store.
func (b *Batch) restore(v Restored, w Writer, position uint64, checkOnly bool) error {
	if was := b.amended.store(b.state.summary.Genesis.StoreID, position); w.Principal != Daemon || v.From != was || v.StoreID == was {
		return refuse(ErrReconcile, "restored: from store %q to %q by %s; allowed: from %q to another, by a restore", v.From, v.StoreID, w.Principal, was)
	}
	if !checkOnly {
		b.spendAll()
		b.amended = b.amended.with(position, v)
	}
	return nil
}

// reconcile charges what was lost, or accepts the loss, and returns the action as it is
// recorded.
func (b *Batch) reconcile(v Reconcile, position uint64, checkOnly bool) (Action, error) {
	spec := b.state.summary.Genesis.Spec
	switch {
	case len(b.amended.restored) == 0:
		return v, refuse(ErrReconcile, "ledger: %s was not restored from a backup; allowed: one that was", spec.Name)
	case !b.amended.unreconciled && len(v.Events) == 0:
		return v, refuse(ErrReconcile, "ledger: %s is reconciled; allowed: more events that were lost", spec.Name)
	case v.AcceptLoss && len(v.Events) > 0:
		return v, refuse(ErrReconcile, "events: %d with an accepted loss; allowed: one or the other", len(v.Events))
	}
	if !b.amended.unreconciled {
		if err := b.amendable(); err != nil {
			return v, err
		}
	}
	if err := b.inRange(v.Events); err != nil {
		return v, err
	}
	v.Over = false
	if b.draft != nil && len(v.Events) > 0 {
		err := b.draft.take(v.Events)
		if v.Over = err != nil; v.Over {
			if spec.Parent != "" {
				return v, refuse(ErrReconcile, "ledger: %s has a parent, %s, which answers for no more than its budget (%v); allowed: what that allows; charge the rest by reconciling %[2]s, and say so in the reason here", spec.Name, spec.Parent, err)
			}
			b.draft.force(v.Events)
		}
	}
	if checkOnly {
		if b.draft != nil {
			b.draft.untake(v.Events)
		}
		return v, nil
	}
	for _, e := range v.Events {
		b.count(e.Mechanism, uint64(e.Count))
	}
	b.amended = b.amended.with(position, v)
	return v, nil
}
