// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Action is what an entry did, for tables and csv.
type Action struct {
	Name   string // "charge"
	Of     uint64 // the reservation, or the entry that is refunded; 0 if none
	Events []*accountantv1.Event
	Labels map[string]string
	Reason string
	// Comment is what the person said who approved it.
	Comment string
	more    string // what else there is to say

	together string // with which other ledgers
}

// ActionOf says what an entry did: "unknown" if only a newer version knows.
func ActionOf(e *accountantv1.Entry) Action {
	a := actionIn(e)
	a.Comment = e.GetApproval().GetComment()
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

// Proposed says what a proposal proposes, as ActionOf says what was done.
func Proposed(p *accountantv1.Propose) string {
	if p == nil {
		return "too long to list; accountctl ledger entries shows it"
	}
	return actionIn(p).String()
}

// actionIn says what the action of an entry or a proposal is: its name, the fields that many actions share, and
// what else its message says.
func actionIn(of proto.Message) Action {
	r := of.ProtoReflect()
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
	is := m.ProtoReflect().Descriptor()
	if is.Oneofs().ByName("action") != nil { // it proposes one
		a.more = actionIn(m).String()
	} else if more := details[is.Name()]; more != nil {
		a.more = more(m)
	}
	return a
}

// details say what else there is to say of some messages of actions.
var details = map[protoreflect.Name]func(proto.Message) string{
	"Reserve": telling(func(r *accountantv1.Reserve) string {
		if r.GetChild() != "" {
			return "for ledger " + r.GetChild()
		}
		return fmt.Sprintf("for %v", time.Duration(r.GetLifetimeSeconds())*time.Second)
	}),
	"Withdraw": telling(func(w *accountantv1.Withdraw) string {
		return fmt.Sprintf("proposal %d", w.GetProposal())
	}),
	"Raise":        telling(raiseText),
	"AmendDataset": telling(amendText),
	"Restored": telling(func(r *accountantv1.Restored) string {
		if lost := r.GetLost().GetPosition(); lost > 0 {
			return fmt.Sprintf("the database lost entries up to %d", lost)
		}
		return "from a backup of store " + r.GetFromStoreId()
	}),
	"Acknowledge": telling(func(a *accountantv1.Acknowledge) string { return "the warning " + a.GetWarning() }),
	"Observe": telling(func(o *accountantv1.Observe) string {
		c := o.GetCanaries()
		return fmt.Sprintf("%d of %d guesses about %d canaries were right", c.GetCorrect(), c.GetGuesses(),
			c.GetInserted())
	}),
	"Reconcile": telling(func(r *accountantv1.Reconcile) string {
		switch {
		case r.GetAcceptLoss():
			return "loss accepted"
		case len(r.GetEvents()) == 0:
			return "nothing lost"
		case r.GetOverBudget():
			return "over the budget or the plan"
		}
		return ""
	}),
}

func telling[M proto.Message](tell func(M) string) func(proto.Message) string {
	return func(m proto.Message) string { return tell(m.(M)) }
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
	if d.Comment != "" {
		b.WriteString("; approved with the comment: " + d.Comment)
	}
	if d.together != "" {
		b.WriteString("; " + d.together)
	}
	return b.String()
}
