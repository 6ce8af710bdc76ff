package wire

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// toReserve converts without a check of ranges.
func toReserve(r *pb.Reserve) (ledger.Reserve, error) {
	if err := known("reserve", r); err != nil {
		return ledger.Reserve{}, err
	}
	events, labels, err := toCharged("reserve", r.GetEvents(), r.GetLabels())
	return ledger.Reserve{Events: events, Labels: labels, Lifetime: time.Duration(r.GetLifetimeSeconds()) * time.Second}, err
}

func fromReserve(r ledger.Reserve) *pb.Reserve {
	return &pb.Reserve{Events: FromEvents(r.Events), Labels: fromLabels(r.Labels), LifetimeSeconds: uint32(r.Lifetime / time.Second)}
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
		return invalid(field, fmt.Sprint(d.Seconds()), fmt.Sprintf("a whole number from 1 to %d", ledger.MaxLifetime/time.Second))
	}
	return nil
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
	nanos, err := toNanos(r.Deadline)
	if err == nil {
		err = checkRest(r)
	}
	if err != nil {
		return nil, fmt.Errorf("reservation %d: %w", r.Position, err)
	}
	return marshal(&recordv1.Reservation{DeadlineUnixNanos: nanos, Rest: fromParts(r.Rest)})
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
	r := ledger.Reservation{Position: position, Deadline: fromNanos(m.DeadlineUnixNanos)}
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
	return checkParts("rest", r.Rest, checkAnywhere)
}
