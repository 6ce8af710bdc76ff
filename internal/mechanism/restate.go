package mechanism

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Compositions that differ from what was reported in one respect. A privacy statement asks about
// them, to say what would hold then.

// ForGroup returns the composition with size records in the place of one. It fails where a
// mechanism's descriptor says nothing of groups: see Group.
func (c Composition) ForGroup(size uint64) (Composition, error) {
	return c.restate(func(p Part) (Part, error) {
		m := Group{Size: size, Mechanism: p.Mechanism}
		return Part{Mechanism: m, Count: p.Count}, m.Check(c.Adjacency)
	})
}

// IfShuffled returns the composition with passes over shuffled data in the place of steps on
// Poisson samples, each pass cut into batches of the reported size. A pass that was begun counts
// as a whole one: what a part of it released is a part of what the pass releases. It fails
// if there is no such step, or one of which the sizes were not reported or whose noise is not Gaussian.
func (c Composition) IfShuffled() (Composition, error) {
	found := false
	out, err := c.restate(func(p Part) (Part, error) {
		sampled, ok := p.Mechanism.(PoissonSampled)
		if !ok {
			return p, nil
		}
		if found = true; sampled.DatasetSize == 0 {
			return Part{}, &ParameterError{"poisson_sampled.sampling_probability", number(sampled.SamplingProbability),
				"batch_size with dataset_size"}
		}
		m := Shuffled{BatchSize: sampled.BatchSize, DatasetSize: sampled.DatasetSize, Mechanism: sampled.Mechanism}
		return Part{Mechanism: m, Count: (p.Count-1)/m.Steps() + 1}, m.Check(c.Adjacency)
	})
	if err == nil && !found {
		err = &ParameterError{"mechanism", "none on a Poisson sample", "poisson_sampled"}
	}
	return out, err
}

// restate returns the composition of what change makes of each part, after lists and runs are
// taken apart into their steps.
func (c Composition) restate(change func(Part) (Part, error)) (Composition, error) {
	out := Composition{Adjacency: c.Adjacency}
	at := map[Mechanism]int{}
	for _, p := range c.Parts {
		for _, step := range Expand(p.Mechanism) {
			high, n := bits.Mul64(p.Count, step.Count)
			changed, err := change(Part{Mechanism: step.Mechanism, Count: n})
			if err != nil {
				return Composition{}, err
			}
			i, ok := at[changed.Mechanism]
			if !ok {
				i = len(out.Parts)
				at[changed.Mechanism] = i
				out.Parts = append(out.Parts, Part{Mechanism: changed.Mechanism})
			}
			sum, carry := bits.Add64(out.Parts[i].Count, changed.Count, 0)
			if high != 0 || carry != 0 || sum > maxTotal {
				return Composition{}, &ParameterError{"count", "too many steps", "a total of at most 2^63 − 1"}
			}
			out.Parts[i].Count = sum
		}
	}
	return out, nil
}

// maxTotal is the largest count of a mechanism.
const maxTotal = 1<<63 - 1

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
	text += plural(thousands(d.StepCount()), "step") + ", noise multiplier " + number(d.NoiseMultiplier)
	if d.MaxGradNorm != 0 {
		text += ", each gradient clipped to an ℓ2 norm of " + number(d.MaxGradNorm)
	}
	return text
}

func (p PoissonSampled) tell(count uint64) string {
	if p.DatasetSize == 0 {
		return fmt.Sprintf("%s on Poisson samples that hold each record with probability %s, each step with %v",
			plural(thousands(count), "step"), number(p.SamplingProbability), p.Mechanism)
	}
	epochs := strconv.FormatFloat(float64(count)*float64(p.BatchSize)/float64(p.DatasetSize), 'g', 3, 64)
	noise := fmt.Sprintf("%v", p.Mechanism)
	if g, ok := p.Mechanism.(Gaussian); ok {
		noise = "noise multiplier " + number(g.NoiseMultiplier)
		if g.NoiseMultiplier == 0 {
			noise = fmt.Sprintf("noise of standard deviation %s, each contribution clipped to an ℓ2 norm of %s",
				number(g.StandardDeviation), number(g.Sensitivity))
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
