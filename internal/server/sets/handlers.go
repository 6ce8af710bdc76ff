package sets

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Handlers implement the calls about sets; all others are unimplemented.
type Handlers struct {
	api.Unimplemented
	Of func(ctx context.Context) Call
	// Compare compares a receipt that the client holds with the ledger of this name.
	Compare func(field, name string, kept *pb.Receipt) error
	Count   func(accepted, replayed bool, err error) // for the metrics
	// Refused remembers why a request in a lane was not carried out, if its ledgers refused it.
	Refused  func(w ledger.Writer, sequence uint64, err error)
	Reserved func()           // something was reserved, and has a time
	Refusal  func(error) bool // whether asking again does not help
	About    About
}

// write has a request decided, and counts the outcome.
func write[R interface {
	lane
	GetLastReceipt() *pb.SetReceipt
}](ctx context.Context, h *Handlers, req R, checkOnly bool,
	do func(Call, context.Context, R) (keeper.SetResult, error)) (keeper.SetResult, error) {
	err, call := h.compare(req.GetLastReceipt()), h.Of(ctx)
	var result keeper.SetResult
	if err == nil {
		result, err = do(call, ctx, req)
	}
	h.Count(!checkOnly, result.Replayed, err)
	if err != nil && !checkOnly {
		h.Refused(ledger.Writer{Principal: call.Principal, Name: req.GetWriter()}, req.GetSequence(), err)
	}
	return result, err
}

// compare compares a receipt that the client holds with the journal that it names.
func (h *Handlers) compare(kept *pb.SetReceipt) error {
	if kept == nil {
		return nil
	}
	if _, ok := ledger.JournalNumber(kept.GetJournal()); !ok {
		return wire.Invalid("last_receipt.journal", wire.Quote(kept.GetJournal()),
			"that of a set's receipt, such as "+ledger.JournalName(3))
	}
	return h.Compare("last_receipt", kept.GetJournal(), &pb.Receipt{StoreId: kept.GetStoreId(),
		Ledger: kept.GetJournal(), Writer: kept.GetWriter(), Sequence: kept.GetSequence(), Position: kept.GetPosition(),
		HeadHash: kept.GetHeadHash(), Time: kept.GetTime()})
}

// ReportSet implements the API.
func (h *Handlers) ReportSet(ctx context.Context, req *pb.ReportSetRequest) (*pb.ReportSetResponse, error) {
	result, err := write(ctx, h, req, req.GetCheckOnly(), Call.Report)
	answer := &pb.ReportSetResponse{Receipt: FromResult(result), Replayed: result.Replayed,
		CheckOnly: req.GetCheckOnly() && !result.Replayed}
	var refusal *ledger.SetRefusal
	switch {
	case err == nil:
		if answer.CheckOnly {
			for _, m := range result.Members {
				answer.Ledgers = append(answer.Ledgers, m.Ledger)
			}
		}
	case req.GetCheckOnly() && h.Refusal(err) && errors.As(err, &refusal):
		answer.Refusal, answer.Ledgers = FromError(refusal, false, h.About), refusal.Set
	default:
		return nil, err
	}
	return answer, nil
}

// ReserveSet implements the API.
func (h *Handlers) ReserveSet(ctx context.Context, req *pb.ReserveSetRequest) (*pb.ReserveSetResponse, error) {
	result, err := write(ctx, h, req, false, Call.Reserve)
	if err != nil {
		return nil, err
	}
	h.Reserved()
	lifetime := time.Duration(req.GetReserve().GetLifetimeSeconds()) * time.Second
	return &pb.ReserveSetResponse{Receipt: FromResult(result), Replayed: result.Replayed,
		ExpireTime: timestamppb.New(result.Receipt.Time.Add(lifetime))}, nil
}

// CommitSet implements the API.
func (h *Handlers) CommitSet(ctx context.Context, req *pb.CommitSetRequest) (*pb.CommitSetResponse, error) {
	result, err := write(ctx, h, req, false, Call.Commit)
	if err != nil {
		return nil, err
	}
	return &pb.CommitSetResponse{Receipt: FromResult(result), Replayed: result.Replayed}, nil
}

// ReleaseSet implements the API.
func (h *Handlers) ReleaseSet(ctx context.Context, req *pb.ReleaseSetRequest) (*pb.ReleaseSetResponse, error) {
	result, err := write(ctx, h, req, false, Call.Release)
	if err != nil {
		return nil, err
	}
	return &pb.ReleaseSetResponse{Receipt: FromResult(result), Replayed: result.Replayed}, nil
}
