// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"fmt"
	"math"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// The classes in this file came after dp-accounting 0.6.0: guarantees, selections, discrete normal
// noise and random allocation. A loss of 0 releases nothing, there and here.

// least reads a field that must be a number ≥ 0.
func (n node) least(name string) (float64, error) {
	v, err := toNumber(n.path+"."+name, n.fields[name])
	if err == nil && !(v >= 0) {
		err = bad(n.path+"."+name, text(n.fields[name]), "a number ≥ 0")
	}
	return v, err
}

// epsilonDelta reads a guarantee of (ε, δ)-DP. One with ε = 0 fails with probability δ and
// releases nothing otherwise.
func epsilonDelta(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	epsilon, err := n.least("epsilon")
	if err != nil {
		return nil, err
	}
	delta, err := n.least("delta")
	switch {
	case err != nil:
		return nil, err
	case delta >= 1:
		return nil, bad(n.path+".delta", text(n.fields["delta"]),
			"a number from 0 to below 1: with 1 nothing is private")
	case delta == 0 && epsilon == 0:
		return nil, nil
	case delta == 0:
		return &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &epsilon}}}, nil
	case epsilon == 0:
		return &pb.Mechanism{Kind: &pb.Mechanism_NameAndShame{NameAndShame: &pb.NameAndShame{Delta: &delta}}}, nil
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_ApproximateDp{
		ApproximateDp: &pb.ApproximateDp{Epsilon: &epsilon, Delta: &delta}}}, nil
}

func exponential(r *dpEventReader, n node, count uint64) error {
	epsilon, err := n.least("epsilon")
	if err != nil || epsilon == 0 {
		return err
	}
	r.repeatedExponential = r.repeatedExponential || count > 1 // RdpAccountant composes them once
	return r.add(n, &pb.Mechanism{Kind: &pb.Mechanism_Exponential{
		Exponential: &pb.Exponential{Epsilon: &epsilon}}}, count)
}

// permuteAndFlip is the largest of the scores with exponential noise.
func permuteAndFlip(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	epsilon, err := n.least("epsilon")
	if err != nil || epsilon == 0 {
		return nil, err
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_ReportNoisyMax{ReportNoisyMax: &pb.ReportNoisyMax{
		Distribution: pb.ReportNoisyMax_EXPONENTIAL, Epsilon: &epsilon}}}, nil
}

// discreteGaussian reads noise of mass ∝ e^{−x²/2σ²}. Where the number of coordinates is not known
// it takes several, whose bound holds for one, too.
func discreteGaussian(r *dpEventReader, n node) (*pb.Mechanism, error) {
	sigma, err := n.number("sigma")
	if err != nil {
		return nil, err
	}
	sensitivity, coordinates := 1.0, uint64(2)
	if n.fields["sensitivity"] != nil {
		if sensitivity, err = n.least("sensitivity"); err != nil || sensitivity == 0 {
			return nil, err
		}
	}
	if n.fields["dimension"] != nil {
		if coordinates, err = toCount(n.path+".dimension", n.fields["dimension"]); err != nil {
			return nil, err
		}
	} else {
		r.unknownDimension = true
	}
	if coordinates == 0 {
		return nil, bad(n.path+".dimension", "0", "a whole number from 1, or null where it is not known")
	}
	if coordinates == 1 && sensitivity != math.Trunc(sensitivity) {
		return nil, bad(n.path+".sensitivity", text(n.fields["sensitivity"]),
			"a whole number: in one dimension the values are whole numbers; round it down")
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteGaussian{DiscreteGaussian: &pb.DiscreteGaussian{
		StandardDeviation: sigma, Sensitivity: &sensitivity, Coordinates: &coordinates}}}, nil
}

// allocation reads steps of which every record takes part in num_selected, chosen at random.
func allocation(r *dpEventReader, n node) (*pb.Mechanism, error) {
	const why = "ADD_OR_REMOVE_ONE or ZERO_OUT: a record and its replacement may take part in different steps"
	if err := r.only(n, r.adj != pb.Workload_REPLACE_ONE, why); err != nil {
		return nil, err
	}
	selected, err := toCount(n.path+".num_selected", n.fields["num_selected"])
	if err != nil {
		return nil, err
	}
	steps, err := toCount(n.path+".num_steps", n.fields["num_steps"])
	if err == nil && selected > steps {
		err = bad(n.path+".num_selected", fmt.Sprint(selected),
			fmt.Sprintf("a whole number from 0 to num_steps, %d", steps))
	}
	if err != nil || selected == 0 {
		return nil, err
	}
	m, err := r.within(n, "PoissonSampledDpEvent", "SampledWithoutReplacementDpEvent",
		"TruncatedSubsampledGaussianDpEvent", "RandomAllocationDpEvent")
	if err != nil || m == nil {
		return nil, err
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_RandomAllocation{RandomAllocation: &pb.RandomAllocation{
		Steps: &steps, Selected: &selected, Mechanism: m}}}, nil
}

// dpEventGuarantees are the kinds that this file writes.
var dpEventGuarantees = map[string]dpEventKind{
	"pure_dp":           {written((*dpEventWriter).pure), false},
	"approximate_dp":    {written((*dpEventWriter).approximate), false},
	"name_and_shame":    {written((*dpEventWriter).shame), false},
	"exponential":       {written((*dpEventWriter).exponential), false},
	"report_noisy_max":  {written((*dpEventWriter).noisyMax), false},
	"discrete_gaussian": {written((*dpEventWriter).discreteGaussian), false},
	"random_allocation": {written((*dpEventWriter).allocation), false},
	"gaussian_dp":       {(*dpEventWriter).asGaussian, false},
	"banded_matrix":     {(*dpEventWriter).asGaussian, false},
	"general_matrix":    {(*dpEventWriter).asGaussian, false},
	"sampled_matrix":    {written((*dpEventWriter).sampledMatrix), false},
}

func (w *dpEventWriter) guarantee(epsilon, delta float64) (object, bool) {
	e := event("EpsilonDelta")
	e.Epsilon, e.Delta, e.fails, w.newer = &epsilon, &delta, delta > 0, true
	return e, true
}

func (w *dpEventWriter) pure(m mechanism.PureDP) (object, bool) { return w.guarantee(m.Epsilon, 0) }

func (w *dpEventWriter) approximate(m mechanism.ApproximateDP) (object, bool) {
	return w.guarantee(m.Epsilon, m.Delta)
}

func (w *dpEventWriter) shame(m mechanism.NameAndShame) (object, bool) {
	return w.guarantee(0, m.Delta)
}

// selection gives ε rounded up.
func (w *dpEventWriter) selection(class string, spread, scale float64) (object, bool) {
	epsilon := ratioUp(spread, scale)
	e := event(class)
	e.Epsilon, w.newer = &epsilon, true
	return e, true
}

func (w *dpEventWriter) exponential(m mechanism.Exponential) (object, bool) {
	spread, scale := m.Range(w.adj)
	e, ok := w.selection("ExponentialMechanism", spread, scale)
	e.oneByOne = "RdpAccountant"
	return e, ok
}

func (w *dpEventWriter) noisyMax(m mechanism.ReportNoisyMax) (object, bool) {
	switch m.Distribution {
	case mechanism.GumbelMax:
		return w.exponential(mechanism.Exponential{Epsilon: m.Epsilon, Scale: m.Scale, Sensitivity: m.Sensitivity,
			Monotone: m.Monotone})
	case mechanism.ExponentialMax:
		spread, scale := m.Range(w.adj)
		return w.selection("PermuteAndFlip", spread, scale)
	}
	return w.refuse(m, "DpEvent has no class for it with Laplace noise; with exponential noise it has permute-and-flip")
}

func (w *dpEventWriter) discreteGaussian(m mechanism.DiscreteGaussian) (object, bool) {
	if w.adj == mechanism.ReplaceOne {
		return w.refuse(m, "only RdpAccountant knows discrete Gaussian noise, and it takes REPLACE_ONE's distance for "+
			"the sensitivity")
	}
	e, sensitivity, dimension := event("DiscreteGaussian"), max(m.Sensitivity, m.Distance), max(1, m.Coordinates)
	e.Sigma, e.Sensitivity, e.Dimension = &m.StandardDeviation, &sensitivity, &dimension
	w.rdp, w.newer = true, true
	return e, true
}

func (w *dpEventWriter) allocation(m mechanism.RandomAllocation) (object, bool) {
	if m.Uses() > 1 {
		return w.refuse(m, "RandomAllocationDpEvent chooses the steps afresh for each pass")
	}
	inside, ok := w.one(m.Mechanism)
	e, selected := event("RandomAllocation"), m.Rounds()
	e.Event, e.Selected, e.NumSteps, w.newer = &inside, &selected, &m.Steps, true
	return e, ok
}

// asGaussian writes a mechanism whose loss is one Gaussian's.
func (w *dpEventWriter) asGaussian(m mechanism.Mechanism) (object, bool) {
	l, err := kinds.Of(m, w.adj)
	if err != nil {
		return w.refuse(m, err.Error())
	}
	mu, ok := loss.MuOf(l)
	if !ok || !(mu > 0) {
		return w.refuse(m, "it is no Gaussian of known size under this adjacency")
	}
	norms := 1.0 // between the outputs on neighbouring datasets
	if w.adj == mechanism.ReplaceOne {
		norms = 2
	}
	e, sigma := event("Gaussian"), ratioDown(norms, mu)
	e.Multiplier = &sigma
	return e, true
}

// sampledMatrix writes the turns of one group of records: each is a Gaussian on a Poisson sample,
// and the last one may be cut.
func (w *dpEventWriter) sampledMatrix(m mechanism.SampledMatrix) (object, bool) {
	all, before := event("Composed"), (m.Steps-1)/m.Turns()
	for _, t := range []struct{ count, steps uint64 }{
		{before, m.Turns()}, {1, m.Steps - before*m.Turns()}} {
		one := m
		one.SamplingProbability, one.Steps = 1, t.steps
		e, ok := w.asGaussian(one)
		if !ok {
			return e, false
		}
		if m.SamplingProbability < 1 {
			inside := e
			e = event("PoissonSampled")
			e.Probability, e.Event = &m.SamplingProbability, &inside
		}
		if t.count > 0 {
			repeated := event("SelfComposed")
			repeated.Event, repeated.Count = &e, &t.count
			all.Events = append(all.Events, repeated)
		}
	}
	return all, true
}
