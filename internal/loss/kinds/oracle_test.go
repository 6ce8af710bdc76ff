// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"math"
	"math/cmplx"
	"path/filepath"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss"
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
	gaveUp := 0
	worstReal, worstComplex := 0.0, 0.0
	files, err := filepath.Glob("../testdata/sampled_gaussian_*.json")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../testdata/plain.json", "../testdata/noise.json",
		"../testdata/sampled_other.json", "../testdata/sampled_pairs.json", "../testdata/mixtures.json") {
		var data struct{ Rows []oracleRow }
		losstest.Read(t, file, &data)
		for _, row := range data.Rows {
			adj := mechanism.Adjacency(row.Adjacency)
			if row.Mechanism.Mechanism == nil || row.Mechanism.Check(adj) != nil {
				continue // a mechanism this program does not have yet
			}
			l, err := Of(row.Mechanism.Mechanism, adj)
			if err != nil {
				t.Fatal(err)
			}
			d := loss.Remove
			if row.Direction == "ADD" {
				d = loss.Add
			}
			for _, p := range row.Points {
				total++
				want := complex(p.K[0].Value, p.K[1].Value)
				line := l.Line(d, p.S[0], nil)(p.S[1])
				got, bound := line.K, line.Err
				if p.S[1] == 0 {
					v := l.Cumulant(d, p.S[0], nil)
					if math.Abs(v.K-real(got)) > 4*num.Ulp*math.Abs(v.K)+v.Err+bound {
						t.Errorf("%v %s: Cumulant(%v) = %v, on the line %v", row.Mechanism,
							row.Direction, p.S[0], v.K, got)
					}
					got, bound = complex(v.K, 0), v.Err
				}
				if real(want) > line.Upper+1e-13*(1+cmplx.Abs(want)) {
					t.Errorf("%v %v %s at %v: Re K = %v over its bound %v", row.Mechanism, adj, row.Direction,
						p.S, real(want), line.Upper)
				}
				if math.IsInf(bound, 1) {
					// M(s) is not kept apart from 0: only where it is below M(θ)·2⁻²⁹.
					if axis := l.Cumulant(d, p.S[0], nil); real(want) > axis.K-20 {
						t.Errorf("%v %v %s at %v: gave up at K = %v, on the axis %v", row.Mechanism, adj,
							row.Direction, p.S, want, axis.K)
					}
					gaveUp++
					continue
				}
				// Any branch will do.
				turns := math.Round((imag(got) - imag(want)) / (2 * math.Pi))
				off := cmplx.Abs(got - want - complex(0, 2*math.Pi*turns))
				scale := cmplx.Abs(want)
				// The oracle's digits were rounded to float64, and 2π·turns is inexact.
				if !(off <= bound+2*num.Ulp*(scale+math.Abs(imag(got)))) {
					t.Errorf("%v %v %s at %v: K = %v, want %v: off by %.3g, bound %.3g", row.Mechanism, adj,
						row.Direction, p.S, got, want, off, bound)
				}
				if p.S[1] == 0 {
					worstReal = math.Max(worstReal, bound/scale)
				} else if scale > 0 {
					worstComplex = math.Max(worstComplex, bound/scale)
				}
			}
		}
	}
	t.Logf("%d points, %d given up; worst relative bounds: real %.3g, complex %.3g", total, gaveUp,
		worstReal, worstComplex)
	if total < 2000 || gaveUp > total/20 || worstReal > 1e-12 {
		t.Errorf("%d points, %d given up; worst relative bound on the axis %.3g", total, gaveUp, worstReal)
	}
}
