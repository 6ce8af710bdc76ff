// SPDX-License-Identifier: Apache-2.0

package lattice

import (
	"math"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
)

// problemsOf puts a workload on the lattice, in every direction.
func problemsOf(t *testing.T, w losstest.Workload) []*problem {
	t.Helper()
	m, err := w.Composition()
	if err != nil {
		t.Fatalf("%s: %v", w.Name, err)
	}
	c, err := kinds.Compose(m)
	if err != nil {
		t.Fatalf("%s: %v", w.Name, err)
	}
	var problems []*problem
	for _, d := range c.Directions() {
		p, reason := newProblem(c, d, nil)
		if reason != "" {
			t.Fatalf("%s: %s", w.Name, reason)
		}
		problems = append(problems, p)
	}
	return problems
}

// askLattice asks every direction.
func askLattice(problems []*problem, q *question) loss.Bounds {
	b := loss.Bounds{Lower: math.Inf(-1), Upper: math.Inf(-1)}
	for _, p := range problems {
		one, _ := p.solve(q, b.Lower, nil)
		b.Lower, b.Upper = math.Max(b.Lower, one.Lower), math.Max(b.Upper, one.Upper)
	}
	return b
}

// checkRows checks every row of an oracle's file: enclosed within tolerance
// (relative), and as narrow as asked for unless wide names the workload.
func checkRows(t *testing.T, rows []losstest.Workload, tolerance float64, wide map[string]bool) {
	t.Helper()
	for _, w := range rows {
		problems := problemsOf(t, w)
		narrow := true
		scale := 1.0
		if strings.HasPrefix(w.Name, "dpsgd-") {
			scale = 50
		}
		for _, r := range w.Truth {
			if r.AskedByEpsilon {
				q := question{epsilon: r.Epsilon.Value, gap: scale * 1e-2}
				b := askLattice(problems, &q)
				want := math.Inf(-1)
				switch {
				case r.LogDelta.Given:
					want = r.LogDelta.Value
				case r.Delta.Value > 0:
					want = math.Log(r.Delta.Value)
				}
				slack := tolerance
				if !math.IsInf(want, 0) {
					slack += 4e-16 * math.Abs(want)
				}
				if !(b.Lower <= want+slack && want-slack <= b.Upper) {
					t.Errorf("%s: ln δ(%v) in [%v, %v], want %v", w.Name, q.epsilon, b.Lower, b.Upper, want)
				}
				if !(b.Upper-b.Lower <= q.gap) && !math.IsInf(want, 0) {
					narrow = false
					t.Logf("%s: ln δ(%v) = %v in [%v, %v]", w.Name, q.epsilon, want, b.Lower, b.Upper)
				}
				continue
			}
			want := r.Epsilon.Value
			q := question{byDelta: true, delta: r.Delta.Value, gap: scale * 1e-4 * math.Max(1, want)}
			if math.IsInf(want, 1) {
				q.gap = 1e-4
			}
			b := askLattice(problems, &q)
			slack := (tolerance + 4e-16) * want
			if !(b.Lower <= want+slack && (want-slack <= b.Upper || b.Upper == want)) {
				t.Errorf("%s: ε(%v) in [%v, %v], want %v", w.Name, q.delta, b.Lower, b.Upper, want)
			}
			if !(b.Upper-b.Lower <= q.gap) && !math.IsInf(want, 0) {
				narrow = false
				t.Logf("%s: ε(%v) = %v in [%v, %v]", w.Name, q.delta, want, b.Lower, b.Upper)
			}
		}
		if narrow == wide[w.Name] {
			t.Errorf("%s: narrow is %v", w.Name, narrow)
		}
	}
}

func TestLatticeAgainstOracleMixtures(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "../testdata/engine_mixtures.json", &data)
	checkRows(t, data.Rows, 1e-15, nil)
}

func TestLatticeAgainstOracleClosed(t *testing.T) {
	var data struct{ Rows []losstest.Workload }
	losstest.Read(t, "../testdata/closed.json", &data)
	checkRows(t, data.Rows, 1e-15, map[string]bool{
		// A mass of 1 − 10⁻¹² at the loss 0: the rounding of positions shows.
		"response-0.5-k1099511627776x50": true,
		// δ and δ_∞ agree in all digits of a float64.
		"approximate-0.1-1e-18x1000": true,
	})
}

func TestLatticeAgainstReferenceWorkloads(t *testing.T) {
	var rows []losstest.Workload
	losstest.Read(t, "../../accountant/testdata/workloads.json", &rows)
	// Many steps of a sampled Gaussian are the contour's business: not as closely.
	checkRows(t, rows, 2e-10, map[string]bool{
		"dpsgd-million": true, // the bound on work comes first
	})
}
