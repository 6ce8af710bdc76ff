// SPDX-License-Identifier: Apache-2.0

package variant

import (
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func TestIfShuffled(t *testing.T) {
	noise := mechanism.Gaussian{NoiseMultiplier: 1.1}
	steps := mechanism.PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: noise} // a pass is 235 of them
	pass := mechanism.Shuffled{BatchSize: 256, DatasetSize: 60000, Mechanism: noise}
	run := mechanism.DPSGD{NoiseMultiplier: 1.1, BatchSize: 256, DatasetSize: 60000, Epochs: 60}
	unsized := mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: noise}
	laplace := mechanism.PoissonSampled{BatchSize: 1, DatasetSize: 9,
		Mechanism: mechanism.Laplace{Scale: 1, Sensitivity: 1}}
	for _, c := range []struct {
		given, want []mechanism.Part // no want: refused
	}{
		{parts(part(steps, 235)), parts(part(pass, 1))},
		{parts(part(steps, 236)), parts(part(pass, 2))}, // a pass that was begun counts
		{parts(part(noise, 7), part(steps, 1)), parts(part(noise, 7), part(pass, 1))},
		{parts(part(run, 2), part(steps, 1)), parts(part(pass, 121))},
		{parts(part(unsized, 1)), nil},
		{parts(part(laplace, 1)), nil},
		{parts(part(noise, 1)), nil},
	} {
		got, err := IfShuffled(mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne, Parts: c.given})
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got.Parts, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.given, got.Parts, err, c.want)
		}
	}
}

func TestIfAllocatedAndIfSampled(t *testing.T) {
	noise := mechanism.Gaussian{NoiseMultiplier: 1.1}
	laplace := mechanism.Laplace{Scale: 1, Sensitivity: 1}
	steps := mechanism.PoissonSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: noise} // an epoch is 235 of them
	pass := mechanism.Shuffled{BatchSize: 256, DatasetSize: 60000, Mechanism: noise}
	epoch := mechanism.RandomAllocation{Steps: 235, Mechanism: noise}
	run := mechanism.DPSGD{NoiseMultiplier: 1.1, BatchSize: 256, DatasetSize: 60000, Epochs: 60}
	unsized := mechanism.PoissonSampled{SamplingProbability: 0.1, Mechanism: noise}
	other := mechanism.PoissonSampled{BatchSize: 3, DatasetSize: 9, Mechanism: laplace}
	for _, c := range []struct {
		adj                       mechanism.Adjacency
		given, allocated, sampled []mechanism.Part // no such: refused
	}{
		{mechanism.AddOrRemoveOne, parts(part(steps, 235)), parts(part(epoch, 1)), nil},
		{mechanism.ZeroOut, parts(part(steps, 236)), parts(part(epoch, 2)), nil}, // an epoch that was begun counts
		{mechanism.AddOrRemoveOne, parts(part(run, 2), part(noise, 3)), parts(part(epoch, 120), part(noise, 3)), nil},
		{mechanism.AddOrRemoveOne, parts(part(pass, 7)), parts(part(epoch, 7)), parts(part(steps, 7*235))},
		{mechanism.AddOrRemoveOne, parts(part(pass, 7), part(steps, 235)), parts(part(epoch, 8)),
			parts(part(steps, 8*235))},
		{mechanism.AddOrRemoveOne, parts(part(other, 4)),
			parts(part(mechanism.RandomAllocation{Steps: 3, Mechanism: laplace}, 2)), nil},
		{mechanism.ReplaceOne, parts(part(pass, 7)), nil, parts(part(steps, 7*235))}, // nothing is proven
		{mechanism.AddOrRemoveOne, parts(part(unsized, 1)), nil, nil},
		{mechanism.AddOrRemoveOne, parts(part(noise, 1)), nil, nil},
		{mechanism.AddOrRemoveOne, parts(part(pass, 1<<60)), parts(part(epoch, 1<<60)), nil}, // too many steps
	} {
		for _, f := range []struct {
			change func(mechanism.Composition) (mechanism.Composition, error)
			want   []mechanism.Part
		}{{IfAllocated, c.allocated}, {IfSampled, c.sampled}} {
			got, err := f.change(mechanism.Composition{Adjacency: c.adj, Parts: c.given})
			if (err != nil) != (f.want == nil) || err == nil && !reflect.DeepEqual(got.Parts, f.want) {
				t.Errorf("%v: %v, %v; want %v", c.given, got.Parts, err, f.want)
			}
		}
	}
}

func TestForGroup(t *testing.T) {
	run := mechanism.DPSGD{NoiseMultiplier: 1, BatchSize: 10, DatasetSize: 1000, Steps: 1 << 20}
	step := mechanism.Expand(run)[0].Mechanism
	noise := mechanism.Gaussian{NoiseMultiplier: 1}
	pair := func(m mechanism.Mechanism) mechanism.Mechanism { return mechanism.Group{Size: 2, Mechanism: m} }
	for _, c := range []struct {
		parts, want []mechanism.Part // no want: refused
	}{
		{parts(part(run, 3)), parts(part(pair(step), 3<<20))},
		{parts(part(run, 1<<43)), nil}, // more steps than can be counted
		{parts(part(noise, 5), part(step, 1), part(run, 1)), parts(part(pair(noise), 5), part(pair(step), 1+1<<20))},
		{parts(part(mechanism.Group{Size: 3, Mechanism: noise}, 1)), nil},
	} {
		got, err := ForGroup(mechanism.Composition{Adjacency: mechanism.ZeroOut, Parts: c.parts}, 2)
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(got.Parts, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.parts, got.Parts, err, c.want)
		}
	}
}

func parts(list ...mechanism.Part) []mechanism.Part { return list }

func part(m mechanism.Mechanism, count uint64) mechanism.Part {
	return mechanism.Part{Mechanism: m, Count: count}
}
