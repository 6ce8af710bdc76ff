package server

import (
	"context"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// QueryPrivacy implements the API: of a ledger it reads one committed position.
func (s *service) QueryPrivacy(ctx context.Context, req *pb.QueryPrivacyRequest) (*pb.QueryPrivacyResponse, error) {
	q, err := wire.ToQuestion(req)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	q.Question.Stop = stopFor(ctx, start)
	var answer accountant.Answer
	var position *uint64
	if q.Ledger == "" {
		answer, err = accountant.Ask(q.Workload, q.Question)
	} else {
		var summary ledger.Summary
		answer, summary, err = s.sessions.ask(ctx, q.Ledger, q.Question)
		position = &summary.Head.Position
	}
	if err != nil {
		return nil, err
	}
	s.metrics.queries.WithLabelValues(string(answer.Analysis)).Observe(time.Since(start).Seconds())
	return wire.FromAnswer(q.Question, answer, position), nil
}

// stopFor ends a computation with the call, and a tenth of the time before its
// deadline, so that the best bound so far still reaches the client.
func stopFor(ctx context.Context, now time.Time) func() bool {
	deadline, ok := ctx.Deadline()
	if !ok {
		return func() bool { return ctx.Err() != nil }
	}
	soon := deadline.Add(-deadline.Sub(now) / 10)
	return func() bool { return ctx.Err() != nil || time.Now().After(soon) }
}
