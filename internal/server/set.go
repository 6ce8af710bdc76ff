// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// QueryPrivacySet implements the API. All answers together take the turns of one question.
func (s *service) QueryPrivacySet(ctx context.Context,
	req *pb.QueryPrivacySetRequest) (*pb.QueryPrivacySetResponse, error) {
	q, err := questions.ToSetQuestion(req)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	names, err := s.members(ctx, q.Members)
	if err != nil {
		return nil, err
	}
	joint, err := s.keeper.Joint(ctx, names)
	if err != nil {
		return nil, err
	}
	about, err := subject.OfSeveral(joint.Views, func(v ledger.View) ([]history.Share, bool) {
		shares, whole, err := s.overviews.Sharing(ctx, v)
		return shares, whole && err == nil // otherwise each ledger counts by its own curve
	})
	if err != nil {
		return nil, err
	}
	if err := s.inTime.Admit(ctx); err != nil {
		return nil, err
	}
	found, err := turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) (questions.SetAnswer, error) {
		return about.Ask(q.Question, t)
	})
	if err != nil {
		return nil, err
	}
	s.metrics.answered(found.All.Answer, time.Since(start))
	answer := questions.FromSetAnswer(q.Question, found)
	if n := proto.Size(answer); n > pageBytes {
		return nil, fmt.Errorf("%w: the answer about %d ledgers: %d bytes; allowed: at most %d: ask about fewer",
			ledger.ErrOutOfRange, len(names), n, pageBytes)
	}
	return answer, nil
}

// members returns the names of a set's ledgers, in the order of their bytes. Of those in a range it returns
// the ones that the caller may see.
func (s *service) members(ctx context.Context, m wire.Members) (names []string, err error) {
	for _, name := range m.Names {
		if err := passage(ctx).Member(name); err != nil {
			return nil, err
		}
	}
	if m.Range == nil {
		return m.Names, nil
	}
	return s.keeper.InRange(ctx, *m.Range, passage(ctx).Shows)
}
