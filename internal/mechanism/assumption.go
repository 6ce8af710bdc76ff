// SPDX-License-Identifier: Apache-2.0

package mechanism

import "slices"

// An assuming mechanism has a loss that rests on something its parameters do not say.
type assuming interface {
	// assumes says in words what has to be true under adj, or returns "".
	assumes(adj Adjacency) string
}

// Assumptions are what the losses in c rest on beyond the parameters, in words, each
// once, in alphabetical order. They include those of mechanisms inside others.
func (c Composition) Assumptions() []string {
	var list []string
	var visit func(m Mechanism)
	visit = func(m Mechanism) {
		if a, ok := m.(assuming); ok {
			if text := a.assumes(c.Adjacency); text != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		for _, inner := range Inside(m) {
			visit(inner)
		}
	}
	for _, p := range c.Parts {
		visit(p.Mechanism)
	}
	slices.Sort(list)
	return list
}

// publicSize is what a given size of the dataset assumes: neighbours that differ by one
// record more or less differ in it, so it must not be counted from the private data.
// Noisy means of training libraries rest on it as well, as they divide by a batch size
// that follows from it.
func publicSize(adj Adjacency, datasetSize uint64) string {
	if adj != AddOrRemoveOne || datasetSize == 0 {
		return ""
	}
	return "dataset_size is a public number that was not counted from private data: neighbouring datasets differ in " +
		"their number of records."
}

func (p PoissonSampled) assumes(adj Adjacency) string   { return publicSize(adj, p.DatasetSize) }
func (d DPSGD) assumes(adj Adjacency) string            { return publicSize(adj, d.DatasetSize) }
func (f FixedSizeSampled) assumes(adj Adjacency) string { return publicSize(adj, f.DatasetSize) }
func (s Shuffled) assumes(adj Adjacency) string         { return publicSize(adj, s.DatasetSize) }

func (t TruncatedPoissonSampled) assumes(adj Adjacency) string { return publicSize(adj, t.DatasetSize) }
