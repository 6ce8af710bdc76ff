// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/share"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// refund is what a refund says that an earlier entry has charged.
type refund struct {
	position uint64 // of the refund
	counts   share.Counts
}

// Again starts a second time through the same log, if that has something to
// compare; otherwise nil. It compares what refunds give back with what their
// entries have charged.
func (r *Replay) Again() *Replay {
	if len(r.refunds) == 0 {
		return nil
	}
	second, err := Begin(r.raw, nil)
	if err != nil { // the first time there was none
		return nil
	}
	second.first = r
	return second
}

// compareRefund notes what a refund says the first time, and compares it with the
// entry that it is about the second time.
func (r *Replay) compareRefund(e ledger.Entry) error {
	if r.first == nil {
		if v, ok := e.Action.(ledger.Refund); ok {
			r.refunds[v.Position] = refund{e.Position, share.CountsOf(mechanism.Merge(v.Events))}
		}
		return nil
	}
	claim, ok := r.first.refunds[e.Position]
	if !ok {
		return nil
	}
	charged := share.CountsOf(mechanism.Merge(r.charged(e.Action)))
	for m, n := range charged {
		if claim.counts[m] != n {
			return r.wrongRefund(claim, m, n)
		}
	}
	for m := range claim.counts {
		if charged[m] == 0 {
			return r.wrongRefund(claim, m, 0)
		}
	}
	return nil
}

func (r *Replay) wrongRefund(claim refund, m mechanism.Mechanism, charged uint64) error {
	return &Finding{Ledger: r.Name(), Position: claim.position,
		What:     fmt.Sprintf("refund of entry %d", r.head.Position+1),
		Expected: fmt.Sprintf("%d × %v, what that entry charged", charged, m),
		Found:    fmt.Sprintf("%d", claim.counts[m])}
}

// charged is what an entry charges, on top of those before it.
func (r *Replay) charged(v ledger.Action) (events []mechanism.Event) {
	charging, ok := v.(ledger.Refundable)
	if !ok {
		return nil
	}
	events, _ = charging.Charged(func(reservation uint64) ([]mechanism.Event, error) { // which never fails
		for _, open := range r.State().Reservations() {
			if open.Position == reservation {
				return mechanism.EventsOf(open.Rest), nil
			}
		}
		return nil, nil
	})
	return events
}
