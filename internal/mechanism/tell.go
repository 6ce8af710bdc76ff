// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"strconv"
	"strings"
)

// Tell describes a part in words, with the numbers that were reported.
func Tell(p Part) string {
	if t, ok := p.Mechanism.(interface{ tell(count uint64) string }); ok {
		return t.tell(p.Count)
	}
	if p.Count == 1 {
		return fmt.Sprint(p.Mechanism)
	}
	return thousands(p.Count) + " × " + fmt.Sprint(p.Mechanism)
}

func (d DPSGD) tell(count uint64) string {
	text := ""
	if count > 1 {
		text = thousands(count) + " runs of "
	}
	text += fmt.Sprintf("DP-SGD on %s examples: batches of %s on average, ", thousands(d.DatasetSize),
		thousands(d.batch()))
	if d.Epochs != 0 {
		text += plural(number(d.Epochs), "epoch") + " of training, which are "
	}
	text += plural(thousands(d.stepCount()), "step") + ", noise multiplier " + atLeast(d.NoiseMultiplier)
	if d.MaxGradNorm != 0 {
		text += ", each gradient clipped to an ℓ2 norm of " + atMost(d.MaxGradNorm)
	}
	return text
}

func (p PoissonSampled) tell(count uint64) string {
	if p.DatasetSize == 0 {
		return fmt.Sprintf("%s on Poisson samples that hold each record with probability %s, each step with %v",
			plural(thousands(count), "step"), atMost(p.SamplingProbability), p.Mechanism)
	}
	epochs := strconv.FormatFloat(float64(count)*float64(p.BatchSize)/float64(p.DatasetSize), 'g', 3, 64)
	noise := fmt.Sprintf("%v", p.Mechanism)
	if g, ok := p.Mechanism.(Gaussian); ok {
		noise = "noise multiplier " + atLeast(g.NoiseMultiplier)
		if g.NoiseMultiplier == 0 {
			noise = fmt.Sprintf("noise of standard deviation %s, each contribution clipped to an ℓ2 norm of %s",
				atLeast(g.StandardDeviation), atMost(g.Sensitivity))
		}
	}
	return fmt.Sprintf("%s on batches of %s on average, out of %s records (about %s), %s",
		plural(thousands(count), "step"), thousands(p.BatchSize), thousands(p.DatasetSize), plural(epochs,
			"epoch"), noise)
}

func plural(n, thing string) string {
	if n == "1" {
		return n + " " + thing
	}
	return n + " " + thing + "s"
}

// thousands writes a whole number with commas: 60,000.
func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, digit := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}
