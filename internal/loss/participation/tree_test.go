// SPDX-License-Identifier: Apache-2.0

package participation

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

// Every pattern of participation counted out by the oracle: never less, and the same
// where the sensitivity is said to be exact (Kairouz et al. 2021, arXiv 2103.00039,
// Appendix D). Small trees are always exact.
func TestTreesAgainstEnumeration(t *testing.T) {
	type row struct {
		mechanism.Participation
		Squares float64
	}
	var data struct{ Trees []row }
	losstest.Read(t, "../testdata/participation.json", &data)
	for _, r := range data.Trees {
		b := Tree(Of(r.Participation))
		if b != (Bound{r.Squares, true}) {
			t.Errorf("%+v: %v", r, b)
		}
		if levels := byLevels(Of(r.Participation)); levels.Squares < r.Squares ||
			levels.Exact && levels.Squares != r.Squares || levels.Squares > 2.5*r.Squares {
			t.Errorf("%+v: by levels %v", r, levels)
		}
	}
	if n := len(data.Trees); n < 40 {
		t.Errorf("%d trees", n)
	}
}

// One participation in a tree is ⌊log2 steps⌋ + 1 nodes, a restarted tree a count.
func TestTreeOfOneEpoch(t *testing.T) {
	for steps, nodes := range map[uint64]float64{1: 1, 2: 2, 3: 2, 1023: 10, 1024: 11, 1 << 53: 54} {
		b := Tree(Of(mechanism.Participation{Steps: steps}))
		if !b.Exact || math.Abs(b.Squares-nodes) > 1e-9 {
			t.Errorf("%d steps: %v", steps, b)
		}
	}
}

// counted is the largest sum of the patterns that have up to left more participations, none
// before from, added to that of the nodes as they are.
func counted(nodes map[[2]int]int, p Pattern, from, left int) int {
	sum := 0
	for _, c := range nodes {
		sum += c * c
	}
	if left == 0 {
		return sum
	}
	for at := from; at < int(p.Steps); at++ {
		add := func(v int) {
			for l := 0; 1<<l <= int(p.Steps); l++ {
				if at>>l < int(p.Steps)>>l {
					nodes[[2]int{l, at >> l}] += v
				}
			}
		}
		add(1)
		sum = max(sum, counted(nodes, p, at+int(p.Separation), left-1))
		add(-1)
	}
	return sum
}

// drawTree draws a pattern in at most that many steps.
func drawTree(t *rapid.T, most uint64) Pattern {
	steps := rapid.Uint64Range(1, most).Draw(t, "steps")
	return Of(mechanism.Participation{Steps: steps, Participations: rapid.Uint64Range(1, steps).Draw(t, "most"),
		MinimumSeparation: rapid.Uint64Range(1, steps).Draw(t, "separation")})
}

// A tree is what all patterns, one by one, make of it. In blocks it is never less.
func TestTreesAgainstAllPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawTree(t, 24)
		if p.Separation < 3 && p.Steps > 17 {
			t.Skip("too many patterns")
		}
		want := float64(counted(map[[2]int]int{}, p, 0, int(p.Most)))
		if b := Tree(p); b != (Bound{want, true}) {
			t.Fatalf("%+v: %v, all patterns %v", p, b, want)
		}
		for fold := 0; p.Separation>>fold > 0; fold++ {
			b := inBlocks(p, fold)
			if b.Squares < want || b.Exact && b.Squares != want {
				t.Fatalf("%+v in blocks of 2^%d: %v, all patterns %v", p, fold, b, want)
			}
		}
	})
}

// The search, which tries patterns of any matrix, agrees for trees of more steps.
func TestTreesAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawTree(t, 130)
		want := Search(p, false, func(s, t int) float64 {
			nodes := 0.0
			for l := 0; 1<<l <= int(p.Steps); l++ {
				if s>>l == t>>l && s>>l < int(p.Steps)>>l {
					nodes++
				}
			}
			return nodes
		})
		b := Tree(p)
		if want.Exact && (!b.Exact || b.Squares > want.Squares || b.Squares < want.Squares*(1-1e-10)) ||
			b.Squares > want.Squares {
			t.Fatalf("%+v: %v, searched %v", p, b, want)
		}
	})
}

// TensorFlow Privacy 0.9 tests its own count with these. Sums over levels are 4, 12, 10 and 90.
func TestTreesOfAPeer(t *testing.T) {
	for _, c := range []struct {
		steps, most, separation uint64
		levels, want            float64
	}{{8, 1, 8, 4, 4}, {9, 3, 4, 12, 11}, {7, 3, 3, 10, 9}, {24, 8, 3, 90, 88}} {
		p := Pattern{Steps: c.steps, Most: c.most, Separation: c.separation}
		if b := Tree(p); b != (Bound{c.want, true}) || byLevels(p).Squares != c.levels {
			t.Errorf("%+v: %v, by levels %v", p, b, byLevels(p))
		}
	}
}

// Fewer participations, or farther apart, never cost more, and steps that are added never less.
func TestFewerPatternsOfTreesCostLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawTree(t, rapid.SampledFrom([]uint64{30, 1000, 30_000, 1 << 30}).Draw(t, "up to"))
		less := p
		switch rapid.IntRange(0, 2).Draw(t, "less of") {
		case 0:
			less.Separation++
			less.Most = min(less.Most, (less.Steps-1)/less.Separation+1)
		case 1:
			less.Most = max(1, less.Most-1)
		default:
			p.Steps++
		}
		if more, fewer := Tree(p), Tree(less); fewer.Squares > more.Squares {
			t.Fatalf("%+v: %v; %+v: %v", p, more, less, fewer)
		}
	})
}

func BenchmarkTree(b *testing.B) {
	for _, p := range []Pattern{{Steps: 1000, Most: 10, Separation: 100}, {Steps: 4096, Most: 41, Separation: 100},
		{Steps: 30_000, Most: 5, Separation: 5000}, {Steps: 100_000, Most: 50, Separation: 1999},
		{Steps: 1 << 30, Most: 4095, Separation: 3}, {Steps: 1 << 14, Most: 64, Separation: 255}} {
		b.Run(fmt.Sprintf("%d steps, %d, %d apart", p.Steps, p.Most, p.Separation), func(b *testing.B) {
			for b.Loop() {
				byHalves(p)
			}
		})
	}
}
