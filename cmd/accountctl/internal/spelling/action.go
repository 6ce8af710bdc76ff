package spelling

import (
	"fmt"
	"strings"
	"time"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Action is what an entry did, for tables and csv.
type Action struct {
	Name   string // "charge"
	Of     uint64 // the reservation, or the entry that is refunded; 0 if none
	Events []*accountantv1.Event
	Labels map[string]string
	Reason string
	more   string // what else there is to say
}

// ActionOf says what an entry did.
func ActionOf(e *accountantv1.Entry) Action {
	switch a := e.GetAction().(type) {
	case *accountantv1.Entry_Charge:
		return Action{Name: "charge", Events: a.Charge.GetEvents(), Labels: a.Charge.GetLabels()}
	case *accountantv1.Entry_Reserve:
		d := Action{Name: "reserve", Events: a.Reserve.GetEvents(), Labels: a.Reserve.GetLabels()}
		d.more = fmt.Sprintf("for %v", time.Duration(a.Reserve.GetLifetimeSeconds())*time.Second)
		if child := a.Reserve.GetChild(); child != "" {
			d.more = "for ledger " + child
		}
		return d
	case *accountantv1.Entry_Commit:
		return Action{Name: "commit", Of: a.Commit.GetReservation(), Events: a.Commit.GetEvents(),
			Labels: a.Commit.GetLabels()}
	case *accountantv1.Entry_Release:
		return Action{Name: "release", Of: a.Release.GetReservation(), Reason: a.Release.GetReason()}
	case *accountantv1.Entry_Expire:
		return Action{Name: "expire", Of: a.Expire.GetReservation()}
	case *accountantv1.Entry_Free:
		return Action{Name: "free", Of: a.Free.GetReservation(), Events: a.Free.GetEvents(), Reason: a.Free.GetReason()}
	case *accountantv1.Entry_Refund:
		return Action{Name: "refund", Of: a.Refund.GetPosition(), Events: a.Refund.GetEvents(),
			Reason: a.Refund.GetReason()}
	case *accountantv1.Entry_Raise:
		return Action{Name: "raise", Reason: a.Raise.GetReason(), more: raiseText(a.Raise)}
	case *accountantv1.Entry_Restored:
		return Action{Name: "restored", more: "from a backup of store " + a.Restored.GetFromStoreId()}
	case *accountantv1.Entry_Reconcile:
		d := Action{Name: "reconcile", Events: a.Reconcile.GetEvents(), Reason: a.Reconcile.GetReason()}
		switch {
		case a.Reconcile.GetAcceptLoss():
			d.more = "loss accepted"
		case len(d.Events) == 0:
			d.more = "nothing lost"
		case a.Reconcile.GetOverBudget():
			d.more = "over the budget or the plan"
		}
		return d
	case *accountantv1.Entry_Close:
		return Action{Name: "close", Reason: a.Close.GetReason()}
	}
	return Action{Name: "unknown"} // of a newer daemon
}

func raiseText(r *accountantv1.Raise) string {
	var parts []string
	for _, b := range r.GetBudgets() {
		parts = append(parts, Budget(b))
	}
	if r.GetPlan() != nil {
		parts = append(parts, "plan of "+Events(r.GetPlan().GetEvents()))
	}
	return "to " + strings.Join(parts, "; ")
}

// String is the action in one line: a charge is its events alone.
func (d Action) String() string {
	var b strings.Builder
	if d.Name != "charge" {
		b.WriteString(d.Name)
		if d.Of != 0 {
			fmt.Fprintf(&b, " of %d", d.Of)
		}
		for _, detail := range []string{d.more, d.Reason, Events(d.Events)} {
			if detail != "" {
				b.WriteString(": " + detail)
			}
		}
		return b.String()
	}
	return Events(d.Events)
}
