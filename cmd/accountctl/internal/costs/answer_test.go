// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

func workload(t *testing.T, json string) *accountantv1.Workload {
	t.Helper()
	w := &accountantv1.Workload{}
	if err := wirejson.Unmarshal([]byte(json), w); err != nil {
		t.Fatal(err)
	}
	return w
}

const (
	dpsgd = `{"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"mechanism": {"dpSgd": {"noiseMultiplier": 1.1, "batchSize": 256, "datasetSize": 60000, "epochs": 60}}, "count": 1}]}`
	pure  = `{"adjacency": "REPLACE_ONE", "events": [{"mechanism": {"pureDp": {"epsilon": 0.25}}, "count": 3}]}`
	wrong = `{"adjacency": "REPLACE_ONE", "events": [{"mechanism": {"pureDp": {"epsilon": -1}}, "count": 3}]}`
)

func question(t *testing.T, method string, seconds float64, m proto.Message) []byte {
	t.Helper()
	content, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return framed(t, &accountantv1.Asked{Method: method, Request: content, Seconds: seconds})
}

func framed(t *testing.T, asked *accountantv1.Asked) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := protodelim.MarshalTo(&out, asked); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func query(w *accountantv1.Workload, delta float64) *accountantv1.QueryPrivacyRequest {
	return &accountantv1.QueryPrivacyRequest{
		Subject: &accountantv1.QueryPrivacyRequest_Workload{Workload: w},
		Given:   &accountantv1.QueryPrivacyRequest_Delta{Delta: delta}}
}

// slow ends the input only once so many answers have come, since its end ends the question.
type slow struct {
	questions *bytes.Reader
	out       *waiting
}

func (s slow) Read(b []byte) (int, error) {
	if s.questions.Len() == 0 {
		<-s.out.all
	}
	return s.questions.Read(b)
}

type waiting struct {
	bytes.Buffer
	left int
	all  chan struct{}
}

func (w *waiting) Flush() error {
	if w.left--; w.left == 0 {
		close(w.all)
	}
	return nil
}

func TestAnswers(t *testing.T) {
	exact := workload(t, pure) // 3 × 0.25, by basic composition, which is the best there is at δ = 0 or nearly
	curve := &accountantv1.QueryPrivacyCurveRequest{
		Subject: &accountantv1.QueryPrivacyCurveRequest_Workload{Workload: exact}, Epsilons: []float64{0, 0.75}}
	calibrated := &accountantv1.CalibrateRequest{TargetEpsilon: proto.Float64(2),
		TargetDelta: proto.Float64(1e-6), Event: exact.Events[0],
		Solve: accountantv1.CalibrateRequest_COUNT, Workload: &accountantv1.Workload{Adjacency: exact.Adjacency}}
	onLedger := query(nil, 1e-5)
	onLedger.Subject = &accountantv1.QueryPrivacyRequest_Ledger{Ledger: "team/mnist"}
	cases := []struct {
		question []byte
		code     codes.Code
		check    func(text string) bool
	}{
		{question(t, "QueryPrivacy", 0, query(exact, 1e-300)), codes.OK, func(s string) bool {
			a := &accountantv1.QueryPrivacyResponse{}
			return proto.Unmarshal([]byte(s), a) == nil && math.Abs(a.GetEpsilon()-0.75) < 1e-9
		}},
		{question(t, "Explain", 60, query(exact, 1e-300)), codes.OK, func(s string) bool {
			var a struct {
				Epsilon float64
				Bounds  []struct{ Analysis, Says, Source string }
			}
			return json.Unmarshal([]byte(s), &a) == nil && math.Abs(a.Epsilon-0.75) < 1e-9 && len(a.Bounds) > 5 &&
				a.Bounds[0].Source != ""
		}},
		{question(t, "QueryPrivacyCurve", 0, curve), codes.OK, func(s string) bool {
			a := &accountantv1.QueryPrivacyCurveResponse{}
			// At ε = 0, δ is the total variation distance, which is at most 1 − e^(−0.75)… and 0 at ε = 0.75.
			return proto.Unmarshal([]byte(s), a) == nil && len(a.Points) == 2 && a.Points[0].Delta > 0.1 &&
				a.Points[1].Delta < 1e-9
		}},
		{question(t, "Calibrate", 0, calibrated), codes.OK, func(s string) bool {
			a := &accountantv1.CalibrateResponse{}
			return proto.Unmarshal([]byte(s), a) == nil && a.GetValue() >= 8 && a.GetField() == "count" // 8 × 0.25 = 2
		}},
		{question(t, "QueryPrivacy", 0, query(workload(t, wrong), 1e-5)), codes.InvalidArgument,
			func(s string) bool { return strings.Contains(s, "epsilon: -1") }},
		{question(t, "QueryPrivacy", 0, query(exact, 2)), codes.InvalidArgument,
			func(s string) bool { return strings.Contains(s, "delta: 2") }},
		{question(t, "QueryPrivacy", 0, onLedger), codes.InvalidArgument,
			func(s string) bool { return strings.Contains(s, "team/mnist") }},
		{question(t, "Ask", 0, query(exact, 1e-5)), codes.InvalidArgument,
			func(s string) bool {
				return strings.Contains(s, `method: "Ask"; allowed: Calibrate, Explain, QueryPrivacy, QueryPrivacyCurve`)
			}},
		{framed(t, &accountantv1.Asked{Method: "QueryPrivacy", Request: []byte{0, 0}}), codes.InvalidArgument,
			func(s string) bool { return strings.Contains(s, "no message of the API") }},
		{question(t, "QueryPrivacy", 1e-9, query(workload(t, dpsgd), 1e-5)), codes.OK,
			func(s string) bool { return strings.Contains(s, "there was no time left") }},
	}
	var all []byte
	for _, c := range cases {
		all = append(all, c.question...)
	}
	out := &waiting{left: len(cases), all: make(chan struct{})}
	if err := answerAll(t.Context(), slow{bytes.NewReader(all), out}, out); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		answered := &accountantv1.Answered{}
		if err := protodelim.UnmarshalFrom(&out.Buffer, answered); err != nil {
			t.Fatal(err)
		}
		text := string(answered.Response) + answered.Error
		if codes.Code(answered.Code) != c.code || !c.check(text) {
			t.Errorf("answer %d: %v %.300q; want %v", i, codes.Code(answered.Code), text, c.code)
		}
	}
}

func TestAnswersEnd(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"", ""}, {"\xff", "unexpected EOF"}, {"\x05abc", "unexpected EOF"},
		{"\xff\xff\xff\xff\x0f", "at most 67108864 bytes"},
		{"\x02\x00\x00", "cannot be read"},
	} {
		var out bytes.Buffer
		err := answerAll(t.Context(), strings.NewReader(c.input), bufio.NewWriter(&out))
		if out.Len() > 0 || (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %q, %v; want %q", c.input, out.String(), err, c.want)
		}
	}
}

// A question that is being answered ends when its asker does.
func TestTheEndOfTheInputEndsAQuestion(t *testing.T) {
	in, asker := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- answerAll(ctx, in, &waiting{left: -1}) }()
	parts := make([]string, 40)
	for i := range parts { // takes minutes
		parts[i] = `{"mechanism": {"poissonSampled": {"samplingProbability": 0.0` + strings.Repeat("1", i+1) +
			`, "mechanism": {"laplace": {"scale": 1.5, "sensitivity": 1}}}}, "count": 4000000}`
	}
	hard := query(workload(t, `{"adjacency": "REPLACE_ONE", "events": [`+strings.Join(parts, ",")+`]}`), 1e-9)
	gap := 1e-9
	hard.MaxGap = &gap
	if _, err := asker.Write(question(t, "QueryPrivacy", 0, hard)); err != nil {
		t.Fatal(err)
	}
	if err := asker.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}
