// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/wire"
)

// GetAccess implements the API.
func (s *service) GetAccess(ctx context.Context, req *pb.GetAccessRequest) (*pb.GetAccessResponse, error) {
	about := callerOf(ctx).identity()
	if req.GetPrincipal() != "" { // also of the caller's own: then it is not the connection that counts
		about = gate.Identity{Caller: access.Caller{Principal: req.GetPrincipal(), Groups: req.GetGroups()}}
	}
	answer := &pb.GetAccessResponse{Principal: about.Principal, Groups: about.Groups, Problem: s.gate.Problem(),
		Grants: s.gate.Grants(about.Caller)}
	if p := s.gate.Policy(); p != nil {
		answer.PolicyInForce, answer.PolicySha256, answer.TwoPeople = true, p.Digest[:], p.ApproveWithin > 0
	}
	if req.GetMethod() == "" {
		return answer, nil
	}
	method, ok := gate.Method(req.GetMethod())
	if !ok {
		return nil, wire.Invalid("method", wire.Quote(req.GetMethod()), strings.Join(gate.Methods(), ", "))
	}
	if method != "CreateLedger" && (req.GetParent() != "" || req.GetDataset() != "") {
		return nil, wire.Invalid("parent and dataset", "given with "+method, "with CreateLedger only, as the daemon "+
			"knows them of ledgers that exist")
	}
	answer.Allowed, answer.Reason = s.gate.Ask(about, gate.Question{Method: method, Ledger: req.GetLedger(),
		Parent: req.GetParent(), Dataset: req.GetDataset()})
	return answer, nil
}
