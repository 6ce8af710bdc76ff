// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// GetSignedHead implements the API.
func (s *service) GetSignedHead(ctx context.Context, req *pb.GetSignedHeadRequest) (*pb.GetSignedHeadResponse, error) {
	if err := wire.CheckLedgerName("ledger", req.GetLedger()); err != nil {
		return nil, err
	}
	if s.signer.Key == nil {
		return nil, status.Error(codes.Unimplemented, "signed head: this server has no signing key")
	}
	summary, err := s.keeper.Summary(ctx, req.GetLedger())
	if err != nil {
		return nil, err
	}
	head, err := s.signer.Sign(s.store.ID(), req.GetLedger(), summary.Head)
	if err != nil {
		return nil, err
	}
	return &pb.GetSignedHeadResponse{SignedHead: head}, nil
}
