// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// maxCopies bounds how often randomized response is written one by one.
const maxCopies = 10_000

// object is one event with its fields in the class's order.
type object struct {
	Module            string    `json:"module_name"`
	Class             string    `json:"class_name"`
	Multiplier        *float64  `json:"noise_multiplier,omitempty"`
	Noise             *float64  `json:"noise_parameter,omitempty"`
	Buckets           *uint64   `json:"num_buckets,omitempty"`
	Sigma             *float64  `json:"sigma,omitempty"`
	Sensitivity       *float64  `json:"sensitivity,omitempty"`
	Dimension         *uint64   `json:"dimension,omitempty"`
	Epsilon           *float64  `json:"epsilon,omitempty"`
	Delta             *float64  `json:"delta,omitempty"`
	Rho               *float64  `json:"rho,omitempty"`
	Probability       *float64  `json:"sampling_probability,omitempty"`
	Event             *object   `json:"event,omitempty"`
	Count             *uint64   `json:"count,omitempty"`
	Mean              *float64  `json:"mean,omitempty"`
	Shape             *number   `json:"shape,omitempty"`
	Selected          *uint64   `json:"num_selected,omitempty"`
	NumSteps          *uint64   `json:"num_steps,omitempty"`
	Steps             *uint64   `json:"step_counts,omitempty"`
	DatasetSize       *uint64   `json:"dataset_size,omitempty"`
	MaximumBatch      *uint64   `json:"truncated_batch_size,omitempty"`
	StandardDeviation *float64  `json:"standard_deviation,omitempty"`
	Sensitivities     []float64 `json:"sensitivities,omitempty"`
	Probabilities     []float64 `json:"sampling_probs,omitempty"`
	Events            []object  `json:"events,omitempty"`
	oneByOne          string    // the accountant there that composes it once however often it is repeated
	fails             bool      // with a probability: its δ is not 0
}

// number is written as Python's json.dump writes it.
type number float64

// MarshalJSON puts Infinity in quotes, as nothing else can stand there; python takes them off.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 1) {
		return json.Marshal(infinity)
	}
	return json.Marshal(float64(n))
}

func python(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte(`"`+infinity+`"`), []byte(infinity))
}

func event(class string) object { return object{Module: dpEventModule, Class: class + "DpEvent"} }

// writeDPEvent writes one ComposedDpEvent.
func writeDPEvent(c mechanism.Composition) ([]byte, []string, error) {
	w := &dpEventWriter{adj: c.Adjacency, kinds: dpEventKinds}
	all := event("Composed")
	for _, p := range c.Parts {
		all.Events = append(all.Events, w.times(p)...)
	}
	if err := w.cannot.err(DPEvent); err != nil {
		return nil, nil, err
	}
	if len(all.Events) == 0 {
		all = event("NoOp")
	}
	relation := map[mechanism.Adjacency]string{
		mechanism.AddOrRemoveOne: "ADD_OR_REMOVE_ONE", mechanism.ReplaceOne: "REPLACE_ONE",
		mechanism.ZeroOut: "REPLACE_SPECIAL",
	}[c.Adjacency]
	notes := []string{"a DpEvent does not say for which neighbours it is: give PLDAccountant NeighboringRelation." +
		relation}
	if w.rdp {
		notes = append(notes, "trees, repetitions and discrete Gaussian noise are for RdpAccountant: PLDAccountant "+
			"does not know them")
	}
	if w.newer {
		notes = append(notes, "some of these classes are newer than dp-accounting 0.6.0: docs/interchange.md names "+
			"them")
	}
	data, err := json.MarshalIndent(all, "", "  ")
	return append(python(data), '\n'), notes, err
}

type dpEventWriter struct {
	adj    mechanism.Adjacency
	kinds  map[string]dpEventKind
	cannot unwritable
	rdp    bool // has what PLDAccountant does not know
	newer  bool // has what dp-accounting 0.6.0 does not know
}

// dpEventKind is how a kind of mechanism is written.
type dpEventKind struct {
	write   func(*dpEventWriter, mechanism.Mechanism) (object, bool)
	sampled bool // PLDAccountant knows it on Poisson samples
}

// dpEventKinds has every kind that some class expresses, by its name in the API. What an
// accountant there would take for less is refused.
var dpEventKinds = joined(dpEventReleases, dpEventGuarantees)

func joined(lists ...map[string]dpEventKind) map[string]dpEventKind {
	all := map[string]dpEventKind{}
	for _, list := range lists {
		for kind, how := range list {
			all[kind] = how
		}
	}
	return all
}

// dpEventReleases are the kinds that are released or sampled as dp-accounting 0.6.0 knows them.
var dpEventReleases = map[string]dpEventKind{
	"gaussian":                  {written((*dpEventWriter).gaussian), true},
	"laplace":                   {written((*dpEventWriter).laplace), true},
	"discrete_laplace":          {written((*dpEventWriter).discreteLaplace), false},
	"randomized_response":       {written((*dpEventWriter).randomizedResponse), false},
	"zero_concentrated_dp":      {written((*dpEventWriter).zeroConcentrated), false},
	"poisson_sampled":           {written((*dpEventWriter).poissonSampled), false},
	"composed":                  {(*dpEventWriter).list, false},
	"dp_sgd":                    {(*dpEventWriter).list, false},
	"mixture_of_gaussians":      {written((*dpEventWriter).mixture), false},
	"fixed_size_sampled":        {written((*dpEventWriter).fixedSizeSampled), false},
	"truncated_poisson_sampled": {written((*dpEventWriter).truncated), false},
	"tree_aggregation":          {written((*dpEventWriter).tree), false},
	"repeat_and_select":         {written((*dpEventWriter).repeated), false},
}

// written takes a function for one kind of descriptor as one for any mechanism of that kind.
func written[M mechanism.Mechanism](write func(*dpEventWriter,
	M) (object, bool)) func(*dpEventWriter, mechanism.Mechanism) (object, bool) {
	return func(w *dpEventWriter, m mechanism.Mechanism) (object, bool) { return write(w, m.(M)) }
}

// refuse notes that m cannot be written, and why.
func (w *dpEventWriter) refuse(m mechanism.Mechanism, why string) (object, bool) {
	w.cannot.add(m, why)
	return object{}, false
}

// times is a mechanism with its count: SelfComposedDpEvent, or copies one by one of
// what PLDAccountant would compose once.
func (w *dpEventWriter) times(p mechanism.Part) []object {
	one, ok := w.one(p.Mechanism)
	switch {
	case !ok:
		return nil
	case p.Count == 1:
		return []object{one}
	case one.oneByOne != "":
		if p.Count > maxCopies {
			w.cannot.add(p.Mechanism,
				fmt.Sprintf("%d times; %s composes it once, so that it is written one by one, at most %d "+
					"times", p.Count, one.oneByOne, maxCopies))
			return nil
		}
		copies := make([]object, p.Count)
		for i := range copies {
			copies[i] = one
		}
		return copies
	}
	repeated := event("SelfComposed")
	repeated.Event, repeated.Count, repeated.fails = &one, &p.Count, one.fails
	return []object{repeated}
}

// one is a mechanism once. Noise multipliers are rounded down.
func (w *dpEventWriter) one(m mechanism.Mechanism) (object, bool) {
	kind, ok := w.kinds[m.Kind()]
	if !ok {
		return w.refuse(m, "DpEvent has no class for it")
	}
	return kind.write(w, m)
}

func (w *dpEventWriter) gaussian(m mechanism.Gaussian) (object, bool) {
	e, sigma := event("Gaussian"),
		noise{m.StandardDeviation, m.Sensitivity, m.Distance, m.NoiseMultiplier}.multiplier(w.adj)
	e.Multiplier = &sigma
	return e, true
}

func (w *dpEventWriter) laplace(m mechanism.Laplace) (object, bool) {
	if w.adj == mechanism.ReplaceOne {
		return w.refuse(m, "dp_accounting has Laplace noise under add/remove and zero-out only")
	}
	e, scale := event("Laplace"), noise{m.Scale, m.Sensitivity, m.Distance, 0}.multiplier(w.adj)
	e.Multiplier = &scale
	return e, true
}

func (w *dpEventWriter) discreteLaplace(m mechanism.DiscreteLaplace) (object, bool) {
	if w.adj == mechanism.ReplaceOne {
		return w.refuse(m, "dp_accounting has discrete Laplace noise under add/remove and zero-out only")
	}
	e, a, d := event("DiscreteLaplace"), reciprocalUp(m.Scale), max(m.Sensitivity, m.Distance)
	e.Noise, e.Sensitivity = &a, &d
	return e, true
}

func (w *dpEventWriter) zeroConcentrated(m mechanism.ZeroConcentratedDP) (object, bool) {
	if m.Delta != 0 {
		return w.refuse(m, "ZCDpEvent has no δ")
	}
	e := event("ZC")
	e.Rho = &m.Rho
	return e, true
}

func (w *dpEventWriter) poissonSampled(m mechanism.PoissonSampled) (object, bool) {
	if !w.kinds[m.Mechanism.Kind()].sampled {
		return w.refuse(m, "PLDAccountant samples Gaussian and Laplace noise only")
	}
	inside, ok := w.one(m.Mechanism)
	e, q := event("PoissonSampled"), m.Probability()
	e.Probability, e.Event = &q, &inside
	return e, ok
}

// list is what m consists of.
func (w *dpEventWriter) list(m mechanism.Mechanism) (object, bool) {
	all := event("Composed")
	for _, p := range mechanism.Expand(m) {
		for _, e := range w.times(p) {
			all.Events = append(all.Events, e)
			all.oneByOne = cmp.Or(all.oneByOne, e.oneByOne)
			all.fails = all.fails || e.fails
		}
	}
	return all, true
}

// randomizedResponse gives ν rounded down: a lower ν is less noise.
func (w *dpEventWriter) randomizedResponse(m mechanism.RandomizedResponse) (object, bool) {
	if w.adj == mechanism.ZeroOut {
		return w.refuse(m, "dp_accounting's null record (REPLACE_SPECIAL) answers uniformly at random, and not as "+
			"every record does: it would take this for less; under REPLACE_ONE both mean the same")
	}
	k, nu := m.K(), m.Noise
	if nu == 0 {
		nu = responseNoise(m.Epsilon, float64(k))
	}
	if !(nu > 0) {
		return w.refuse(m, "its noise is below the numbers of a float64")
	}
	e := event("RandomizedResponse")
	e.Noise, e.Buckets, e.oneByOne = &nu, &k, "PLDAccountant"
	return e, true
}
