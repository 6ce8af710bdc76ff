package server

import (
	"context"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// QueryPrivacyCurve implements the API: of a ledger it reads one committed
// position.
func (s *service) QueryPrivacyCurve(ctx context.Context, req *pb.QueryPrivacyCurveRequest) (*pb.QueryPrivacyCurveResponse, error) {
	q, err := wire.ToCurveQuestion(req)
	if err != nil {
		return nil, err
	}
	composition, position, err := s.subject(ctx, q.Ledger, q.Workload)
	if err != nil {
		return nil, err
	}
	q.Question.Stop = stopFor(ctx, time.Now())
	curve, err := accountant.AskCurve(composition, q.Question)
	if err != nil {
		return nil, err
	}
	return wire.FromCurve(curve, position), nil
}

// Calibrate implements the API: on top of one committed position of a ledger, if
// one is named. Nothing is written.
func (s *service) Calibrate(ctx context.Context, req *pb.CalibrateRequest) (*pb.CalibrateResponse, error) {
	q, err := wire.ToCalibration(req)
	if err != nil {
		return nil, err
	}
	calibration, position := q.Calibration, (*uint64)(nil)
	if q.Ledger != "" {
		var charged mechanism.Composition
		if charged, position, err = s.subject(ctx, q.Ledger, charged); err != nil {
			return nil, err
		}
		if calibration, err = q.With(charged); err != nil {
			return nil, err
		}
	}
	calibration.Stop = stopFor(ctx, time.Now())
	found, err := accountant.Calibrate(calibration)
	if err != nil {
		return nil, err
	}
	return wire.FromCalibrated(found, position), nil
}

// subject is what is asked about: a ledger's committed state with its position,
// or the workload.
func (s *service) subject(ctx context.Context, ledger string, workload mechanism.Composition) (mechanism.Composition, *uint64, error) {
	if ledger == "" {
		return workload, nil, nil
	}
	c, summary, err := s.keeper.Composition(ctx, ledger)
	if err != nil {
		return mechanism.Composition{}, nil, err
	}
	return c, &summary.Head.Position, nil
}
