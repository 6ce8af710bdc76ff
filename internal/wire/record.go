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
	fd := r.ProtoReflect().WhichOneof(entryAction)
	if fd == nil {
		return nil, absent("action", actionKinds())
	}
	m := r.ProtoReflect().Get(fd).Message().Interface()
	if stored, ok := m.(*recordv1.Raise); ok {
		return toStoredRaise(stored)
	}
	return ReadAction(string(fd.Name()), m)
}

// entryAction is the oneof of a stored entry's action. Its fields have the names of the
// kinds of actions.
var entryAction = (*recordv1.Entry)(nil).ProtoReflect().Descriptor().Oneofs().ByName("action")

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
	if err := CheckAction(e.Action); err != nil {
		return err
	}
	if v, ok := e.Action.(ledger.Raise); ok {
		return checkRaised(v)
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
