package wire

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// travels says how actions of type A travel in entries, as messages of type M. Each kind
// of action has a file of its own, with the conversion of what is asked for, too.
type travels[A ledger.Action, M proto.Message] struct {
	read  func(M) (A, error) // with what its decision has set, without a check of ranges
	check func(A) error      // of ranges; the ledger's adjacency is not known
	write func(A) M          // the inverse of read
}

// form is travels of any types.
type actionForm interface {
	kind() string
	readAny(m proto.Message) (ledger.Action, error)
	checkAny(v ledger.Action) error
	writeAny(v ledger.Action) proto.Message
}

func (travels[A, M]) kind() string {
	var v A
	return v.Kind()
}

func (t travels[A, M]) readAny(m proto.Message) (ledger.Action, error) {
	own, ok := m.(M)
	if !ok {
		return nil, Invalid(t.kind(), fmt.Sprintf("%T", m), fmt.Sprintf("%T", own))
	}
	return t.read(own)
}

func (t travels[A, M]) checkAny(v ledger.Action) error         { return t.check(v.(A)) }
func (t travels[A, M]) writeAny(v ledger.Action) proto.Message { return t.write(v.(A)) }

// actionForms are those of all kinds of actions.
var actionForms = func(list ...actionForm) map[string]actionForm {
	forms := make(map[string]actionForm, len(list))
	for _, f := range list {
		forms[f.kind()] = f
	}
	return forms
}(chargeForm, closeForm, reserveForm, commitForm, releaseForm, expireForm, freeForm, refundForm, raiseForm,
	restoredForm, reconcileForm, acknowledgeForm, proposeForm, withdrawForm, accessPolicyForm, adoptForm,
	amendDatasetForm, togetherForm)

// ReadAction converts the message of an entry's action of this kind, without a check of
// ranges.
func ReadAction(kind string, m proto.Message) (ledger.Action, error) {
	f, ok := actionForms[kind]
	if !ok {
		return nil, Absent("action", actionKinds())
	}
	return f.readAny(m)
}

// CheckAction checks what an action says by itself. Its ledger's adjacency is not known: a
// descriptor must be valid under one.
func CheckAction(v ledger.Action) error {
	if v == nil {
		return Absent("action", actionKinds())
	}
	return actionForms[v.Kind()].checkAny(v)
}

// FromAction is the inverse of ReadAction.
func FromAction(v ledger.Action) proto.Message { return actionForms[v.Kind()].writeAny(v) }

// actionKinds lists the kinds of actions.
func actionKinds() string {
	var kinds []string
	for _, v := range ledger.Actions() {
		kinds = append(kinds, v.Kind())
	}
	last := len(kinds) - 1
	return strings.Join(kinds[:last], ", ") + " or " + kinds[last]
}

// checkCharged checks what actions with events have in common.
func checkCharged(field string, events []mechanism.Event, labels []ledger.Label) error {
	if err := checkEventNumber("events", len(events)); err != nil {
		return Under(field, err)
	}
	for i, e := range events {
		if err := checkEvent(e); err != nil {
			return InEvent(field+".events", i, err)
		}
	}
	if err := checkLabels("labels", labels); err != nil {
		return Under(field, err)
	}
	return nil
}

// checkEvent checks an event that must be valid under one adjacency.
func checkEvent(e mechanism.Event) error {
	if err := CheckMechanism(e.Mechanism); err != nil {
		return err
	}
	if e.Count == 0 {
		return Invalid("count", "0", "a whole number from 1 to 4294967295")
	}
	return nil
}

func checkReservation(field string, position uint64) error {
	if position == 0 {
		return Absent(field, "the position of the entry that made it, ≥ 1")
	}
	return nil
}

func checkReason(field, reason string) error {
	if reason == "" {
		return Absent(field, "why, 1 to 1,024 bytes")
	}
	return checkText(field, reason, maxReason)
}
