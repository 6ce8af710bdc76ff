package interchange

import (
	"encoding/json"
	"fmt"

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
	Sensitivity       *uint64   `json:"sensitivity,omitempty"`
	Rho               *float64  `json:"rho,omitempty"`
	Probability       *float64  `json:"sampling_probability,omitempty"`
	Event             *object   `json:"event,omitempty"`
	Count             *uint64   `json:"count,omitempty"`
	Mean              *float64  `json:"mean,omitempty"`
	Shape             *float64  `json:"shape,omitempty"`
	Steps             *uint64   `json:"step_counts,omitempty"`
	DatasetSize       *uint64   `json:"dataset_size,omitempty"`
	MaximumBatch      *uint64   `json:"truncated_batch_size,omitempty"`
	StandardDeviation *float64  `json:"standard_deviation,omitempty"`
	Sensitivities     []float64 `json:"sensitivities,omitempty"`
	Probabilities     []float64 `json:"sampling_probs,omitempty"`
	Events            []object  `json:"events,omitempty"`
	responsesEach     bool      // is composed once however often it is repeated
}

func event(class string) object { return object{Module: dpEventModule, Class: class + "DpEvent"} }

// writeDPEvent writes one ComposedDpEvent.
func writeDPEvent(c mechanism.Composition) ([]byte, []string, error) {
	w := &dpEventWriter{adj: c.Adjacency}
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
		mechanism.AddOrRemoveOne: "ADD_OR_REMOVE_ONE", mechanism.ReplaceOne: "REPLACE_ONE", mechanism.ZeroOut: "REPLACE_SPECIAL",
	}[c.Adjacency]
	notes := []string{"a DpEvent does not say for which neighbours it is: give PLDAccountant NeighboringRelation." + relation}
	if w.rdp {
		notes = append(notes, "trees and repetitions are for RdpAccountant: PLDAccountant does not know them")
	}
	data, err := json.MarshalIndent(all, "", "  ")
	return append(data, '\n'), notes, err
}

type dpEventWriter struct {
	adj    mechanism.Adjacency
	cannot unwritable
	rdp    bool // has what PLDAccountant does not know
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
	case one.responsesEach:
		if p.Count > maxCopies {
			w.cannot.add(p.Mechanism, fmt.Sprintf("%d times; PLDAccountant composes it once, so that it is written one by one, at most %d times", p.Count, maxCopies))
			return nil
		}
		copies := make([]object, p.Count)
		for i := range copies {
			copies[i] = one
		}
		return copies
	}
	repeated := event("SelfComposed")
	repeated.Event, repeated.Count = &one, &p.Count
	return []object{repeated}
}

// one is a mechanism once. Noise multipliers are rounded down.
func (w *dpEventWriter) one(m mechanism.Mechanism) (object, bool) {
	switch m := m.(type) {
	case mechanism.Gaussian:
		e, sigma := event("Gaussian"), noise{m.StandardDeviation, m.Sensitivity, m.Distance, m.NoiseMultiplier}.multiplier(w.adj)
		e.Multiplier = &sigma
		return e, true
	case mechanism.Laplace:
		if w.adj == mechanism.ReplaceOne {
			w.cannot.add(m, "dp_accounting has Laplace noise under add/remove and zero-out only")
			return object{}, false
		}
		e, scale := event("Laplace"), noise{m.Scale, m.Sensitivity, m.Distance, 0}.multiplier(w.adj)
		e.Multiplier = &scale
		return e, true
	case mechanism.DiscreteLaplace:
		if w.adj == mechanism.ReplaceOne {
			w.cannot.add(m, "dp_accounting has discrete Laplace noise under add/remove and zero-out only")
			return object{}, false
		}
		e, a, d := event("DiscreteLaplace"), reciprocalUp(m.Scale), uint64(max(m.Sensitivity, m.Distance))
		e.Noise, e.Sensitivity = &a, &d
		return e, true
	case mechanism.RandomizedResponse:
		return w.response(m)
	case mechanism.ZeroConcentratedDP:
		if m.Delta != 0 {
			w.cannot.add(m, "ZCDpEvent has no δ")
			return object{}, false
		}
		e := event("ZC")
		e.Rho = &m.Rho
		return e, true
	case mechanism.PoissonSampled:
		q := m.Probability()
		switch m.Mechanism.(type) {
		case mechanism.Gaussian, mechanism.Laplace:
		default:
			w.cannot.add(m, "PLDAccountant samples Gaussian and Laplace noise only")
			return object{}, false
		}
		inside, ok := w.one(m.Mechanism)
		e := event("PoissonSampled")
		e.Probability, e.Event = &q, &inside
		return e, ok
	case mechanism.Composed, mechanism.DPSGD:
		e := event("Composed")
		for _, p := range mechanism.Expand(m) {
			e.Events = append(e.Events, w.times(p)...)
			e.responsesEach = e.responsesEach || p.Mechanism.Kind() == "randomized_response"
		}
		return e, true
	}
	return w.structured(m)
}

// response gives ν rounded down: a lower ν is less noise.
func (w *dpEventWriter) response(m mechanism.RandomizedResponse) (object, bool) {
	if w.adj == mechanism.ZeroOut {
		w.cannot.add(m, "dp_accounting's null record (REPLACE_SPECIAL) answers uniformly at random, and not as every record does: it would take this for less; under REPLACE_ONE both mean the same")
		return object{}, false
	}
	k, nu := m.K(), m.Noise
	if nu == 0 {
		nu = responseNoise(m.Epsilon, float64(k))
	}
	if !(nu > 0) {
		w.cannot.add(m, "its noise is below the numbers of a float64")
		return object{}, false
	}
	e := event("RandomizedResponse")
	e.Noise, e.Buckets, e.responsesEach = &nu, &k, true
	return e, true
}
