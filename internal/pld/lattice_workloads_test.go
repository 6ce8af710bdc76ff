package pld

import (
	"math"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
)

func TestLatticeReferenceWorkloads(t *testing.T) {
	var workloads []losstest.Workload
	losstest.Read(t, "../accountant/testdata/workloads.json", &workloads)
	for _, w := range workloads {
		m, err := w.Composition()
		if err != nil {
			t.Fatal(err)
		}
		c, err := loss.Compose(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Truth {
			start := time.Now()
			var b loss.Bounds
			var reason string
			var want, slack, gap float64
			if r.AskedByEpsilon {
				want, gap = math.Log(r.Delta.Value), 1e-2
				slack = 2e-10
				b, reason = latticeLogDelta(c, r.Epsilon.Value, gap, nil)
			} else {
				want = r.Epsilon.Value
				gap = 1e-4 * math.Max(1, want)
				slack = 2e-10 * want
				b, reason = latticeEpsilon(c, r.Delta.Value, gap, nil)
			}
			took := time.Since(start)
			ok := ""
			if !(b.Lower <= want+slack && want-slack <= b.Upper) {
				ok = " UNSOUND"
				t.Fail()
			}
			if !(b.Upper-b.Lower <= gap) {
				ok += " WIDE"
			}
			t.Logf("%-24s %v: [%.9g, %.9g] want %.9g width %.2g %s%s %v", w.Name, r.AskedByEpsilon, b.Lower-want, b.Upper-want, want, b.Upper-b.Lower, reason, ok, took)
		}
	}
}
