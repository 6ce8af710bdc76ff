// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

const (
	// maxShortfalls bounds what a refusal lists: its status travels in the headers.
	// The message says how many more there are.
	maxShortfalls = 32
	// maxExceededBytes bounds it in bytes: many clients have room for 8 KiB of headers,
	// with the message.
	maxExceededBytes = 2 << 10
	// maxShortfallText bounds each text of a shortfall.
	maxShortfallText = 256
)

// FromBudgetError makes the API's view of a refusal by budgets or the plan: every
// budget that it breaks and, of each mechanism, how many would still fit; of each
// list at most maxShortfalls, and of both as many as maxExceededBytes have room for. Where
// a mechanism is not in the plan, what the plan holds comes last.
func FromBudgetError(e *budget.Error) *pb.BudgetExceeded {
	out, room := &pb.BudgetExceeded{}, maxExceededBytes
	for _, s := range e.Broken[:min(len(e.Broken), maxShortfalls)] {
		short := &pb.BudgetExceeded_Shortfall{Unit: Cut(s.Unit, maxShortfallText), Needed: s.Needed, Left: s.Left,
			Short: s.Short, Reason: Cut(s.Reason, maxShortfallText)}
		if s.Index >= 0 {
			index := uint32(s.Index)
			short.Budget = &index
		}
		if room -= proto.Size(short) + TagAndLength; room < 0 {
			break
		}
		out.Shortfalls = append(out.Shortfalls, short)
	}
	for _, f := range e.Fits[:min(len(e.Fits), maxShortfalls)] {
		fits := FromPart(f)
		if room -= proto.Size(fits) + TagAndLength; room < 0 {
			break
		}
		out.Fits = append(out.Fits, fits)
	}
	for _, u := range e.Unplanned {
		unplanned := fromUnplanned(u)
		if room -= proto.Size(unplanned) + TagAndLength; room < 0 {
			break
		}
		out.Unplanned = append(out.Unplanned, unplanned)
	}
	for _, p := range e.Plan {
		line := fromPlanLeft(p)
		if room -= proto.Size(line) + TagAndLength; room < 0 {
			break
		}
		out.Plan = append(out.Plan, line)
	}
	return out
}

func fromUnplanned(u budget.Unplanned) *pb.BudgetExceeded_Unplanned {
	out := &pb.BudgetExceeded_Unplanned{Mechanism: FromMechanism(u.Mechanism), Nearest: fromPlanLeft(u.Nearest)}
	for _, d := range u.Differences {
		out.Differences = append(out.Differences,
			&pb.BudgetExceeded_Difference{Field: d.Field, Sent: d.A, Planned: d.B})
	}
	return out
}

func fromPlanLeft(p budget.PlanLeft) *pb.BudgetExceeded_PlanLine {
	return &pb.BudgetExceeded_PlanLine{Mechanism: FromMechanism(p.Mechanism), Planned: p.Planned, Remaining: p.Left}
}

func FromPart(p mechanism.Part) *pb.MechanismCount {
	return &pb.MechanismCount{Mechanism: FromMechanism(p.Mechanism), Count: p.Count}
}
