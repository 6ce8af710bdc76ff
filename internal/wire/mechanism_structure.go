package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Mechanisms that are made of others, and whole runs.

const (
	allowedCount     = "a whole number from 1, or absent"
	allowedDeviation = "a finite number > 0 (at least 2.3e-308), or absent"
	allowedEta       = "a number > -1 other than 0, or absent for the logarithmic distribution"
)

func toStructure(f *fields, m *pb.Mechanism, depth int) mechanism.Mechanism {
	switch k := m.Kind.(type) {
	case *pb.Mechanism_Composed:
		c := orEmpty(k.Composed)
		f.known("composed", c)
		return mechanism.Composed{Events: f.events("composed.events", c.Events, mechanism.MaxComposedEvents, depth)}
	case *pb.Mechanism_Parallel:
		p := orEmpty(k.Parallel)
		f.known("parallel", p)
		return mechanism.Parallel{
			Parts:                   f.parts("parallel.parts", p.Parts, mechanism.MaxParts, depth),
			PartitionFixedInAdvance: p.PartitionFixedInAdvance,
		}
	case *pb.Mechanism_RepeatAndSelect:
		r := orEmpty(k.RepeatAndSelect)
		f.known("repeat_and_select", r)
		return mechanism.RepeatAndSelect{
			Gamma:     f.float("repeat_and_select.gamma", r.Gamma, allowedChance),
			Eta:       f.float("repeat_and_select.eta", r.Eta, allowedEta),
			Mean:      f.float("repeat_and_select.mean", r.Mean, allowedPositive),
			Mechanism: f.inner("repeat_and_select.mechanism", r.Mechanism, depth),
		}
	case *pb.Mechanism_DpSgd:
		d := orEmpty(k.DpSgd)
		f.known("dp_sgd", d)
		return mechanism.DPSGD{
			NoiseMultiplier: f.float("dp_sgd.noise_multiplier", d.NoiseMultiplier, allowedRequired),
			MaxGradNorm:     f.float("dp_sgd.max_grad_norm", d.MaxGradNorm, allowedPositive),
			BatchSize:       f.whole("dp_sgd.batch_size", d.BatchSize, allowedSize),
			DatasetSize:     f.whole("dp_sgd.dataset_size", d.DatasetSize, allowedSize),
			Epochs:          f.float("dp_sgd.epochs", d.Epochs, allowedPositive),
			Steps:           f.whole("dp_sgd.steps", d.Steps, allowedCount),
			Accumulation:    f.whole("dp_sgd.accumulation", d.Accumulation, allowedCount),
		}
	case *pb.Mechanism_TreeAggregation:
		t := orEmpty(k.TreeAggregation)
		f.known("tree_aggregation", t)
		return mechanism.TreeAggregation{
			StandardDeviation: f.float("tree_aggregation.standard_deviation", t.StandardDeviation, allowedDeviation),
			Sensitivity:       f.float("tree_aggregation.sensitivity", t.Sensitivity, allowedPositive),
			NoiseMultiplier:   f.float("tree_aggregation.noise_multiplier", t.NoiseMultiplier, allowedPositive),
			Participation:     f.participation("tree_aggregation", t.Steps, t.Participations, t.MinimumSeparation),
		}
	case *pb.Mechanism_BandedMatrix:
		b := orEmpty(k.BandedMatrix)
		f.known("banded_matrix", b)
		return mechanism.BandedMatrix{
			StandardDeviation: f.float("banded_matrix.standard_deviation", b.StandardDeviation, allowedDeviation),
			Sensitivity:       f.float("banded_matrix.sensitivity", b.Sensitivity, allowedPositive),
			NoiseMultiplier:   f.float("banded_matrix.noise_multiplier", b.NoiseMultiplier, allowedPositive),
			Coefficients:      f.list("banded_matrix.coefficients", b.Coefficients, mechanism.MaxBands),
			Participation:     f.participation("banded_matrix", b.Steps, b.Participations, b.MinimumSeparation),
		}
	}
	return nil
}

func fromStructure(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.Composed:
		return &pb.Mechanism{Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: FromEvents(m.Events.Values())}}}
	case mechanism.Parallel:
		var parts []*pb.Mechanism
		for _, part := range m.Parts.Values() {
			parts = append(parts, FromMechanism(part))
		}
		return &pb.Mechanism{Kind: &pb.Mechanism_Parallel{Parallel: &pb.Parallel{
			Parts: parts, PartitionFixedInAdvance: m.PartitionFixedInAdvance,
		}}}
	case mechanism.RepeatAndSelect:
		return &pb.Mechanism{Kind: &pb.Mechanism_RepeatAndSelect{RepeatAndSelect: &pb.RepeatAndSelect{
			Mechanism: FromMechanism(m.Mechanism), Gamma: given(m.Gamma), Eta: given(m.Eta), Mean: given(m.Mean),
		}}}
	case mechanism.DPSGD:
		return &pb.Mechanism{Kind: &pb.Mechanism_DpSgd{DpSgd: &pb.DpSgd{
			NoiseMultiplier: given(m.NoiseMultiplier), MaxGradNorm: given(m.MaxGradNorm),
			BatchSize: given(m.BatchSize), DatasetSize: given(m.DatasetSize),
			Epochs: given(m.Epochs), Steps: given(m.Steps), Accumulation: given(m.Accumulation),
		}}}
	case mechanism.TreeAggregation:
		return &pb.Mechanism{Kind: &pb.Mechanism_TreeAggregation{TreeAggregation: &pb.TreeAggregation{
			StandardDeviation: given(m.StandardDeviation), Sensitivity: given(m.Sensitivity), NoiseMultiplier: given(m.NoiseMultiplier),
			Steps: given(m.Steps), Participations: given(m.Participations), MinimumSeparation: given(m.MinimumSeparation),
		}}}
	case mechanism.BandedMatrix:
		return &pb.Mechanism{Kind: &pb.Mechanism_BandedMatrix{BandedMatrix: &pb.BandedMatrix{
			StandardDeviation: given(m.StandardDeviation), Sensitivity: given(m.Sensitivity), NoiseMultiplier: given(m.NoiseMultiplier),
			Coefficients: m.Coefficients.Values(),
			Steps:        given(m.Steps), Participations: given(m.Participations), MinimumSeparation: given(m.MinimumSeparation),
		}}}
	}
	return nil
}

func appendStructure(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.Composed:
		return appendEvents(append(b, 21), m.Events.Values())
	case mechanism.Parallel:
		// The kinds' tags are below 128, so that this one is of no other kind; without the
		// assertion the encoding is what it was before there was one.
		return appendParts(append(b, 24|bit(m.PartitionFixedInAdvance)<<7), m.Parts.Values())
	case mechanism.RepeatAndSelect:
		return appendMechanism(appendFloats(append(b, 25), m.Gamma, m.Eta, m.Mean), m.Mechanism)
	case mechanism.DPSGD:
		b = appendFloats(append(b, 32), m.NoiseMultiplier, m.MaxGradNorm, m.Epochs)
		return appendWhole(b, m.BatchSize, m.DatasetSize, m.Steps, m.Accumulation)
	case mechanism.TreeAggregation:
		b = appendFloats(append(b, 30), m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier)
		return appendWhole(b, m.Steps, m.Participations, m.MinimumSeparation)
	case mechanism.BandedMatrix:
		b = appendFloats(append(b, 31), m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier)
		return appendWhole(appendNumbers(b, m.Coefficients), m.Steps, m.Participations, m.MinimumSeparation)
	}
	return nil
}

func recordStructure(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.Composed:
		return 21, appendRecordedEvents(p, 1, m.Events.Values())
	case mechanism.Parallel:
		return 24, appendNumber(appendRecordedParts(p, 1, m.Parts.Values()), 2, uint64(bit(m.PartitionFixedInAdvance)))
	case mechanism.RepeatAndSelect:
		return 25, appendGivenFrom(appendInner(p, 1, m.Mechanism), 2, m.Gamma, m.Eta, m.Mean)
	case mechanism.DPSGD:
		p = appendNumber(appendNumber(appendGiven(p, m.NoiseMultiplier, m.MaxGradNorm), 3, m.BatchSize), 4, m.DatasetSize)
		return 32, appendNumber(appendNumber(appendGivenFrom(p, 5, m.Epochs), 6, m.Steps), 7, m.Accumulation)
	case mechanism.TreeAggregation:
		p = appendGiven(p, m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier)
		return 30, appendNumber(appendNumber(appendNumber(p, 4, m.Steps), 5, m.Participations), 6, m.MinimumSeparation)
	case mechanism.BandedMatrix:
		p = appendPacked(appendGiven(p, m.StandardDeviation, m.Sensitivity, m.NoiseMultiplier), 4, m.Coefficients)
		return 31, appendNumber(appendNumber(appendNumber(p, 5, m.Steps), 6, m.Participations), 7, m.MinimumSeparation)
	}
	return 0, nil
}
