// SPDX-License-Identifier: Apache-2.0

package ledger

// Together is what was done in all members of a set at once. It stands in a journal and changes
// nothing there.
type Together struct {
	Members []Member   `field:"1" need:"1 to 1000 ledgers" most:"1000"` // by name, distinct
	Range   *NameRange `field:"2"`                                      // nil where the members were named one by one
	// of a Commit or a Release: the name of the journal that has the reservation
	Journal string `field:"3"`
	// of a Commit or a Release the position is that in Journal
	Action Action `inner:"decided"`

	// of a Commit or a Release: that of the reservation
	Contribution Contribution `field:"8" need:"whose rows the sensitivity bounds"`
}

// Member is a ledger of a set.
type Member struct {
	Ledger      string `field:"1" need:"the name of a ledger" is:"member"`
	Position    uint64 `field:"2" decided:"the daemon finds out"` // of its entry
	Reservation uint64 `field:"3" decided:"the daemon finds out"` // of a Commit or a Release: the ledger's own
}

// joint is an action that can be done in all members of a set at once.
type joint interface {
	Action
	joint()
}

func (Charge) joint()  {}
func (Reserve) joint() {}
func (Commit) joint()  {}
func (Release) joint() {}

// aboutReservation is a joint action about what a set has reserved.
type aboutReservation interface {
	// in returns the action as it is done in a member, about the member's own reservation.
	in(reservation uint64) Action
}

func (v Commit) in(reservation uint64) Action {
	v.Reservation = reservation
	return v
}

func (v Release) in(reservation uint64) Action {
	v.Reservation = reservation
	return v
}

// In returns what is done in a member.
func (v Together) In(m Member) Action {
	if a, ok := v.Action.(aboutReservation); ok {
		return a.in(m.Reservation)
	}
	return v.Action
}

// AboutReservation reports whether it commits or releases what a set has reserved.
func (v Together) AboutReservation() bool {
	_, ok := v.Action.(aboutReservation)
	return ok
}

// asked is v as somebody asked for it: the members follow from the range, and all but them from the reservation.
func (v Together) asked() Action {
	if v.AboutReservation() {
		v.Contribution = 0
	}
	if v.AboutReservation() || v.Range != nil {
		v.Members = nil
	}
	return v
}

// Kind implements Action.
func (Together) Kind() string { return "together" }

// Details implements Action. The events are the members', and not the journal's.
func (v Together) Details() Details {
	if v.Action == nil { // only in the list of all kinds
		return Details{}
	}
	d := v.Action.Details()
	more := d.More + 64*len(d.Events)
	for _, m := range v.Members {
		more += 32 + len(m.Ledger)
	}
	return Details{Labels: d.Labels, Reason: d.Reason, More: more}
}

// reconciles: a restored journal takes what is done in ledgers that are reconciled.
func (Together) reconciles() bool { return true }

func (v Together) decide(b *Batch) error {
	number, ok := JournalNumber(b.spec().Name)
	if !ok || number != JournalOf(b.request.Writer.Name) {
		return refuse(ErrSet, "ledger: %s; allowed: %s, the journal of writer %s", b.spec().Name,
			JournalName(JournalOf(b.request.Writer.Name)), b.request.Writer.Name)
	}
	if _, ok := v.Action.(joint); !ok {
		return refuse(ErrSet, "together: a %s; allowed: a charge, a reservation, a commit or a release",
			kindOf(v.Action))
	}
	if !v.Contribution.Valid() {
		return refuse(ErrSet, "contribution: %d; allowed: one that is known", v.Contribution)
	}
	if n := len(v.Members); n == 0 || n > MaxMembers {
		return refuse(ErrSet, "set: %d ledgers; allowed: 1 to %d", n, MaxMembers)
	}
	for i, m := range v.Members {
		switch {
		case IsSystem(m.Ledger) || IsDataset(m.Ledger):
			return refuse(ErrSet, "set: %s; allowed: ledgers that are neither datasets nor the daemon's own", m.Ledger)
		case i > 0 && v.Members[i-1].Ledger >= m.Ledger:
			return refuse(ErrSet, "set: %s after %s; allowed: distinct ledgers by name", m.Ledger,
				v.Members[i-1].Ledger)
		case v.Range != nil && !v.Range.Contains(m.Ledger):
			return refuse(ErrSet, "set: %s; allowed: names in the range %+v", m.Ledger, *v.Range)
		case m.Position == 0 || (m.Reservation != 0) != v.AboutReservation():
			return refuse(ErrSet, "set: %+v; allowed: the position of an entry, and of a commit or a release that of "+
				"the ledger's reservation", m)
		}
	}
	if _, ok := JournalNumber(v.Journal); ok != v.AboutReservation() || v.Range != nil && ok {
		return refuse(ErrSet, "together: a %s of journal %q; allowed: a journal and no range of a commit or a release",
			kindOf(v.Action), v.Journal)
	}
	return nil
}

func kindOf(v Action) string {
	if v == nil {
		return "nothing"
	}
	return v.Kind()
}
