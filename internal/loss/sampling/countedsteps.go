// SPDX-License-Identifier: Apache-2.0

package sampling

import (
	"math"

	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/declared"
	"github.com/dpaccountant/accountant/internal/loss/pairs"
	"github.com/dpaccountant/accountant/internal/num"
)

// countedSteps is what is told of a record in chosen of so many steps by the number of steps that look as if it took
// part: a pair that the epoch dominates whatever the noise (docs/math/allocation.md §1.11.4).
type countedSteps struct {
	inner         loss.Loss // of one step; attained
	steps, chosen uint64
}

// mostCounted bounds the work of a count's distribution.
const mostCounted = 1 << 22

func (c countedSteps) table(in *num.Interrupt) loss.Loss {
	return loss.Recall(allocations, c, in, func(in *num.Interrupt) struct{ loss.Loss } {
		nothing := struct{ loss.Loss }{pairs.NewGaussian(0)}
		if c.steps > mostCounted/(c.chosen+1) {
			return nothing
		}
		one := bestBit(c.inner.Pair(loss.Remove, loss.Dominated, in))
		massErr := num.Count(c.steps) * (one.err + 1e-14)
		if !(massErr < 1e-3 && one.with[1] > one.without[1]) {
			return nothing
		}
		in.Spend(10 * int(c.steps) * int(c.chosen+1))
		without := binomial(c.steps, one.without)
		with := sumOf(binomial(c.chosen, one.with), binomial(c.steps-c.chosen, one.without))
		var at, of []float64
		for i, p := range with {
			if !(p > 0 && without[i] > 0) { // what is left out proves nothing
				continue
			}
			if v := math.Log(p) - math.Log(without[i]); len(at) == 0 || v > at[len(at)-1] {
				at, of = append(at, v), append(of, p)
			} else {
				of[len(of)-1] += p // equal but for rounding: the count's ratio rises
			}
		}
		if len(at) == 0 {
			return nothing
		}
		// What was added up and rounded is far less than the tenth of a billionth.
		return struct{ loss.Loss }{declared.Computed(c.Facts().Name, at, of, 0, 0, massErr+1e-10, massErr+1e-10)}
	}).Loss
}

// bit is an event of one step: its probability at 1 and that of the opposite at 0, with the record and without.
type bit struct {
	with, without [2]float64
	err           float64 // bounds their relative errors
}

// bestBit is the event of a loss above some value that tells most for its variance without the record. A pair that is
// nil has none.
func bestBit(pair loss.Pair) (best bit) {
	const cuts = 16
	if pair == nil {
		return best
	}
	low, high := pair.Ends(-10, -10)
	most := 0.0
	for i := range cuts {
		cut := low + (high-low)*(float64(i)+0.5)/cuts
		cells := make([]loss.Mass, 2)
		pair.Cells([]float64{math.Inf(-1), cut, math.Inf(1)}, cells)
		b := bit{with: [2]float64{0, pair.Infinite()}, without: [2]float64{pair.Null(), 0}}
		put := func(at int, m loss.Mass) {
			if !math.IsInf(m.LogP, -1) {
				b.with[at] += math.Exp(m.LogP)
				b.without[at] += math.Exp(m.LogP - m.Loss)
				b.err = math.Max(b.err, 2*(m.LogErr+m.LossErr)+8*num.Ulp*(1+math.Abs(m.LogP)+math.Abs(m.Loss)))
			}
		}
		put(0, cells[0])
		put(1, cells[1])
		for _, a := range pair.Atoms() {
			if a.Loss > cut {
				put(1, a)
			} else {
				put(0, a)
			}
		}
		moved := b.with[1] - b.without[1]
		if told := moved * moved / (b.without[0] * b.without[1]); told > most {
			best, most = b, told
		}
	}
	return best
}

// binomial is the distribution of the number of ones among n bits.
func binomial(n uint64, of [2]float64) []float64 {
	out := make([]float64, n+1)
	zero, one := math.Log(of[0]), math.Log(of[1])
	all, _ := math.Lgamma(float64(n) + 1)
	for i := range out {
		ones, zeros := float64(i), float64(n)-float64(i)
		a, _ := math.Lgamma(ones + 1)
		b, _ := math.Lgamma(zeros + 1)
		log := all - a - b
		if ones > 0 {
			log += ones * one
		}
		if zeros > 0 {
			log += zeros * zero
		}
		out[i] = math.Exp(log)
	}
	return out
}

// sumOf is the distribution of the sum of two independent counts.
func sumOf(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			out[i+j] += x * y
		}
	}
	return out
}

// Facts: only a bound from below is made of it.
func (c countedSteps) Facts() loss.Facts {
	return loss.Facts{Name: "counted " + c.inner.Facts().Name, Rho: math.Inf(1), Epsilon: math.Inf(1)}
}

func (c countedSteps) Cumulant(d loss.Direction, s float64, in *num.Interrupt) loss.Value {
	return c.table(in).Cumulant(d, s, in)
}

func (c countedSteps) Line(d loss.Direction, theta float64, in *num.Interrupt) loss.Line {
	return c.table(in).Line(d, theta, in)
}

func (c countedSteps) Pair(d loss.Direction, side loss.Side, in *num.Interrupt) loss.Pair {
	return c.table(in).Pair(d, side, in)
}

// MaxLoss is that of the steps that the record takes part in.
func (c countedSteps) MaxLoss(d loss.Direction) float64 {
	return num.MulUp(num.Count(c.chosen), c.inner.MaxLoss(d))
}

// Decay: finitely many losses have none.
func (countedSteps) Decay(loss.Direction, float64, loss.Value, *num.Interrupt) loss.Decay {
	return loss.Undecayed
}

// Covers: only itself is known to be covered.
func (countedSteps) Covers(loss.Loss) bool { return false }

// Grouped: nothing is asked of groups from below.
func (countedSteps) Grouped(uint64) (loss.Loss, error) { return nil, nil }

func (c countedSteps) Order() [4]float64 {
	o := c.inner.Order()
	return [4]float64{o[0], o[1], num.Count(c.chosen), num.Count(c.steps)}
}
