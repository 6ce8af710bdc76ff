// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire"
)

// commitLate commits what was released before. If the reservation has ended, its rest was charged: then the answer is
// the receipt of the entry that charged it.
func (s *service) commitLate(ctx context.Context, in *pb.Lane, path string,
	m proto.Message) (*pb.WriteResponse, error) {
	if err := checkOne(in); err != nil {
		return nil, err
	}
	var asked ledger.Commit
	answer, err := s.write(ctx, in, false, func(adj mechanism.Adjacency) (ledger.Action, ledger.Digest, error) {
		v, err := wire.To[ledger.Commit](path, adj, m)
		asked, _ = ledger.HeldBy(v, passage(ctx).Holder()).(ledger.Commit)
		return digested(asked, err)
	})
	if !errors.Is(err, ledger.ErrReservation) && !errors.Is(err, ledger.ErrClosed) {
		return answer, err
	}
	w, failed := s.lane(ctx, "lane", in.GetLedger(), in.GetWriter())
	if failed != nil {
		return nil, failed
	}
	if err := s.inTime.Admit(ctx); err != nil {
		return nil, err
	}
	r, late := turns.Beside(ctx, s.inTime, turns.NothingYet, func(*turns.Turn) (ledger.Receipt, error) {
		return s.keeper.ChargedBefore(ctx, in.GetLedger(), w, asked)
	})
	if late != nil {
		return nil, late
	}
	return &pb.WriteResponse{Receipt: wire.FromReceipt(r), AlreadyCharged: true}, nil
}
