package loss

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

type oracleRow struct {
	Mechanism losstest.Mechanism
	Adjacency losstest.Adjacency
	Direction string
	Points    []struct {
		S [2]float64
		K [2]losstest.Number
	}
}

// TestCumulantAgainstOracle compares K with the oracle's 30 digits: within the
// stated error bound, and the bound small.
func TestCumulantAgainstOracle(t *testing.T) {
	total := 0
	worstReal, worstComplex := 0.0, 0.0
	for _, file := range []string{"plain", "sampled_gaussian_small_q", "sampled_other"} {
		var data struct{ Rows []oracleRow }
		losstest.Read(t, "testdata/"+file+".json", &data)
		for _, row := range data.Rows {
			adj := mechanism.Adjacency(row.Adjacency)
			if row.Mechanism.Mechanism == nil || row.Mechanism.Check(adj) != nil {
				continue // a mechanism this program does not have yet
			}
			l, err := Of(row.Mechanism.Mechanism, adj)
			if err != nil {
				t.Fatal(err)
			}
			d := Remove
			if row.Direction == "ADD" {
				d = Add
			}
			for _, p := range row.Points {
				total++
				want := complex(p.K[0].Value, p.K[1].Value)
				line := l.Line(d, p.S[0])(p.S[1])
				got, bound := line.K, line.Err
				if p.S[1] == 0 {
					v := l.Cumulant(d, p.S[0])
					if math.Abs(v.K-real(got)) > 4*num.Ulp*math.Abs(v.K)+v.Err+bound {
						t.Errorf("%v %s: Cumulant(%v) = %v, on the line %v", row.Mechanism, row.Direction, p.S[0], v.K, got)
					}
					got, bound = complex(v.K, 0), v.Err
				}
				// Any branch will do.
				turns := math.Round((imag(got) - imag(want)) / (2 * math.Pi))
				off := cmplx.Abs(got - want - complex(0, 2*math.Pi*turns))
				scale := cmplx.Abs(want)
				// The oracle's digits were rounded to float64, and 2π·turns is inexact.
				if !(off <= bound+2*num.Ulp*(scale+math.Abs(imag(got)))) {
					t.Errorf("%v %v %s at %v: K = %v, want %v: off by %.3g, bound %.3g", row.Mechanism, adj, row.Direction, p.S, got, want, off, bound)
				}
				if p.S[1] == 0 {
					worstReal = math.Max(worstReal, bound/scale)
				} else if scale > 0 {
					worstComplex = math.Max(worstComplex, bound/scale)
				}
				if r := bound / scale; r > 1e-9 {
					t.Logf("%v %v %s at %v: K=%v relative bound %.2g actual %.2g", row.Mechanism, adj, row.Direction, p.S, want, r, off/scale)
				}
			}
		}
	}
	t.Logf("%d points; worst relative bounds: real %.3g, complex %.3g", total, worstReal, worstComplex)
}
