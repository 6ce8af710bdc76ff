// SPDX-License-Identifier: Apache-2.0

package record

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Records are written with the map keys in order. What is written passes the
// same checks as what is read, so nothing is stored that could not be read
// again. Hashes cover the bytes as stored: reading never encodes anew.

// MarshalEntry makes the bytes of a log entry (accountant.record.v1.Entry) with
// the position of its writer's entry before it. They do not contain the digest, which
// must be that of the action: whoever reads them computes it.
func MarshalEntry(e ledger.Entry, previousOfWriter uint64) ([]byte, error) {
	return new(Writer).Append(nil, e, previousOfWriter)
}

// UnmarshalEntry is the inverse of MarshalEntry. Unknown fields, values outside
// their ranges and an action that is not set are ledger.ErrDamaged.
func UnmarshalEntry(b []byte) (e ledger.Entry, previousOfWriter uint64, err error) {
	var r recordv1.Entry
	if err := proto.Unmarshal(b, &r); err != nil {
		return e, 0, damaged("entry", err)
	}
	e = ledger.Entry{
		Position: r.Position, Writer: ledger.Writer{Principal: r.Principal, Name: r.Writer},
		Sequence: r.Sequence, Time: fromNanos(r.TimeUnixNanos), Policy: r.Policy,
	}
	if e.Action, err = toAction(&r); err == nil {
		e.Set, err = toSet(r.GetSet())
		e.First = r.GetSet().GetFirst()
	}
	if by := r.GetApproval(); by != nil && err == nil {
		e.Approval = new(ledger.Approval)
		*e.Approval, err = wire.ApprovalForm.Read("approval", by)
	}
	if err == nil {
		err = checkEntry(e)
	}
	if err != nil {
		return ledger.Entry{}, 0, damaged("entry", err)
	}
	e.Digest = DigestOf(e.Action, e.Approval)
	return e, r.PreviousOfWriter, nil
}

func toAction(r *recordv1.Entry) (ledger.Action, error) {
	if err := wire.Known("entry", r); err != nil {
		return nil, err
	}
	fd := r.ProtoReflect().WhichOneof(entryAction())
	if fd == nil {
		return wire.ReadAction(nil) // which says what there is
	}
	return wire.ReadAction(r.ProtoReflect().Get(fd).Message().Interface())
}

// entryAction is the oneof of a stored entry's action. Its fields have the names of the
// kinds of actions.
var entryAction = sync.OnceValue(func() protoreflect.OneofDescriptor {
	return (*recordv1.Entry)(nil).ProtoReflect().Descriptor().Oneofs().ByName("action")
})

// checkEntry checks what an entry says by itself. Its ledger's adjacency is not
// in it: a descriptor must be valid under one.
func checkEntry(e ledger.Entry) error {
	if err := checkFrame(e); err != nil {
		return err
	}
	return wire.CheckAction(e.Action)
}

// checkFrame checks what an entry says besides its action.
func checkFrame(e ledger.Entry) error {
	if e.Position == 0 {
		return invalid("position", "0", "a whole number ≥ 1")
	}
	if err := checkLane(e); err != nil {
		return err
	}
	if e.Approval != nil {
		if err := wire.ApprovalForm.Check("approval", *e.Approval); err != nil {
			return err
		}
	}
	return wire.CheckSequence(e.Writer, e.Sequence)
}
