// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// MarshalReservation makes the bytes of what is left of a reservation
// (accountant.record.v1.Reservation). Its position is not in them.
func MarshalReservation(r ledger.Reservation) ([]byte, error) {
	nanos, err := int64(0), checkRest(r)
	if err == nil && r.Child == "" {
		nanos, err = wire.Nanos(r.Deadline)
	}
	if err != nil {
		return nil, fmt.Errorf("reservation %d: %w", r.Position, err)
	}
	return marshal(&recordv1.Reservation{DeadlineUnixNanos: nanos, Rest: partForm.WriteAll(r.Rest), Child: r.Child,
		Principal: r.Principal, Holder: r.Holder, Contribution: pb.SetPart_Contribution(r.Contribution)})
}

// UnmarshalReservation is the inverse of MarshalReservation. Unknown fields and
// values outside their ranges are ledger.ErrDamaged.
func UnmarshalReservation(position uint64, b []byte) (ledger.Reservation, error) {
	var m recordv1.Reservation
	err := proto.Unmarshal(b, &m)
	if err == nil {
		err = wire.RejectUnknown(&m)
	}
	if err != nil {
		return ledger.Reservation{}, damaged("reservation", err)
	}
	r := ledger.Reservation{Position: position, Child: m.Child, Principal: m.Principal, Holder: m.Holder,
		Contribution: ledger.Contribution(m.Contribution)}
	if r.Child == "" || m.DeadlineUnixNanos != 0 {
		r.Deadline = fromNanos(m.DeadlineUnixNanos)
	}
	if r.Rest, err = partForm.ReadAll("rest", m.Rest); err == nil {
		err = checkRest(r)
	}
	if err != nil {
		return ledger.Reservation{}, damaged("reservation", err)
	}
	return r, nil
}

func checkRest(r ledger.Reservation) error {
	if len(r.Rest) == 0 {
		return invalid("rest", "missing", "at least one mechanism")
	}
	if err := wire.CheckPrincipal(r.Principal); err != nil {
		return err
	}
	if r.Child != "" {
		if !r.Deadline.IsZero() {
			return invalid("deadline_unix_nanos", r.Deadline.UTC().Format(time.RFC3339), "none with a child")
		}
		if err := wire.CheckLedgerName("child", r.Child); err != nil {
			return err
		}
	}
	if r.Contribution != 0 && !r.Contribution.Valid() {
		return invalid("contribution", fmt.Sprint(r.Contribution), "one that is known, or none")
	}
	for i, p := range r.Rest {
		if err := partForm.Check(fmt.Sprintf("rest[%d]", i), p); err != nil {
			return err
		}
	}
	return wire.FromDomain(ledger.CheckParts("rest", r.Rest))
}
