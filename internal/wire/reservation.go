package wire

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// ToReserve converts a reservation of 1 to MaxChargeEvents events that are valid
// under adj, for 1 second to ledger.MaxLifetime. Fields in errors start with
// "reserve.".
func ToReserve(adj mechanism.Adjacency, r *pb.Reserve) (ledger.Reserve, error) {
	v, err := toReserve(r)
	if err != nil {
		return ledger.Reserve{}, err
	}
	if v.Child != "" {
		return ledger.Reserve{}, invalid("reserve.child", show(v.Child), "no child: CreateLedger with a parent reserves for one")
	}
	if err := checkLifetime("reserve.lifetime_seconds", v.Lifetime); err != nil {
		return ledger.Reserve{}, err
	}
	return v, checkEvents(adj, "reserve.events", v.Events)
}

// ToCommit converts a commit of 1 to MaxChargeEvents events that are valid under
// adj. Fields in errors start with "commit.".
func ToCommit(adj mechanism.Adjacency, c *pb.Commit) (ledger.Commit, error) {
	v, err := toCommit(c)
	if err != nil {
		return ledger.Commit{}, err
	}
	if err := checkReservation("commit.reservation", v.Reservation); err != nil {
		return ledger.Commit{}, err
	}
	return v, checkEvents(adj, "commit.events", v.Events)
}

// ToRelease converts a release. Fields in errors start with "release.".
func ToRelease(r *pb.Release) (ledger.Release, error) {
	if err := known("release", r); err != nil {
		return ledger.Release{}, err
	}
	if err := checkReservation("release.reservation", r.GetReservation()); err != nil {
		return ledger.Release{}, err
	}
	return ledger.Release{Reservation: r.GetReservation(), Reason: r.GetReason()}, checkText("release.reason", r.GetReason(), maxReason)
}

// toReserve converts without a check of ranges.
func toReserve(r *pb.Reserve) (ledger.Reserve, error) {
	if err := known("reserve", r); err != nil {
		return ledger.Reserve{}, err
	}
	events, labels, err := toCharged("reserve", r.GetEvents(), r.GetLabels())
	return ledger.Reserve{Events: events, Labels: labels, Lifetime: time.Duration(r.GetLifetimeSeconds()) * time.Second, Child: r.GetChild()}, err
}

func fromReserve(r ledger.Reserve) *pb.Reserve {
	return &pb.Reserve{Events: FromEvents(r.Events), Labels: fromLabels(r.Labels), LifetimeSeconds: uint32(r.Lifetime / time.Second), Child: r.Child}
}

// toCommit converts without a check of ranges.
func toCommit(c *pb.Commit) (ledger.Commit, error) {
	if err := known("commit", c); err != nil {
		return ledger.Commit{}, err
	}
	events, labels, err := toCharged("commit", c.GetEvents(), c.GetLabels())
	return ledger.Commit{Reservation: c.GetReservation(), Events: events, Labels: labels}, err
}

func fromCommit(c ledger.Commit) *pb.Commit {
	return &pb.Commit{Reservation: c.Reservation, Events: FromEvents(c.Events), Labels: fromLabels(c.Labels)}
}

func checkLifetime(field string, d time.Duration) error {
	if d < time.Second || d > ledger.MaxLifetime || d%time.Second != 0 {
		return invalid(field, strconv.FormatFloat(d.Seconds(), 'f', -1, 64), fmt.Sprintf("a whole number from 1 to %d", ledger.MaxLifetime/time.Second))
	}
	return nil
}

// checkHeld accepts a lifetime, or a child.
func checkHeld(v ledger.Reserve) error {
	if v.Child == "" {
		return checkLifetime("reserve.lifetime_seconds", v.Lifetime)
	}
	if v.Lifetime != 0 {
		return invalid("reserve.lifetime_seconds", fmt.Sprint(v.Lifetime.Seconds()), "0 with a child")
	}
	return CheckLedgerName("reserve.child", v.Child)
}

func checkReservation(field string, position uint64) error {
	if position == 0 {
		return absent(field, "the position of the entry that made it, ≥ 1")
	}
	return nil
}

// MarshalReservation makes the bytes of what is left of a reservation
// (accountant.record.v1.Reservation). Its position is not in them.
func MarshalReservation(r ledger.Reservation) ([]byte, error) {
	nanos, err := int64(0), checkRest(r)
	if err == nil && r.Child == "" {
		nanos, err = toNanos(r.Deadline)
	}
	if err != nil {
		return nil, fmt.Errorf("reservation %d: %w", r.Position, err)
	}
	return marshal(&recordv1.Reservation{DeadlineUnixNanos: nanos, Rest: fromParts(r.Rest), Child: r.Child, Principal: r.Principal})
}

// UnmarshalReservation is the inverse of MarshalReservation. Unknown fields and
// values outside their ranges are ledger.ErrDamaged.
func UnmarshalReservation(position uint64, b []byte) (ledger.Reservation, error) {
	var m recordv1.Reservation
	err := proto.Unmarshal(b, &m)
	if err == nil {
		err = RejectUnknown(&m)
	}
	if err != nil {
		return ledger.Reservation{}, damaged("reservation", err)
	}
	r := ledger.Reservation{Position: position, Child: m.Child, Principal: m.Principal}
	if r.Child == "" || m.DeadlineUnixNanos != 0 {
		r.Deadline = fromNanos(m.DeadlineUnixNanos)
	}
	if r.Rest, err = toParts("rest", m.Rest); err == nil {
		err = checkRest(r)
	}
	if err != nil {
		return ledger.Reservation{}, damaged("reservation", err)
	}
	return r, nil
}

func checkRest(r ledger.Reservation) error {
	if len(r.Rest) == 0 {
		return absent("rest", "at least one mechanism")
	}
	if err := checkText("principal", r.Principal, maxText); err != nil { // not kept at first
		return err
	}
	if r.Child != "" {
		if !r.Deadline.IsZero() {
			return invalid("deadline_unix_nanos", r.Deadline.UTC().Format(time.RFC3339), "none with a child")
		}
		if err := CheckLedgerName("child", r.Child); err != nil {
			return err
		}
	}
	return checkParts("rest", r.Rest, checkAnywhere)
}
