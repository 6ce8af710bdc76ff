// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"math"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// plannerBody answers two questions that people have before they train: which noise, and how many
// more epochs.
type plannerBody struct {
	Form    plannerForm
	Noise   *pb.CalibrateResponse
	Epochs  *pb.CalibrateResponse
	Bounded bool   // a budget or a plan of the ledger says how many epochs fit
	Problem string // why there is no answer, in a sentence
}

// plannerForm is what was typed, as it was typed.
type plannerForm struct {
	Ask, Epsilon, Delta, Epochs, Noise, Batch, Records, Ledger string
}

func (s *site) planner(r *http.Request) (*page, error) {
	q := r.URL.Query()
	or := func(key, otherwise string) string {
		if v := q.Get(key); v != "" {
			return v
		}
		return otherwise
	}
	f := plannerForm{Ask: q.Get("ask"), Epsilon: or("epsilon", "3"), Delta: or("delta", "1e-6"),
		Epochs: or("epochs", "20"), Noise: or("noise", "1.1"), Batch: or("batch", "256"),
		Records: or("records", "60000"), Ledger: q.Get("ledger")}
	b := plannerBody{Form: f}
	var err error
	switch f.Ask {
	case "":
	case "noise":
		b.Noise, err = s.whichNoise(r, f)
	case "epochs":
		err = s.howMany(r, f, &b)
	default:
		err = status.Errorf(codes.InvalidArgument, "ask: %q; allowed: noise or epochs", f.Ask)
	}
	if err != nil { // it stands above the form, which keeps what was typed
		b.Problem = sentence(inWords(err))
	}
	return &page{Title: "Planner", Section: "planner", Body: b}, nil
}

// training is DP-SGD as the form describes it.
func (f plannerForm) training() (*pb.DpSgd, error) {
	batch, err := whole("records in a batch", f.Batch)
	if err != nil {
		return nil, err
	}
	records, err := whole("records in the dataset", f.Records)
	return &pb.DpSgd{BatchSize: &batch, DatasetSize: &records}, err
}

// whichNoise asks for the least noise with which so many epochs cost at most ε at δ.
func (s *site) whichNoise(r *http.Request, f plannerForm) (*pb.CalibrateResponse, error) {
	of, err := f.training()
	if err != nil {
		return nil, err
	}
	epochs, err := decimal("epochs", f.Epochs)
	if err != nil {
		return nil, err
	}
	of.Epochs = &epochs
	ask := &pb.CalibrateRequest{Solve: pb.CalibrateRequest_STANDARD_DEVIATION, Event: event(of)}
	return s.calibrate(r, f, ask)
}

// howMany asks how many epochs with the noise that is given fit. Of a ledger with a budget its
// guard says so, and otherwise they fit where everything costs at most ε at δ.
func (s *site) howMany(r *http.Request, f plannerForm, b *plannerBody) error {
	of, err := f.training()
	if err != nil {
		return err
	}
	noise, err := decimal("noise multiplier", f.Noise)
	if err != nil {
		return err
	}
	of.NoiseMultiplier, of.Epochs = &noise, proto.Float64(1)
	ask := &pb.CalibrateRequest{Solve: pb.CalibrateRequest_COUNT, Event: event(of), Ledger: f.Ledger}
	if f.Ledger != "" {
		got, err := s.api.GetLedger(r.Context(), &pb.GetLedgerRequest{Name: f.Ledger})
		if err != nil {
			return err
		}
		if l := got.GetLedger(); len(l.GetBudgets()) > 0 || len(l.GetPlan()) > 0 {
			b.Bounded = true
			b.Epochs, err = s.api.Calibrate(r.Context(), ask)
			return err
		}
	}
	b.Epochs, err = s.calibrate(r, f, ask)
	return err
}

func (s *site) calibrate(r *http.Request, f plannerForm, ask *pb.CalibrateRequest) (*pb.CalibrateResponse, error) {
	epsilon, err := decimal("target ε", f.Epsilon)
	if err != nil {
		return nil, err
	}
	delta, err := decimal("target δ", f.Delta)
	if err != nil {
		return nil, err
	}
	ask.TargetEpsilon, ask.TargetDelta, ask.Ledger = &epsilon, &delta, f.Ledger
	if f.Ledger == "" {
		ask.Workload = &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}
	}
	return s.api.Calibrate(r.Context(), ask)
}

func event(of *pb.DpSgd) *pb.Event {
	return &pb.Event{Count: 1, Mechanism: &pb.Mechanism{Kind: &pb.Mechanism_DpSgd{DpSgd: of}}}
}

func whole(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, status.Errorf(codes.InvalidArgument, "%s: %q; allowed: a whole number, such as 256", what, text)
	}
	return n, nil
}

func decimal(what, text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, status.Errorf(codes.InvalidArgument, "%s: %q; allowed: a number, such as 3 or 1e-6", what, text)
	}
	return x, nil
}
