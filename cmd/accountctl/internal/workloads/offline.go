// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/questions"
)

// Solver finds the answer to a question: accountant.Ask, or one analysis alone.
type Solver func(mechanism.Composition, accountant.Question) (accountant.Answer, error)

// Privacy answers QueryPrivacy for a workload, by solve. Once stop says so, it ends with what is proven by then, or
// with accountant.ErrStopped.
func Privacy(r *pb.QueryPrivacyRequest, solve Solver, stop func() bool) (*pb.QueryPrivacyResponse, error) {
	q, err := questions.ToQuestion(r)
	if err != nil {
		return nil, err
	}
	q.Question.Stop = stop
	answer, err := solve(q.Workload, q.Question)
	if err != nil {
		return nil, err
	}
	return questions.FromAnswer(q.Question, answer, questions.Standing{Mechanisms: q.Workload}), nil
}

// Curve answers QueryPrivacyCurve for a workload. It stops as Privacy does.
func Curve(r *pb.QueryPrivacyCurveRequest, stop func() bool) (*pb.QueryPrivacyCurveResponse, error) {
	q, err := questions.ToCurveQuestion(r)
	if err != nil {
		return nil, err
	}
	q.Question.Stop = stop
	curve, err := accountant.AskCurve(q.Workload, q.Question)
	if err != nil {
		return nil, err
	}
	return questions.FromCurve(curve, questions.Standing{Mechanisms: q.Workload}), nil
}

// Calibrate answers Calibrate for a workload. It stops as Privacy does.
func Calibrate(r *pb.CalibrateRequest, stop func() bool) (*pb.CalibrateResponse, error) {
	q, err := questions.ToCalibration(r)
	if err != nil {
		return nil, err
	}
	q.Calibration.Stop = stop
	found, err := accountant.Calibrate(q.Calibration)
	if err != nil {
		return nil, err
	}
	return questions.FromCalibrated(q.Calibration, found, questions.Standing{}), nil
}
