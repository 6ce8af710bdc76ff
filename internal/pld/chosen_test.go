package pld

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/pld/pldtest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// bestRow is the best of several runs, with what some order of the outputs reaches.
type bestRow struct {
	losstest.Workload
	Truth []struct{ Epsilon, Low float64 }
}

// No order of the outputs and no set of good ones costs more than is said.
func TestBestOfAgainstOrders(t *testing.T) {
	var data struct{ Rows []bestRow }
	losstest.Read(t, "testdata/best.json", &data)
	if len(data.Rows) < 200 {
		t.Fatalf("%d rows", len(data.Rows))
	}
	for i := 0; i < len(data.Rows); i += testaid.Every(20) {
		row := data.Rows[i]
		c := pldtest.Workload(t, row.Workload)
		for _, u := range row.Truth {
			b, reason := LogDelta(c, u.Epsilon, Wanted{})
			if reason != "" || !(b.Upper >= math.Log(u.Low)) || b.Lower > b.Upper {
				t.Errorf("%s: δ(%v) in [%v, %v] %s, some order has %v", row.Name, u.Epsilon,
					math.Exp(b.Lower), math.Exp(b.Upper), reason, u.Low)
			}
		}
	}
}
