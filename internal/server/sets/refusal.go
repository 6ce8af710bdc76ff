package sets

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

const (
	// DetailBytes bounds the detail of an error, which travels in the headers: many clients have room for
	// 8 KiB of them, with the message.
	DetailBytes = 3 << 10
	// MessageBytes bounds the message beside it.
	MessageBytes = 1 << 10
	// answerBytes bounds the answer to check_only.
	answerBytes = 3 << 20
	// detailReason is how much of the text about one ledger a detail has at least.
	detailReason = 160
)

// About says which code a ledger's error has, and what its budgets lack; nil if it is no refusal by them.
type About func(error) (code uint32, lacks *pb.BudgetExceeded)

// FromError makes the API's view of a refusal: all ledgers that have refused it, or in an error's detail
// as many as there is room for.
func FromError(e *ledger.SetRefusal, detail bool, about About) *pb.SetRefusal {
	out, room := &pb.SetRefusal{Ledgers: uint32(len(e.Set))}, answerBytes
	if detail {
		room = DetailBytes
	}
	for _, p := range e.Fits {
		fits := wire.FromPart(p)
		if room -= proto.Size(fits) + wire.TagAndLength; room < 0 {
			break
		}
		out.Fits = append(out.Fits, fits)
	}
	reason := max(detailReason, room/2/max(len(e.Refused), 1))
	for i, m := range e.Refused {
		code, exceeded := about(m.Err)
		said := &pb.SetRefusal_Member{Ledger: m.Ledger, Code: int32(code), BudgetExceeded: exceeded}
		switch {
		case !detail:
			said.Reason = m.Reason()
		case exceeded != nil: // numbers say it in fewer bytes
			said.BudgetExceeded = &pb.BudgetExceeded{Shortfalls: exceeded.GetShortfalls()}
		default:
			said.Reason = wire.Cut(m.Reason(), reason)
		}
		if room -= proto.Size(said) + wire.TagAndLength; room < 0 {
			out.More = uint32(len(e.Refused) - i)
			break
		}
		out.Members = append(out.Members, said)
	}
	return out
}
