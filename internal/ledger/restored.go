// SPDX-License-Identifier: Apache-2.0

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
// The entry before it is the copy's newest. Only a restore writes it, as the daemon.
//
// A database whose standby takes over without the newest entries is such a copy, too:
// the store stays the same, and a daemon that knows what was acknowledged says so.
type Restored struct {
	// the store that was copied, in which the ledger was
	From string `field:"1" need:"a UUID in lower case" is:"uuid"`
	// the store that was made; the same if the database lost entries
	StoreID string `field:"2" need:"a UUID in lower case" is:"uuid"`
	// SHA-256 of the copy; zero if the database lost entries
	Copy Hash `field:"3"`
	// of the newest record in the copy, of any ledger: it was made then or later
	Newest time.Time `field:"4" need:"a time"`

	// Lost is the newest entry that was acknowledged and that the database has lost; zero after a restore.
	Lost Head `field:"5"`
}

// CheckAsked checks that a lost entry has its hash.
func (v Restored) CheckAsked() error {
	if (v.Lost.Position > 0) != (v.Lost.Hash != Hash{}) {
		return &mechanism.ParameterError{Field: "lost.hash", Value: fmt.Sprintf("%x", v.Lost.Hash),
			Allowed: fmt.Sprintf("32 bytes with a lost entry, none without: the lost position is %d", v.Lost.Position)}
	}
	return nil
}

// LostEntries is the entry that tells of acknowledged entries of a ledger that the database has lost. newest is as of
// Restored; the zero of Unix time says that nothing of the ledger was left.
func LostEntries(now *State, lost Head, newest time.Time) Restored {
	store := now.StoreOf(now.summary.Head.Position)
	return Restored{From: store, StoreID: store, Newest: newest, Lost: lost}
}

// Kind implements Action.
func (Restored) Kind() string { return "restored" }

// Details implements Action.
func (Restored) Details() Details { return Details{From: PotReserved, To: PotCharged} }

func (v Restored) decide(b *Batch) error {
	was, by := b.amended.store(b.state.summary.Genesis.StoreID, b.position()), b.request.Writer.Principal
	if by != Daemon || v.From != was || (v.StoreID == was) != (v.Lost.Position > 0) {
		return refuse(ErrReconcile, "restored: from store %q to %q, with entry %d lost, by %s; allowed: from %q to "+
			"another by a restore, or to the same with a lost entry by the daemon", v.From, v.StoreID, v.Lost.Position,
			by, was)
	}
	return nil
}

func (Restored) reconciles() bool { return true } // it may be copied and restored once more

func (v Restored) amend(a amendments, e Entry) amendments {
	a.restored = append(slices.Clip(a.restored), origin{e.Position, v.StoreID})
	a.unreconciled = true
	text := fmt.Sprintf("restored by entry %d from a copy of store %s, made at %s or later: "+
		"what was charged between the copy and the restore is counted only as far as later entries reconcile it",
		e.Position, v.From, v.Newest.UTC().Format(time.RFC3339))
	if v.Lost.Position > 0 {
		left := "what was left was of " + v.Newest.UTC().Format(time.RFC3339)
		if v.Newest.UnixNano() == 0 {
			left = "nothing was left"
		}
		text = fmt.Sprintf("the database lost entries that were acknowledged, as entry %d says: the newest is entry "+
			"%d with hash %x, and %s; what was lost is counted only as far as later entries reconcile it",
			e.Position, v.Lost.Position, v.Lost.Hash, left)
	}
	return a.assuming(Assumption{e.Position, "restored", text, true})
}

// ofAnEarlierLoss reports whether a proposal to reconcile was made before the newest restore: what it
// says was lost is what an earlier restore has lost.
func (a amendments) ofAnEarlierLoss(p OpenProposal) bool {
	_, ok := p.Action.(Reconcile)
	return ok && len(a.restored) > 0 && p.Position < a.restored[len(a.restored)-1].position
}
