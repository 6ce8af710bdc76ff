// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// ApprovalForm converts by whose proposal and approval an entry's action was done.
var ApprovalForm = FormOf[ledger.Approval, *pb.Approval]()

// CheckApprove checks the request to approve a proposal.
func CheckApprove(m *pb.Approve) error {
	if m.GetProposal() == 0 {
		return Absent("approve.proposal", "the position of the entry that proposed it, ≥ 1")
	}
	return checkText("approve.comment", m.GetComment(), maxReason)
}

// maxProposed bounds the bytes of what is proposed in one answer, which clients accept only up to 4 MiB.
const maxProposed = 1 << 20

// fromProposals makes the API's view of open proposals, without what would be too long and is in their entries.
func fromProposals(list []ledger.OpenProposal) (out []*pb.Proposal) {
	left := maxProposed
	for _, p := range list {
		listed := &pb.Proposal{Position: p.Position, Principal: p.Principal, ExpireTime: timestamppb.New(p.Deadline)}
		what := FromAction(p.Propose).(*pb.Propose)
		if n := proto.Size(what); n <= left {
			left -= n
			listed.Propose = what
		}
		out = append(out, listed)
	}
	return out
}
