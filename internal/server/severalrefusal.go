// SPDX-License-Identifier: Apache-2.0

package server

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

const (
	// setDetailBytes bounds the detail of an error, which travels in the headers: many clients have room for
	// 8 KiB of them, with the message.
	setDetailBytes = 3 << 10
	// setMessageBytes bounds the message beside it.
	setMessageBytes = 1 << 10
	// setAnswerBytes bounds the answer to check_only.
	setAnswerBytes = 3 << 20
	// setDetailReason is how much of the text about one ledger a detail has at least.
	setDetailReason = 160
)

// fromSetRefusal makes the API's view of a refusal: all ledgers that have refused it, or in an error's detail
// as many as there is room for.
func fromSetRefusal(e *ledger.SetRefusal, detail bool) *pb.SetRefusal {
	out, room := &pb.SetRefusal{Ledgers: uint32(len(e.Set))}, setAnswerBytes
	if detail {
		room = setDetailBytes
	}
	for _, p := range e.Fits {
		fits := wire.FromPart(p)
		if room -= proto.Size(fits) + wire.TagAndLength; room < 0 {
			break
		}
		out.Fits = append(out.Fits, fits)
	}
	reason := max(setDetailReason, room/2/max(len(e.Refused), 1))
	for i, m := range e.Refused {
		code, exceeded := aboutMember(m.Err)
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
