// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// One acknowledgement of each ascending run, a rejection of each refusal, and
// nothing after an outcome that is no decision.
func TestAnswers(t *testing.T) {
	ok := func(sequence uint64) keeper.LaneResult {
		return keeper.LaneResult{Sequence: sequence, Result: keeper.Result{Receipt: ledger.Receipt{Sequence: sequence}}}
	}
	bad := func(sequence uint64, err error) keeper.LaneResult {
		return keeper.LaneResult{Sequence: sequence, Err: err}
	}
	for _, c := range []struct {
		results []keeper.LaneResult
		want    []string
		fails   bool
	}{
		{[]keeper.LaneResult{ok(1)}, []string{"ack 1"}, false},
		{[]keeper.LaneResult{ok(1), ok(2), ok(5)}, []string{"ack 5"}, false},
		{[]keeper.LaneResult{ok(4), ok(5), ok(2), ok(3)}, []string{"ack 5", "ack 3"}, false},
		{[]keeper.LaneResult{ok(4), ok(4)}, []string{"ack 4", "ack 4"}, false},
		{[]keeper.LaneResult{ok(1), bad(2, ledger.ErrReused), ok(2), ok(3)},
			[]string{"ack 1", "reject 2", "ack 3"}, false},
		{[]keeper.LaneResult{bad(1, ledger.ErrClosed), bad(1, ledger.ErrClosed)},
			[]string{"reject 1", "reject 1"}, false},
		{[]keeper.LaneResult{ok(1), bad(2, ledger.ErrUnknown), ok(3), bad(4, ledger.ErrGap)}, []string{"ack 1"}, true},
		{[]keeper.LaneResult{bad(1, ledger.ErrUnavailable)}, nil, true},
	} {
		r := &reports{metrics: NewMetrics(), refusals: newRefusals(refusalConfig{Now: time.Now, Say: said})}
		answers, err := r.answers(c.results)
		var got []string
		for _, a := range answers {
			switch m := a.Message.(type) {
			case *pb.ReportStreamResponse_Acknowledged_:
				got = append(got, fmt.Sprint("ack ", m.Acknowledged.Through))
				if m.Acknowledged.GetReceipt().GetSequence() != m.Acknowledged.Through {
					t.Errorf("through %d with receipt %v", m.Acknowledged.Through, m.Acknowledged.Receipt)
				}
			case *pb.ReportStreamResponse_Rejected_:
				got = append(got, fmt.Sprint("reject ", m.Rejected.Sequence))
			}
		}
		if !slices.Equal(got, c.want) || (err != nil) != c.fails {
			t.Errorf("%v: %v, %v; want %v", c.results, got, err, c.want)
		}
	}
}
