// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Reserve sets events aside. They count against budgets like charges until they
// are committed (and then are charges), released, or expire. Only the ledger's creator
// may reserve most of its budget.
type Reserve struct {
	Events []mechanism.Event `field:"1" need:"1 to 1,000 events" most:"1000"` // as those of a Charge
	Labels []Label           `field:"2"`
	// whole seconds, from 1 s to MaxLifetime; 0 with Child
	Lifetime time.Duration `field:"3"`
	// the ledger that it is for; only the daemon sets it
	Child  string `field:"4" is:"ledger" refused:"CreateLedger with a parent reserves for one"`
	Holder string `field:"5" most:"63" decided:"the access policy says it"` // see Reservation
}

// CheckAsked accepts a lifetime, or a child.
func (v Reserve) CheckAsked() error {
	seconds := strconv.FormatFloat(v.Lifetime.Seconds(), 'f', -1, 64)
	switch {
	case v.Child != "" && v.Lifetime != 0:
		return &mechanism.ParameterError{Field: "lifetime_seconds", Value: seconds, Allowed: "0 with a child"}
	case v.Child == "" && (v.Lifetime < time.Second || v.Lifetime > MaxLifetime || v.Lifetime%time.Second != 0):
		return &mechanism.ParameterError{Field: "lifetime_seconds", Value: seconds, Allowed: fmt.Sprintf(
			"a whole number from 1 to %d (%d days)", MaxLifetime/time.Second, MaxLifetime/(24*time.Hour))}
	}
	return nil
}

// Kind implements Action.
func (Reserve) Kind() string { return "reserve" }

// heldBy implements holding.
func (v Reserve) heldBy(holder string) Action {
	v.Holder = holder
	return v
}

// Details implements Action.
func (v Reserve) Details() Details {
	return Details{Events: v.Events, Labels: v.Labels, Child: v.Child, From: PotBudget, To: PotReserved}
}

func (v Reserve) decide(b *Batch) error {
	parts := mechanism.Merge(v.Events)
	switch {
	case b.draft == nil:
		return refuse(ErrReservation, "ledger: %s has neither a plan nor budgets, so nothing can be set aside in it; "+
			"allowed: a ledger with the policy PLAN or FILTER",
			b.spec().Name)
	case (v.Child != "") != (v.Lifetime == 0) || v.Child != "" && b.request.Writer.Principal != Daemon:
		return refuse(ErrReservation, "child: %q with a lifetime of %v; allowed: a lifetime and no child, which only "+
			"CreateLedger sets",
			v.Child, v.Lifetime)
	case len(b.held.Open) >= b.maxReservations():
		return refuse(ErrOutOfRange, "open reservations: %d; allowed: at most %d in one ledger",
			len(b.held.Open)+1, b.maxReservations())
	case b.held.Parts+len(parts) > MaxReservedParts:
		return refuse(ErrOutOfRange, "mechanisms in open reservations: %d; allowed: at most %d in one ledger",
			b.held.Parts+len(parts), MaxReservedParts)
	case b.bounded && b.held.Bytes+sizeOf(parts) > MaxReservedBytes:
		return refuse(ErrOutOfRange, "mechanisms in open reservations: about %d bytes; allowed: at most %d in one "+
			"ledger, where %d are held already; commit, release or let expire some of them, or reserve mechanisms "+
			"with shorter lists",
			b.held.Bytes+sizeOf(parts), MaxReservedBytes, b.held.Bytes)
	}
	if err := b.admit(v.Events); err != nil {
		return err
	}
	if v.Child != "" {
		if err := b.mayTake(parts); err != nil {
			return err
		}
		if d := b.amended.dataset; d != nil && d.Caps.Ledger > 0 {
			return nil // the cap says how much anybody may take
		}
	}
	err := b.mayDispose("reserve more than half of its whole budget at once (others may reserve less, or charge)")
	if err != nil && b.draft.MostOfAll(parts) {
		return err
	}
	return nil
}

// made is the reservation that an entry with this action makes of the merged events.
func (v Reserve) made(e *Entry, parts []mechanism.Part) *Reservation {
	r := &Reservation{Position: e.Position, Rest: parts, Child: v.Child, Principal: e.Writer.Principal,
		Holder: v.Holder}
	if v.Child == "" {
		r.Deadline = e.Time.Add(v.Lifetime)
	}
	if e.Set != nil && e.Set.Members > 1 {
		r.Contribution = e.Set.Contribution
	}
	return r
}
