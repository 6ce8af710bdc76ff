// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Of these classes the loss follows from how they are used: mixtures, batches and trees.

// only refuses a class under adjacencies for which it is not meant.
func (r *dpEventReader) only(n node, allowed bool, why string) error {
	if allowed {
		return nil
	}
	return bad(n.path+".class_name", n.class+" under "+r.adj.String(), why)
}

func mixture(r *dpEventReader, n node) (*pb.Mechanism, error) {
	const why = "ADD_OR_REMOVE_ONE or ZERO_OUT: it is one record beside none"
	if err := r.only(n, r.adj != pb.Workload_REPLACE_ONE, why); err != nil {
		return nil, err
	}
	sigma, err := toNumber(n.path+".standard_deviation", n.fields["standard_deviation"])
	if err != nil {
		return nil, err
	}
	sensitivities, err := toList(n.path+".sensitivities", n.fields["sensitivities"], toNumber)
	if err != nil {
		return nil, err
	}
	probabilities, err := toList(n.path+".sampling_probs", n.fields["sampling_probs"], toNumber)
	return &pb.Mechanism{Kind: &pb.Mechanism_MixtureOfGaussians{MixtureOfGaussians: &pb.MixtureOfGaussians{
		StandardDeviation: &sigma, Sensitivities: sensitivities, Probabilities: probabilities}}}, err
}

func (r *dpEventReader) batch(n node) (*pb.Mechanism, error) {
	const why = "REPLACE_ONE: otherwise every batch's chance changes"
	if err := r.only(n, r.adj == pb.Workload_REPLACE_ONE, why); err != nil {
		return nil, err
	}
	size, err := toCount(n.path+".source_dataset_size", n.fields["source_dataset_size"])
	if err != nil {
		return nil, err
	}
	b, err := toCount(n.path+".sample_size", n.fields["sample_size"])
	if err != nil {
		return nil, err
	}
	m, err := r.within(n, "SampledWithoutReplacementDpEvent", "PoissonSampledDpEvent",
		"TruncatedSubsampledGaussianDpEvent")
	if err != nil || m == nil {
		return nil, err
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_FixedSizeSampled{FixedSizeSampled: &pb.FixedSizeSampled{BatchSize: &b,
		DatasetSize: &size, Mechanism: m}}}, nil
}

// truncated takes dataset_size as it is: under ADD_OR_REMOVE_ONE this program has one
// record beyond it, dp_accounting has none, so the loss is no smaller here.
func truncated(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	size, err := toCount(n.path+".dataset_size", n.fields["dataset_size"])
	if err != nil {
		return nil, err
	}
	most, err := toCount(n.path+".truncated_batch_size", n.fields["truncated_batch_size"])
	if err != nil {
		return nil, err
	}
	q, err := toNumber(n.path+".sampling_probability", n.fields["sampling_probability"])
	if err != nil {
		return nil, err
	}
	sigma, err := toNumber(n.path+".noise_multiplier", n.fields["noise_multiplier"])
	return &pb.Mechanism{Kind: &pb.Mechanism_TruncatedPoissonSampled{
			TruncatedPoissonSampled: &pb.TruncatedPoissonSampled{
				SamplingProbability: &q, DatasetSize: &size, MaximumBatchSize: &most,
				Mechanism: &pb.Mechanism{
					Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &sigma}}}}}},
		err
}

// tree is the largest of several trees: a record is in one of them only.
func tree(r *dpEventReader, n node) (*pb.Mechanism, error) {
	if err := r.only(n, r.adj == pb.Workload_ZERO_OUT, "ZERO_OUT, as in dp_accounting"); err != nil {
		return nil, err
	}
	sigma, err := toNumber(n.path+".noise_multiplier", n.fields["noise_multiplier"])
	if err != nil {
		return nil, err
	}
	value := n.fields["step_counts"]
	if _, list := value.([]any); !list {
		value = []any{value}
	}
	counts, err := toList(n.path+".step_counts", value, toCount)
	var steps uint64
	for _, count := range counts {
		steps = max(steps, count)
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_TreeAggregation{
		TreeAggregation: &pb.TreeAggregation{NoiseMultiplier: &sigma, Steps: &steps}}}, err
}

func toList[T any](path string, v any, to func(string, any) (T, error)) ([]T, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, bad(path, text(v), "a list of numbers")
	}
	out := make([]T, len(list))
	for i, x := range list {
		var err error
		if out[i], err = to(fmt.Sprintf("%s[%d]", path, i), x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w *dpEventWriter) mixture(m mechanism.MixtureOfGaussians) (object, bool) {
	if w.adj == mechanism.ReplaceOne {
		return w.refuse(m, "dp_accounting has mixtures of Gaussians under add/remove and zero-out only")
	}
	e := event("MixtureOfGaussians")
	e.StandardDeviation, e.Sensitivities, e.Probabilities = &m.StandardDeviation, m.Sensitivities.Values(),
		m.Probabilities.Values()
	return e, true
}

func (w *dpEventWriter) fixedSizeSampled(m mechanism.FixedSizeSampled) (object, bool) {
	return w.refuse(m, "only RdpAccountant knows such batches, and it takes REPLACE_ONE's distance for the noise "+
		"multiplier's sensitivity")
}

func (w *dpEventWriter) truncated(m mechanism.TruncatedPoissonSampled) (object, bool) {
	g, gaussian := m.Mechanism.(mechanism.Gaussian)
	switch {
	case !gaussian:
		return w.refuse(m, "dp_accounting cuts samples with Gaussian noise only")
	case w.adj == mechanism.AddOrRemoveOne:
		return w.refuse(m, "dp_accounting counts the added record in dataset_size; here it may be beyond it")
	}
	e, q, sigma := event("TruncatedSubsampledGaussian"), m.Probability(),
		noise{g.StandardDeviation, g.Sensitivity, 0, g.NoiseMultiplier}.multiplier(w.adj)
	e.DatasetSize, e.Probability, e.MaximumBatch, e.Multiplier = &m.DatasetSize, &q, &m.MaximumBatchSize, &sigma
	return e, true
}

func (w *dpEventWriter) tree(m mechanism.TreeAggregation) (object, bool) {
	if n, _ := m.Most(); n > 1 || w.adj != mechanism.ZeroOut {
		return w.refuse(m, "dp_accounting has trees with one participation under zero-out only")
	}
	e, sigma := event("SingleEpochTreeAggregation"),
		noise{m.StandardDeviation, m.Sensitivity, 0, m.NoiseMultiplier}.multiplier(w.adj)
	e.Multiplier, e.Steps, w.rdp = &sigma, &m.Steps, true
	return e, true
}
