// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// QueryPrivacyCurve implements the API. For a ledger it reads one committed position, and
// answers under the ledger's guarantee.
func (s *service) QueryPrivacyCurve(ctx context.Context,
	req *pb.QueryPrivacyCurveRequest) (*pb.QueryPrivacyCurveResponse, error) {
	q, err := questions.ToCurveQuestion(req)
	if err != nil {
		return nil, err
	}
	about, err := s.subject(ctx, q.Ledger, q.Workload)
	if err != nil {
		return nil, err
	}
	if err := s.inTime.Admit(ctx); err != nil {
		return nil, err
	}
	curve, err := turns.Beside(ctx, s.inTime, turns.NothingYet, func(t *turns.Turn) (accountant.Curve, error) {
		q.Question.Stop = t.Stop
		return about.AskCurve(q.Question)
	})
	if err != nil {
		return nil, err
	}
	return questions.FromCurve(curve, about.Standing), nil
}
