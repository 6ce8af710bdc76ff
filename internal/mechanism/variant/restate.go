// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"fmt"
	"math/bits"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A privacy statement asks about compositions that differ from what was reported in one respect, to say
// what would hold then.

// ForGroup returns c with size records in the place of one. It fails where a mechanism's descriptor
// says nothing of groups: see mechanism.Group.
func ForGroup(c mechanism.Composition, size uint64) (mechanism.Composition, error) {
	return restate(c, func(p mechanism.Part) (mechanism.Part, error) {
		m := mechanism.Group{Size: size, Mechanism: p.Mechanism}
		return mechanism.Part{Mechanism: m, Count: p.Count}, m.Check(c.Adjacency)
	})
}

// IfShuffled returns c with passes over shuffled data in the place of steps on Poisson samples, each pass
// cut into batches of the reported size. A pass that was begun counts as a whole one: what a part of it
// released is a part of what the pass releases. It fails if there is no such step, or one of which the
// sizes were not reported or whose noise is not Gaussian.
func IfShuffled(c mechanism.Composition) (mechanism.Composition, error) {
	return rebatch(c, func(p mechanism.Part) (mechanism.Part, bool, error) {
		if _, already := p.Mechanism.(mechanism.Shuffled); already {
			return p, false, nil
		}
		return passes(p)
	})
}

// IfAllocated returns c with epochs of random allocation in the place of steps on Poisson samples, and of
// passes over shuffled data: each record in one step of an epoch, which has as many steps as a pass has
// batches of the reported size. An epoch that was begun counts as a whole one. It fails if there is no
// such step, or one of which the sizes were not reported, or nothing is known: see mechanism.RandomAllocation.
func IfAllocated(c mechanism.Composition) (mechanism.Composition, error) {
	return rebatch(c, func(p mechanism.Part) (mechanism.Part, bool, error) {
		pass, ok, err := passes(p)
		if !ok || err != nil {
			return p, ok, err
		}
		m := pass.Mechanism.(mechanism.Shuffled)
		return mechanism.Part{Mechanism: mechanism.RandomAllocation{Steps: m.Steps(), Mechanism: m.Mechanism},
			Count: pass.Count}, true, nil
	})
}

// IfSampled returns c with steps on Poisson samples of the reported size in the place of passes over
// shuffled data. It fails if there are none.
func IfSampled(c mechanism.Composition) (mechanism.Composition, error) {
	return rebatch(c, func(p mechanism.Part) (mechanism.Part, bool, error) {
		m, ok := p.Mechanism.(mechanism.Shuffled)
		if !ok {
			return p, false, nil
		}
		high, steps := bits.Mul64(p.Count, m.Steps())
		if high != 0 || steps > maxTotal {
			return p, true, tooMany()
		}
		return mechanism.Part{Mechanism: mechanism.PoissonSampled{BatchSize: m.BatchSize, DatasetSize: m.DatasetSize,
			Mechanism: m.Mechanism}, Count: steps}, true, nil
	})
}

// passes returns the passes over shuffled data that steps on Poisson samples correspond to, or p itself
// if it is such passes. It reports whether p is either of them.
func passes(p mechanism.Part) (mechanism.Part, bool, error) {
	switch m := p.Mechanism.(type) {
	case mechanism.Shuffled:
		return p, true, nil
	case mechanism.PoissonSampled:
		if m.DatasetSize == 0 {
			return p, true, &mechanism.ParameterError{
				Field: "poisson_sampled.sampling_probability", Value: fmt.Sprint(m.SamplingProbability),
				Allowed: "batch_size with dataset_size"}
		}
		pass := mechanism.Shuffled{BatchSize: m.BatchSize, DatasetSize: m.DatasetSize, Mechanism: m.Mechanism}
		return mechanism.Part{Mechanism: pass, Count: (p.Count-1)/pass.Steps() + 1}, true, nil
	}
	return p, false, nil
}

// rebatch returns c with what change makes of the parts that it finds. It fails if it finds none.
func rebatch(
	c mechanism.Composition, change func(mechanism.Part) (_ mechanism.Part, found bool, _ error),
) (mechanism.Composition, error) {
	any := false
	out, err := restate(c, func(p mechanism.Part) (mechanism.Part, error) {
		changed, found, err := change(p)
		if err != nil || !found {
			return p, err
		}
		any = true
		return changed, changed.Mechanism.Check(c.Adjacency)
	})
	if err == nil && !any {
		err = &mechanism.ParameterError{Field: "mechanism", Value: "none on a batch that can be drawn otherwise",
			Allowed: "poisson_sampled or shuffled"}
	}
	return out, err
}

// restate returns the composition of what change makes of each part, after lists and runs are
// taken apart into their steps.
func restate(
	c mechanism.Composition, change func(mechanism.Part) (mechanism.Part, error),
) (mechanism.Composition, error) {
	out := mechanism.Composition{Adjacency: c.Adjacency}
	at := map[mechanism.Mechanism]int{}
	for _, p := range c.Parts {
		for _, step := range mechanism.Expand(p.Mechanism) {
			high, n := bits.Mul64(p.Count, step.Count)
			changed, err := change(mechanism.Part{Mechanism: step.Mechanism, Count: n})
			if err != nil {
				return mechanism.Composition{}, err
			}
			i, ok := at[changed.Mechanism]
			if !ok {
				i = len(out.Parts)
				at[changed.Mechanism] = i
				out.Parts = append(out.Parts, mechanism.Part{Mechanism: changed.Mechanism})
			}
			sum, carry := bits.Add64(out.Parts[i].Count, changed.Count, 0)
			if high != 0 || carry != 0 || sum > maxTotal {
				return mechanism.Composition{}, tooMany()
			}
			out.Parts[i].Count = sum
		}
	}
	return out, nil
}

// maxTotal is the largest count of a mechanism.
const maxTotal = 1<<63 - 1

func tooMany() error {
	return &mechanism.ParameterError{Field: "count", Value: "too many steps", Allowed: "a total of at most 2^63 − 1"}
}
