// SPDX-License-Identifier: Apache-2.0

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

	together string // with which other ledgers
}

// ActionOf says what an entry did: "unknown" if only a newer version knows.
func ActionOf(e *accountantv1.Entry) Action {
	r := e.ProtoReflect()
	field := r.WhichOneof(r.Descriptor().Oneofs().ByName("action"))
	if field == nil {
		return Action{Name: "unknown"}
	}
	m, a := r.Get(field).Message().Interface(), Action{Name: string(field.Name())}
	if m, ok := m.(interface{ GetReservation() uint64 }); ok {
		a.Of = m.GetReservation()
	}
	if m, ok := m.(interface{ GetPosition() uint64 }); ok {
		a.Of = m.GetPosition()
	}
	if m, ok := m.(interface {
		GetEvents() []*accountantv1.Event
	}); ok {
		a.Events = m.GetEvents()
	}
	if m, ok := m.(interface{ GetLabels() map[string]string }); ok {
		a.Labels = m.GetLabels()
	}
	if m, ok := m.(interface{ GetReason() string }); ok {
		a.Reason = m.GetReason()
	}
	if more := details[a.Name]; more != nil {
		a.more = more(e)
	}
	if set := e.GetSet(); set.GetMembers() > 1 {
		others := "another ledger"
		if n := set.GetMembers() - 1; n > 1 {
			others = fmt.Sprintf("%d other ledgers", n)
		}
		a.together = fmt.Sprintf("with %s, %s:%d, %s", others, set.GetJournal(), set.GetPosition(),
			Contribution(set.GetContribution()))
	}
	return a
}

// details say what else there is to say of some kinds of actions.
var details = map[string]func(*accountantv1.Entry) string{
	"reserve": func(e *accountantv1.Entry) string {
		if child := e.GetReserve().GetChild(); child != "" {
			return "for ledger " + child
		}
		return fmt.Sprintf("for %v", time.Duration(e.GetReserve().GetLifetimeSeconds())*time.Second)
	},
	"propose": func(e *accountantv1.Entry) string { return Proposed(e.GetPropose()) },
	"withdraw": func(e *accountantv1.Entry) string {
		return fmt.Sprintf("proposal %d", e.GetWithdraw().GetProposal())
	},
	"raise": func(e *accountantv1.Entry) string { return raiseText(e.GetRaise()) },
	"restored": func(e *accountantv1.Entry) string {
		if lost := e.GetRestored().GetLost().GetPosition(); lost > 0 {
			return fmt.Sprintf("the database lost entries up to %d", lost)
		}
		return "from a backup of store " + e.GetRestored().GetFromStoreId()
	},
	"acknowledge": func(e *accountantv1.Entry) string { return "the warning " + e.GetAcknowledge().GetWarning() },
	"observe": func(e *accountantv1.Entry) string {
		c := e.GetObserve().GetCanaries()
		return fmt.Sprintf("%d of %d guesses about %d canaries were right", c.GetCorrect(), c.GetGuesses(),
			c.GetInserted())
	},
	"reconcile": func(e *accountantv1.Entry) string {
		switch r := e.GetReconcile(); {
		case r.GetAcceptLoss():
			return "loss accepted"
		case len(r.GetEvents()) == 0:
			return "nothing lost"
		case r.GetOverBudget():
			return "over the budget or the plan"
		}
		return ""
	},
}

// Proposed says what a proposal proposes: its kind, what it is about, and why.
func Proposed(p *accountantv1.Propose) string {
	if p == nil {
		return "too long to list; accountctl ledger entries shows it"
	}
	r := p.ProtoReflect()
	field := r.WhichOneof(r.Descriptor().Oneofs().ByName("action"))
	if field == nil {
		return "unknown"
	}
	text := string(field.Name())
	switch {
	case p.GetRefund() != nil:
		text += fmt.Sprintf(" of entry %d", p.GetRefund().GetPosition())
	case p.GetFree() != nil:
		text += fmt.Sprintf(" reservation %d", p.GetFree().GetReservation())
	case p.GetRaise() != nil:
		text += " " + raiseText(p.GetRaise())
	case p.GetAmendDataset() != nil:
		text += " " + amendText(p.GetAmendDataset())
	}
	m := r.Get(field).Message().Interface()
	if why, ok := m.(interface{ GetReason() string }); ok && why.GetReason() != "" {
		text += ": " + why.GetReason()
	}
	return text
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

// amendText says what of a dataset's record changes.
func amendText(m *accountantv1.AmendDataset) string {
	var parts []string
	for _, b := range m.GetBudgets() {
		parts = append(parts, "budget "+Budget(b))
	}
	if c := m.GetCaps(); c != nil {
		parts = append(parts, fmt.Sprintf("largest charge %v, largest ledger %v", c.GetCharge(), c.GetLedger()))
	}
	if v := m.GetAddVersion(); v != nil {
		parts = append(parts, fmt.Sprintf("new version %s", v.GetOf().GetVersion()))
	}
	if m.GetConfirm() {
		parts = append(parts, "confirm the registration")
	}
	if m.Title != nil || len(m.GetOwners())+len(m.GetLabels()) > 0 {
		parts = append(parts, "title, owners or labels")
	}
	return strings.Join(parts, "; ")
}

// String is the action in one line: a charge is its events alone.
func (d Action) String() string {
	var b strings.Builder
	if d.Name == "charge" {
		b.WriteString(Events(d.Events))
	} else {
		b.WriteString(d.Name)
		if d.Of != 0 {
			fmt.Fprintf(&b, " of %d", d.Of)
		}
		for _, detail := range []string{d.more, d.Reason, Events(d.Events)} {
			if detail != "" {
				b.WriteString(": " + detail)
			}
		}
	}
	if d.together != "" {
		b.WriteString("; " + d.together)
	}
	return b.String()
}
