package wire

import (
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// maxShortfalls bounds what a refusal lists: its status travels in the headers'
// size. The message says how many more there are.
const maxShortfalls = 32

// FromBudgetError makes the API's view of a refusal by budgets or the plan: every
// budget that it breaks and, of each mechanism, how many would still fit; of each
// list at most maxShortfalls.
func FromBudgetError(e *ledger.BudgetError) *pb.BudgetExceeded {
	out := &pb.BudgetExceeded{}
	for _, s := range e.Broken[:min(len(e.Broken), maxShortfalls)] {
		short := &pb.BudgetExceeded_Shortfall{Unit: s.Unit, Needed: s.Needed, Left: s.Left, Short: s.Short, Reason: s.Reason}
		if s.Index >= 0 {
			index := uint32(s.Index)
			short.Budget = &index
		}
		out.Shortfalls = append(out.Shortfalls, short)
	}
	for _, f := range e.Fits[:min(len(e.Fits), maxShortfalls)] {
		out.Fits = append(out.Fits, fromPart(f))
	}
	return out
}

func fromPart(p mechanism.Part) *pb.MechanismCount {
	return &pb.MechanismCount{Mechanism: FromMechanism(p.Mechanism), Count: p.Count}
}
