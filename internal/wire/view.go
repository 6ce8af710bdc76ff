// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// FromSummary makes the API's view of a ledger's committed state.
func FromSummary(s ledger.Summary) *pb.Ledger {
	return &pb.Ledger{
		Name: s.Genesis.Spec.Name, Spec: FromSpec(s.Genesis.Spec),
		CreateTime: timestamppb.New(s.Genesis.Time), Principal: s.Genesis.Principal,
		Position: s.Head.Position, HeadHash: s.Head.Hash[:], Closed: s.Closed,
		DistinctMechanisms: uint32(s.Distinct), TotalCount: s.Total, StoreId: s.Genesis.StoreID,
		NeedsReconciling: s.Unreconciled && !ledger.IsSystem(s.Genesis.Spec.Name), // the daemon's own need nobody
	}
}

// FromView makes the API's view of a ledger with its balances, in at most
// maxAnswerBytes: where there is more, reservations leave out what they hold.
func FromView(v ledger.View) *pb.Ledger { return FromViewAfter(v, 0) }

// FromViewAfter is FromView without the reservations before the position from. The
// first one that it has is complete.
func FromViewAfter(v ledger.View, from uint64) *pb.Ledger {
	out := FromBalances(v)
	FitReservations(out, reservationsFrom(v.Reservations, from), MaxAnswerBytes-proto.Size(out))
	return out
}

// FromBalances is all of a ledger but its reservations.
func FromBalances(v ledger.View) *pb.Ledger {
	out := FromSummary(v.Summary)
	for _, b := range v.Budgets {
		line := &pb.BudgetBalance{Budget: FromBudget(b.Budget), Value: fromAmount(b.Value)}
		if b.Delta != (budget.Amount{}) {
			line.Delta = fromAmount(b.Delta)
		}
		out.Budgets = append(out.Budgets, line)
	}
	for _, p := range v.Plan {
		out.Plan = append(out.Plan, &pb.PlanBalance{Mechanism: FromMechanism(p.Mechanism),
			Planned: p.Planned, Spent: p.Spent, Reserved: p.Reserved, Remaining: p.Remaining})
	}
	out.Proposals = fromProposals(v.Proposals)
	if v.Dataset != nil {
		out.Dataset = FromDataset(v)
	}
	all := slices.Concat(v.Charged.Parts, v.Resolution.Plan)
	out.Assumptions = append(FromAssumptions(v.Assumptions),
		MechanismAssumptions(mechanism.Composition{Adjacency: v.Charged.Adjacency, Parts: all})...)
	for _, a := range v.Acknowledged {
		out.Acknowledgements = append(out.Acknowledgements, &pb.Acknowledgement{Position: a.Position,
			Warning: a.Warning, Principal: a.Principal, Time: timestamppb.New(a.Time), Reason: a.Reason})
	}
	return out
}

func fromAmount(a budget.Amount) *pb.Amount {
	return &pb.Amount{Unit: a.Unit, Limit: a.Limit, Spent: a.Spent, Reserved: a.Reserved, Remaining: a.Remaining}
}

// FromAssumptions makes the API's view of what answers rest on.
func FromAssumptions(list []ledger.Assumption) (out []*pb.Assumption) {
	for _, a := range Shortened(list) {
		out = append(out, &pb.Assumption{Position: a.Position, Kind: a.Kind, Text: a.Text, Descriptive: a.Descriptive})
	}
	return out
}

// MechanismAssumptions makes the API's view of what the losses in c rest on.
func MechanismAssumptions(c mechanism.Composition) (out []*pb.Assumption) {
	for _, text := range c.Assumptions() {
		out = append(out, &pb.Assumption{Kind: "mechanism", Text: text})
	}
	return out
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
		Set: fromSetPart(r.Entry.Set), Policy: r.Entry.Policy,
	}
	if a := r.Entry.Approval; a != nil {
		e.Approval = ApprovalForm.Write(*a)
	}
	action := FromAction(r.Entry.Action).ProtoReflect()
	e.ProtoReflect().Set(entryAction().Fields().ByName(protoreflect.Name(r.Entry.Action.Kind())),
		protoreflect.ValueOfMessage(action))
	if raw {
		e.Raw = r.Raw
	}
	return e
}
