package noise

import (
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Every pattern of participation counted out by the oracle: never less, and the same
// where the sensitivity is said to be exact (Kairouz et al. 2021, arXiv 2103.00039,
// Appendix D; Choquette-Choo et al. 2023, arXiv 2306.08153, Thm 2; Kalinin and Lampert
// 2024, arXiv 2405.13763, Thm 2).
func TestSensitivityAgainstEnumeration(t *testing.T) {
	type row struct {
		Coefficients []float64
		mechanism.Participation
		Squares float64
	}
	var data struct{ Trees, Bands []row }
	losstest.Read(t, "../testdata/participation.json", &data)
	exactly := 0
	check := func(r row, squares float64, exact bool) {
		t.Helper()
		if squares < r.Squares || exact && squares > r.Squares*(1+1e-12) || squares > 2.5*r.Squares {
			t.Errorf("%+v: %v, exact %v", r, squares, exact)
		}
		if exact {
			exactly++
		}
	}
	for _, r := range data.Trees {
		s, exact := treeSensitivity(r.Participation)
		check(r, s, exact)
		if exact && s != r.Squares { // whole numbers: the bound from below counts on them
			t.Errorf("%+v: %v, rounded", r, s)
		}
	}
	trees := exactly
	for _, r := range data.Bands {
		s, exact := bandedSensitivity(r.Coefficients, r.Participation)
		check(r, s, exact)
		_, k := r.Participation.Most()
		if falling := r.Coefficients[0] == 1 && (len(r.Coefficients) < 2 || r.Coefficients[1] == 0.5); !exact &&
			(falling || k >= uint64(len(r.Coefficients))) {
			t.Errorf("%+v: not exact", r)
		}
	}
	if n := len(data.Trees) + len(data.Bands); n < 120 || trees < len(data.Trees)/2 || exactly < n/2 {
		t.Errorf("%d rows, %d exact, of trees %d of %d", n, exactly, trees, len(data.Trees))
	}
}

// The sums over rows that repeat are the sums over all rows.
func TestBandedRowsAgainstTheMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.IntRange(1, 20).Draw(t, "bands")
		c := make([]float64, b)
		for i := range c {
			c[i] = rapid.Float64Range(0, 2).Draw(t, "c")
		}
		s := rapid.Uint64Range(1, 20).Draw(t, "separation")
		steps := rapid.Uint64Range(uint64(b), 120).Draw(t, "steps")
		m := rapid.Uint64Range(1, (steps-1)/s+1).Draw(t, "participations")
		if s >= uint64(b) {
			t.Skip("columns that do not meet")
		}
		var want float64
		for row := range steps {
			var v float64
			for a := range m {
				if u := int(row) - int(a*s); u >= 0 && u < b {
					v += c[u]
				}
			}
			want += v * v
		}
		if got := rowSquares(c, steps, m, s); math.Abs(got-want) > 1e-12*want {
			t.Fatalf("%v, by the matrix %v", got, want)
		}
	})
}

// One participation in a tree is ⌊log2 steps⌋ + 1 nodes, a restarted tree a count.
func TestTreeOfOneEpoch(t *testing.T) {
	for steps, nodes := range map[uint64]float64{1: 1, 2: 2, 3: 2, 1023: 10, 1024: 11, 1 << 53: 54} {
		squares, exact := treeSensitivity(mechanism.Participation{Steps: steps})
		if !exact || math.Abs(squares-nodes) > 1e-9 {
			t.Errorf("%d steps: %v nodes, exact %v", steps, squares, exact)
		}
	}
}
