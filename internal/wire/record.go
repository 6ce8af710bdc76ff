package wire

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Records are written with the map keys in order. What is written passes the
// same checks as what is read, so nothing is stored that could not be read
// again. Hashes cover the bytes as stored: reading never encodes anew.

// MarshalEntry makes the bytes of a log entry (accountant.record.v1.Entry) with
// the log keys of the entries before it: of its ledger and of its writer's lane.
func MarshalEntry(e ledger.Entry, previousInLedger, previousOfWriter uint64) ([]byte, error) {
	return AppendEntry(nil, e, previousInLedger, previousOfWriter)
}

// AppendEntry appends what MarshalEntry makes.
func AppendEntry(b []byte, e ledger.Entry, previousInLedger, previousOfWriter uint64) ([]byte, error) {
	nanos, err := toNanos(e.Time)
	if err == nil {
		err = checkEntry(e)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d of writer %s: %w", e.Position, show(e.Writer.Name), err)
	}
	return appendEntry(b, e, nanos, previousInLedger, previousOfWriter)
}

// UnmarshalEntry is the inverse of MarshalEntry. Unknown fields, values outside
// their ranges and an action that is not set are ledger.ErrDamaged.
func UnmarshalEntry(b []byte) (e ledger.Entry, previousInLedger, previousOfWriter uint64, err error) {
	var r recordv1.Entry
	if err := proto.Unmarshal(b, &r); err != nil {
		return e, 0, 0, damaged("entry", err)
	}
	e = ledger.Entry{
		Position: r.Position, Writer: ledger.Writer{Principal: r.Principal, Name: r.Writer},
		Sequence: r.Sequence, Time: fromNanos(r.TimeUnixNanos),
	}
	if n := copy(e.Digest[:], r.Digest); n != len(r.Digest) || n != len(e.Digest) {
		return ledger.Entry{}, 0, 0, damaged("entry", invalid("digest", fmt.Sprintf("%d bytes", len(r.Digest)), "32 bytes"))
	}
	if e.Action, err = toAction(&r); err == nil {
		err = checkEntry(e)
	}
	if err != nil {
		return ledger.Entry{}, 0, 0, damaged("entry", err)
	}
	return e, r.PreviousInLedger, r.PreviousOfWriter, nil
}

func toAction(r *recordv1.Entry) (ledger.Action, error) {
	if err := known("entry", r); err != nil {
		return nil, err
	}
	switch a := r.Action.(type) {
	case *recordv1.Entry_Charge:
		return toCharge(a.Charge)
	case *recordv1.Entry_Close:
		return ledger.Close{Reason: a.Close.GetReason()}, known("close", a.Close)
	case *recordv1.Entry_Reserve:
		return toReserve(a.Reserve)
	case *recordv1.Entry_Commit:
		return toCommit(a.Commit)
	case *recordv1.Entry_Release:
		return ledger.Release{Reservation: a.Release.GetReservation(), Reason: a.Release.GetReason()}, known("release", a.Release)
	case *recordv1.Entry_Expire:
		return ledger.Expire{Reservation: a.Expire.GetReservation()}, known("expire", a.Expire)
	case *recordv1.Entry_Free:
		return toFree(a.Free)
	case *recordv1.Entry_Refund:
		return toStoredRefund(a.Refund)
	case *recordv1.Entry_Raise:
		return toStoredRaise(a.Raise)
	case *recordv1.Entry_Restored:
		return toRestored(a.Restored)
	case *recordv1.Entry_Reconcile:
		return toReconcile(a.Reconcile)
	}
	return nil, absent("action", actions)
}

const actions = "charge, close, reserve, commit, release, expire, free, refund, raise, restored or reconcile"

// checkEntry checks what an entry says by itself. Its ledger's adjacency is not
// in it: a descriptor must be valid under one.
func checkEntry(e ledger.Entry) error {
	if e.Position == 0 {
		return invalid("position", "0", "a whole number ≥ 1")
	}
	if err := checkWriter(e.Writer); err != nil {
		return err
	}
	if err := CheckSequence(e.Writer, e.Sequence); err != nil {
		return err
	}
	switch v := e.Action.(type) {
	case ledger.Charge:
		return checkCharge("charge", v.Events, v.Labels)
	case ledger.Close:
		return checkText("close.reason", v.Reason, maxReason)
	case ledger.Reserve:
		if err := checkHeld(v); err != nil {
			return err
		}
		return checkCharge("reserve", v.Events, v.Labels)
	case ledger.Commit:
		if err := checkReservation("commit.reservation", v.Reservation); err != nil {
			return err
		}
		return checkCharge("commit", v.Events, v.Labels)
	case ledger.Release:
		if err := checkReservation("release.reservation", v.Reservation); err != nil {
			return err
		}
		return checkText("release.reason", v.Reason, maxReason)
	case ledger.Expire:
		return checkReservation("expire.reservation", v.Reservation)
	case ledger.Free:
		if err := checkFree(v); err != nil {
			return err
		}
		return checkCharge("free", v.Events, nil)
	case ledger.Refund:
		if err := checkRefund(v); err != nil {
			return err
		}
		return checkCharge("refund", v.Events, nil)
	case ledger.Raise:
		return checkStoredRaise(v)
	case ledger.Restored:
		return checkRestored(v)
	case ledger.Reconcile:
		if err := checkReconcile(v); err != nil || len(v.Events) == 0 {
			return err
		}
		return checkCharge("reconcile", v.Events, nil)
	}
	return absent("action", actions)
}

// checkCharge checks what charge, reserve and commit have in common.
func checkCharge(field string, events []mechanism.Event, labels []ledger.Label) error {
	if err := checkEventNumber("events", len(events)); err != nil {
		return under(field, err)
	}
	for i, e := range events {
		err := checkAnywhere(e.Mechanism)
		if err == nil && e.Count == 0 {
			err = invalid("count", "0", "a whole number from 1 to 4294967295")
		}
		if err != nil {
			return inEvent(field+".events", i, err)
		}
	}
	if err := checkLabels("labels", labels); err != nil {
		return under(field, err)
	}
	return nil
}

// MarshalGenesis makes the bytes of the first record of a ledger's chain
// (accountant.record.v1.Genesis).
func MarshalGenesis(g ledger.Genesis) ([]byte, error) {
	nanos, err := toNanos(g.Time)
	if err == nil {
		err = checkGenesis(g)
	}
	if err != nil {
		return nil, fmt.Errorf("genesis of ledger %s: %w", show(g.Spec.Name), err)
	}
	return marshal(&recordv1.Genesis{
		Spec: FromSpec(g.Spec), StoreId: g.StoreID, Principal: g.Principal, TimeUnixNanos: nanos,
		Resolution: fromResolution(g.Resolution),
	})
}

// UnmarshalGenesis is the inverse of MarshalGenesis. Unknown fields and values
// outside their ranges are ledger.ErrDamaged.
func UnmarshalGenesis(b []byte) (ledger.Genesis, error) {
	var r recordv1.Genesis
	err := proto.Unmarshal(b, &r)
	if err == nil {
		err = RejectUnknown(&r)
	}
	if err != nil {
		return ledger.Genesis{}, damaged("genesis", err)
	}
	spec, err := toSpec(r.Spec)
	if err != nil {
		return ledger.Genesis{}, damaged("genesis", under("spec", err))
	}
	g := ledger.Genesis{Spec: spec, StoreID: r.StoreId, Principal: r.Principal, Time: fromNanos(r.TimeUnixNanos)}
	if g.Resolution, err = toResolution(r.Resolution); err == nil {
		err = checkGenesis(g)
	}
	if err != nil {
		return ledger.Genesis{}, damaged("genesis", err)
	}
	return g, nil
}

func checkGenesis(g ledger.Genesis) error {
	if !isUUID(g.StoreID) {
		return invalid("store_id", show(g.StoreID), "a UUID in lower case")
	}
	if err := checkPrincipal(g.Principal); err != nil {
		return err
	}
	err := checkSpec(g.Spec)
	switch {
	case err != nil:
	case !g.Spec.Adjacency.Valid():
		err = invalid("adjacency", g.Spec.Adjacency.String(), "ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT")
	default:
		err = checkLabels("labels", g.Spec.Labels)
	}
	if err != nil {
		return under("spec", err)
	}
	return checkResolution(g.Spec, g.Resolution)
}

// MarshalMechanism makes the bytes of a descriptor (accountant.v1.Mechanism),
// the same for equal descriptors.
func MarshalMechanism(m mechanism.Mechanism) ([]byte, error) {
	if err := checkAnywhere(m); err != nil {
		return nil, err
	}
	return marshal(FromMechanism(m))
}

// UnmarshalMechanism is the inverse of MarshalMechanism. Unknown fields and
// values outside their ranges are ledger.ErrDamaged.
func UnmarshalMechanism(b []byte) (mechanism.Mechanism, error) {
	var r pb.Mechanism
	if err := proto.Unmarshal(b, &r); err != nil {
		return nil, damaged("mechanism", err)
	}
	m, err := ToMechanism(&r)
	if err != nil {
		return nil, damaged("mechanism", err)
	}
	return m, nil
}

func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func damaged(what string, err error) error {
	kind := ledger.ErrDamaged
	var wrong *InvalidError
	if errors.As(err, &wrong) && strings.HasPrefix(wrong.Value, unknownFieldText) {
		kind = ledger.ErrNewer
	}
	return fmt.Errorf("%w: %s: %w", kind, what, err)
}

// toNanos refuses times outside 1678 … 2262, which have no int64 of nanoseconds.
func toNanos(t time.Time) (int64, error) {
	first, last := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	if t.Before(first) || t.After(last) {
		return 0, invalid("time", t.UTC().Format(time.RFC3339), "years 1678 to 2262")
	}
	return t.UnixNano(), nil
}

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }
