// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// However long the plans are that people propose, a ledger's answer stays below the 4 MiB that clients
// accept; every proposal is listed, and short ones with what they propose.
func TestLongProposalsAreListedShort(t *testing.T) {
	t.Parallel()
	var plan []mechanism.Event
	for i := range 10_000 {
		plan = append(plan, mechanism.Event{Mechanism: mechanism.Laplace{Scale: 1 + float64(i)/3, Sensitivity: 1},
			Count: 100_000})
	}
	var list []ledger.OpenProposal
	for i := range 40 {
		v := ledger.Propose{Action: ledger.Raise{Plan: ledger.Workload{Events: plan}, Reason: "longer"},
			Lifetime: time.Hour, Person: "ann"}
		if i%2 == 1 {
			v.Action = ledger.Refund{Position: 1, Reason: "it never ran"}
		}
		list = append(list, ledger.OpenProposal{Position: uint64(i) + 1, Principal: "cn:ann", Propose: v})
	}
	got := fromProposals(list)
	if n := proto.Size(&pb.Ledger{Proposals: got}); n > 2<<20 || len(got) != len(list) {
		t.Errorf("%d proposals in %d bytes; want %d in at most 2 MiB", len(got), n, len(list))
	}
	for i, p := range got {
		if p.GetPosition() != uint64(i)+1 || i%2 == 1 && p.GetPropose().GetRefund() == nil {
			t.Errorf("%d: %v", i, p.GetPosition())
		}
	}
	if got[0].GetPropose().GetRaise() == nil {
		t.Error("the first plan is left out, too")
	}
}
