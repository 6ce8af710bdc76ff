package wire

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// FromSummary makes the API's view of a ledger's committed state.
func FromSummary(s ledger.Summary) *pb.Ledger {
	return &pb.Ledger{
		Name: s.Genesis.Spec.Name, Spec: FromSpec(s.Genesis.Spec),
		CreateTime: timestamppb.New(s.Genesis.Time), Principal: s.Genesis.Principal,
		Position: s.Head.Position, HeadHash: s.Head.Hash[:], Closed: s.Closed,
		DistinctMechanisms: uint32(s.Distinct), TotalCount: s.Total, StoreId: s.Genesis.StoreID,
	}
}

// FromReceipt makes the API's view of a receipt.
func FromReceipt(r ledger.Receipt) *pb.Receipt {
	return &pb.Receipt{
		StoreId: r.StoreID, Ledger: r.Ledger, Writer: r.Writer.Name, Sequence: r.Sequence,
		Position: r.Position, HeadHash: r.Head[:], Time: timestamppb.New(r.Time),
	}
}

// FromRecord makes the API's view of a committed entry, with the stored bytes if
// raw is set.
func FromRecord(r ledger.Record, raw bool) *pb.Entry {
	e := &pb.Entry{
		Position: r.Entry.Position, Writer: r.Entry.Writer.Name, Sequence: r.Entry.Sequence,
		Principal: r.Entry.Writer.Principal, Time: timestamppb.New(r.Entry.Time), Hash: r.Hash[:],
	}
	switch v := r.Entry.Verb.(type) {
	case ledger.Charge:
		e.Action = &pb.Entry_Charge{Charge: FromCharge(v)}
	case ledger.Close:
		e.Action = &pb.Entry_Close{Close: &pb.Close{Reason: v.Reason}}
	case ledger.Reserve:
		e.Action = &pb.Entry_Reserve{Reserve: fromReserve(v)}
	case ledger.Commit:
		e.Action = &pb.Entry_Commit{Commit: fromCommit(v)}
	case ledger.Release:
		e.Action = &pb.Entry_Release{Release: &pb.Release{Reservation: v.Reservation, Reason: v.Reason}}
	case ledger.Expire:
		e.Action = &pb.Entry_Expire{Expire: &pb.Expire{Reservation: v.Reservation}}
	}
	if raw {
		e.Raw = r.Raw
	}
	return e
}
