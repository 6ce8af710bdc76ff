package client

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Write is the content of one write in a lane: exactly one field is set, besides Set.
type Write struct {
	// Set says that a Charge or Reserve is for several ledgers, and Contribution whose rows its sensitivity bounds.
	Set          *pb.LedgerSet
	Contribution pb.SetPart_Contribution

	Charge  *pb.Charge
	Close   *pb.Close
	Reserve *pb.Reserve
	Commit  *pb.Commit
	Release *pb.Release
	Expire  *pb.Expire
	Free    *pb.Free
	Refund  *pb.Refund
	Raise   *pb.Raise

	Reconcile *pb.Reconcile

	Acknowledge *pb.Acknowledge
	Propose     *pb.Propose
	Approve     *pb.Approval // only with the proposal
	Withdraw    *pb.Withdraw

	SetCommit  *pb.SetCommit  // of what was reserved in several ledgers
	SetRelease *pb.SetRelease // of what was reserved in several ledgers
}

// unary returns how w travels alone: the method, the request, and an empty answer to decode
// into.
func (w Write) unary(ledger, writer string, sequence uint64) (method string, request, answer proto.Message) {
	switch {
	case w.Set != nil && w.Reserve != nil:
		return pb.Charges_ReserveSet_FullMethodName,
			&pb.ReserveSetRequest{Set: w.Set, Writer: writer, Sequence: sequence, Reserve: w.Reserve,
				Contribution: w.Contribution},
			&pb.ReserveSetResponse{}
	case w.Set != nil:
		return pb.Charges_ReportSet_FullMethodName,
			&pb.ReportSetRequest{Set: w.Set, Writer: writer, Sequence: sequence, Charge: w.Charge,
				Contribution: w.Contribution},
			&pb.ReportSetResponse{}
	case w.SetCommit != nil:
		return pb.Charges_CommitSet_FullMethodName,
			&pb.CommitSetRequest{Writer: writer, Sequence: sequence, Commit: w.SetCommit}, &pb.CommitSetResponse{}
	case w.SetRelease != nil:
		return pb.Charges_ReleaseSet_FullMethodName,
			&pb.ReleaseSetRequest{Writer: writer, Sequence: sequence, Release: w.SetRelease}, &pb.ReleaseSetResponse{}
	case w.Close != nil:
		return pb.Ledgers_CloseLedger_FullMethodName,
			&pb.CloseLedgerRequest{Name: ledger, Writer: writer, Sequence: sequence, Reason: w.Close.GetReason()},
			&pb.CloseLedgerResponse{}
	case w.Reserve != nil:
		return pb.Charges_Reserve_FullMethodName,
			&pb.ReserveRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Reserve: w.Reserve},
			&pb.ReserveResponse{}
	case w.Commit != nil:
		return pb.Charges_Commit_FullMethodName,
			&pb.CommitRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Commit: w.Commit},
			&pb.CommitResponse{}
	case w.Release != nil:
		return pb.Charges_Release_FullMethodName,
			&pb.ReleaseRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Release: w.Release},
			&pb.ReleaseResponse{}
	case w.Expire != nil:
		return pb.Charges_Expire_FullMethodName,
			&pb.ExpireRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Expire: w.Expire},
			&pb.ExpireResponse{}
	case w.Free != nil:
		return pb.Charges_Free_FullMethodName,
			&pb.FreeRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Free: w.Free}, &pb.FreeResponse{}
	case w.Refund != nil:
		return pb.Charges_Refund_FullMethodName,
			&pb.RefundRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Refund: w.Refund},
			&pb.RefundResponse{}
	case w.Raise != nil:
		return pb.Ledgers_Raise_FullMethodName,
			&pb.RaiseRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Raise: w.Raise}, &pb.RaiseResponse{}
	case w.Reconcile != nil:
		return pb.Ledgers_Reconcile_FullMethodName,
			&pb.ReconcileRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Reconcile: w.Reconcile},
			&pb.ReconcileResponse{}
	case w.Acknowledge != nil:
		return pb.Ledgers_Acknowledge_FullMethodName,
			&pb.AcknowledgeRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Acknowledge: w.Acknowledge},
			&pb.AcknowledgeResponse{}
	case w.Propose != nil:
		return pb.Admin_Propose_FullMethodName,
			&pb.ProposeRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Propose: w.Propose},
			&pb.ProposeResponse{}
	case w.Approve != nil:
		return pb.Admin_Approve_FullMethodName,
			&pb.ApproveRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Proposal: w.Approve.GetProposal()},
			&pb.ApproveResponse{}
	case w.Withdraw != nil:
		return pb.Admin_Withdraw_FullMethodName,
			&pb.WithdrawRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Withdraw: w.Withdraw},
			&pb.WithdrawResponse{}
	}
	return pb.Charges_Report_FullMethodName,
		&pb.ReportRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Charge: w.Charge}, &pb.ReportResponse{}
}

// streamed returns the part of a stream's message that holds w's content, with the field number
// of the message around it. Only charges, reservations, commits and releases travel in streams.
func (w Write) streamed() (field int, content proto.Message) {
	switch {
	case w.Reserve != nil:
		return fieldStreamReserve, w.Reserve
	case w.Commit != nil:
		return fieldStreamCommit, w.Commit
	case w.Release != nil:
		return fieldStreamRelease, w.Release
	}
	return fieldStreamCharge, w.Charge
}

// contentOf decodes a frozen write. It cannot fail, because this client encoded the bytes
// itself.
func contentOf(it *item) Write {
	method, request := it.method, proto.Message(nil)
	for _, w := range []Write{{Charge: &pb.Charge{}}, {Close: &pb.Close{}},
		{Reserve: &pb.Reserve{}}, {Commit: &pb.Commit{}},
		{Release: &pb.Release{}}, {Expire: &pb.Expire{}}, {Free: &pb.Free{}}, {Refund: &pb.Refund{}},
		{Raise: &pb.Raise{}}, {Reconcile: &pb.Reconcile{}},
		{Acknowledge: &pb.Acknowledge{}},
		{Propose: &pb.Propose{}}, {Approve: &pb.Approval{}}, {Withdraw: &pb.Withdraw{}},
		{Set: &pb.LedgerSet{}, Reserve: &pb.Reserve{}}, {Set: &pb.LedgerSet{}},
		{SetCommit: &pb.SetCommit{}}, {SetRelease: &pb.SetRelease{}}} {
		if m, r, _ := w.unary("", "", 0); m == method {
			request = r
		}
	}
	_ = proto.Unmarshal(it.request, request)
	switch r := request.(type) {
	case *pb.CloseLedgerRequest:
		return Write{Close: &pb.Close{Reason: r.GetReason()}}
	case *pb.ReserveRequest:
		return Write{Reserve: r.GetReserve()}
	case *pb.CommitRequest:
		return Write{Commit: r.GetCommit()}
	case *pb.ReleaseRequest:
		return Write{Release: r.GetRelease()}
	case *pb.ExpireRequest:
		return Write{Expire: r.GetExpire()}
	case *pb.FreeRequest:
		return Write{Free: r.GetFree()}
	case *pb.RefundRequest:
		return Write{Refund: r.GetRefund()}
	case *pb.RaiseRequest:
		return Write{Raise: r.GetRaise()}
	case *pb.ReconcileRequest:
		return Write{Reconcile: r.GetReconcile()}
	case *pb.AcknowledgeRequest:
		return Write{Acknowledge: r.GetAcknowledge()}
	case *pb.ProposeRequest:
		return Write{Propose: r.GetPropose()}
	case *pb.ApproveRequest:
		return Write{Approve: &pb.Approval{Proposal: r.GetProposal()}}
	case *pb.WithdrawRequest:
		return Write{Withdraw: r.GetWithdraw()}
	case *pb.ReportRequest:
		return Write{Charge: r.GetCharge()}
	case *pb.ReportSetRequest:
		return Write{Set: r.GetSet(), Contribution: r.GetContribution(), Charge: r.GetCharge()}
	case *pb.ReserveSetRequest:
		return Write{Set: r.GetSet(), Contribution: r.GetContribution(), Reserve: r.GetReserve()}
	case *pb.CommitSetRequest:
		return Write{SetCommit: r.GetCommit()}
	case *pb.ReleaseSetRequest:
		return Write{SetRelease: r.GetRelease()}
	}
	return Write{}
}

// freezeItem returns the frozen request of w, and an empty answer to decode into.
func freezeItem(op, ledger, writer string, sequence uint64, w Write) (*item, proto.Message, error) {
	method, request, answer := w.unary(ledger, writer, sequence)
	b, err := freeze(op, ledger, request)
	return &item{sequence: sequence, method: method, request: b}, answer, err
}

// inLane sends w as the next write of this client's lane. A is the type of its answer.
func inLane[A proto.Message](ctx context.Context, c *Client, op, ledger string, w Write) (answer A, err error) {
	got, err := c.write(ctx, op, ledger, w)
	if err != nil {
		return answer, err
	}
	return got.(A), nil
}

// once sends w under a key that the caller chose for this one write.
func once[A proto.Message](ctx context.Context, c *Client, op, ledger, key string, w Write) (answer A, err error) {
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return answer, err
	}
	it, got, err := freezeItem(op, ledger, writer, 1, w)
	if err != nil {
		return answer, err
	}
	if err := c.send(ctx, op, &lane{ledger: ledger}, it, got); err != nil { // a lane of its own
		return answer, err
	}
	return got.(A), nil
}

// inKey has the letters of which a key may consist.
const inKey = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// requestWriter returns the writer's name for a key, or an error for a key that is not allowed.
func requestWriter(op, ledger, key string) (string, error) {
	other := func(r rune) bool { return !strings.ContainsRune(inKey, r) }
	if key == "" || len(key) > 128 || strings.ContainsFunc(key, other) {
		return "", invalid(op, ledger, fmt.Sprintf("key: %q; allowed: 1 to 128 bytes of [A-Za-z0-9._-]", key))
	}
	return "request/" + key, nil
}
