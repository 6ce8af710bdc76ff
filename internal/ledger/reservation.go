// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"time"
)

const (
	// MaxReservations bounds the open reservations of one ledger.
	MaxReservations = 1000
	// MaxDatasetLedgers bounds the open ledgers of one dataset, each of which holds a
	// reservation there.
	MaxDatasetLedgers = 10_000
	// MaxReservedParts bounds their mechanisms, each counted once a reservation: a
	// closing turns all of them into charges at once.
	MaxReservedParts = 10_000
	// MaxReservedBytes bounds the sum of their mechanisms' sizes: every answer about the
	// ledger lists them, and a closing writes all of them at once.
	MaxReservedBytes = 2 << 20
	// MaxLifetime bounds how long a reservation is open.
	MaxLifetime = 366 * 24 * time.Hour
)

// admits reports whether w may commit or release r: the principal that made it, whoever else
// belongs to its holder, or the daemon, which alone settles what a child holds.
func admits(r Reservation, w Writer, holder string) error {
	switch {
	case r.Child == "" && r.Holder != "" && r.Holder == holder:
		return nil
	case w.Principal == Daemon || r.Child == "" && r.Principal == w.Principal:
		return nil
	case r.Child != "":
		return refuse(ErrReservation, "reservation: %d is held by ledger %s; allowed: to close that ledger, which "+
			"settles it", r.Position, r.Child)
	}
	return refuse(ErrReservation, "reservation: %d is of %s, and you are %s; allowed: one of your own, "+
		"or on the daemon's own socket to let it expire now, or to free it: "+
		"accountctl reservation expire, or accountctl reservation release --nothing-released, each with %s",
		r.Position, r.Principal, w.Principal, OwnSocket)
}

// reservation finds an open one that w may commit and release.
func (b *Batch) reservation(position uint64, w Writer, holder string) (Reservation, error) {
	r, ok := b.held.Open[position]
	if !ok {
		return r, refuse(ErrReservation, "reservation: %d; allowed: the position of one that is open: not used up, "+
			"released or expired", position)
	}
	return r, admits(r, w, holder)
}

func (b *Batch) maxReservations() int {
	if b.spec().Dataset != nil {
		return MaxDatasetLedgers
	}
	return MaxReservations
}

// timed finds an open reservation that a lifetime ends, whoever made it, and no child
// ledger's closing.
func (b *Batch) timed(position uint64) (Reservation, error) {
	r, err := b.reservation(position, Writer{Principal: Daemon}, "")
	if err == nil && r.Child != "" {
		err = refuse(ErrReservation, "reservation: %d is held by ledger %s; allowed: one with a time, or to close "+
			"that ledger, which settles it", r.Position, r.Child)
	}
	return r, err
}

// set changes a reservation of the batch.
func (b *Batch) set(r Reservation) {
	if !b.ownsHeld {
		b.held = b.held.Clone()
		b.ownsHeld = true
		b.changed = map[uint64]bool{}
	}
	b.held.Set(r)
	b.changed[r.Position] = true
}

// opened lists the changed reservations as they are after the batch, those with
// nothing left too if the state has them.
func (b *Batch) opened() (list []Reservation) {
	if len(b.changed) == 0 {
		return nil
	}
	for _, position := range slices.Sorted(maps.Keys(b.changed)) {
		r, open := b.held.Open[position]
		if _, before := b.state.held.Open[position]; open || before {
			r.Position = position
			list = append(list, r)
		}
	}
	return list
}

// holding is an action that makes a reservation or is about the caller's own.
type holding interface {
	heldBy(holder string) Action
}

// HeldBy returns the action as a member of a group of callers does it: a reservation belongs to the group, and what is
// about one may be about any of the group's. Every other action stays as it is.
func HeldBy(v Action, holder string) Action {
	if h, ok := v.(holding); ok {
		return h.heldBy(holder)
	}
	return v
}
