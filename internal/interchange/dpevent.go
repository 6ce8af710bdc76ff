package interchange

import (
	"fmt"
	"math/bits"
	"slices"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// The module that DpEvent's classes name as theirs, and how deep trees may be.
const (
	dpEventModule = "dp_accounting.dp_event"
	maxDepth      = 32
	maxTotal      = 1 << 45 // applications of one event
)

// A DpEvent is written as the JSON of its to_named_tuple(), each tuple an object:
//
//	{"module_name": "dp_accounting.dp_event", "class_name": "GaussianDpEvent", "noise_multiplier": 1.1}
//
// Values v_i have norms of at most C there and noise_multiplier is s/C: one record's
// contribution, as sensitivity is here. Under REPLACE_ONE both PLDAccountant and this
// program double it; RdpAccountant leaves that to its user.
func readDPEvent(value any, adj pb.Workload_Adjacency) (*pb.Workload, []string, error) {
	if adj == pb.Workload_ADJACENCY_UNSPECIFIED {
		return nil, nil, bad("adjacency", "missing",
			"ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT: a DpEvent does not say for which it is")
	}
	r := &dpEventReader{adj: adj}
	if err := r.read("event", value, 1, 0); err != nil {
		return nil, nil, err
	}
	var notes []string
	if adj == pb.Workload_REPLACE_ONE && r.has["GaussianDpEvent"] {
		notes = append(notes, "dp_accounting's RdpAccountant takes REPLACE_ONE's distance for the noise_multiplier's "+
			"sensitivity; here, as in its PLDAccountant, it is twice that")
	}
	if r.has["RandomizedResponseDpEvent"] && r.repeatedResponse {
		notes = append(notes, "dp_accounting (PLDAccountant, at least to 0.6.0) composes randomized response once "+
			"whatever its count; here every repetition counts")
	}
	if r.has["RandomizedResponseDpEvent"] && adj == pb.Workload_ZERO_OUT {
		notes = append(notes, "dp_accounting's null record (REPLACE_SPECIAL) answers randomized response uniformly "+
			"at random; "+
			"here it has one of the true answers, as every record has, and the loss is larger")
	}
	return &pb.Workload{Adjacency: adj, Events: r.events}, notes, nil
}

type dpEventReader struct {
	adj              pb.Workload_Adjacency
	events           events
	has              map[string]bool // classes
	repeatedResponse bool
}

// fieldsOf are each class's fields that this program has a word for.
var fieldsOf = map[string][]string{
	"NoOpDpEvent": {}, "NonPrivateDpEvent": {}, "UnsupportedDpEvent": {},
	"GaussianDpEvent": {"noise_multiplier"}, "LaplaceDpEvent": {"noise_multiplier"},
	"DiscreteLaplaceDpEvent":    {"noise_parameter", "sensitivity"},
	"RandomizedResponseDpEvent": {"noise_parameter", "num_buckets"},
	"ZCDpEvent":                 {"rho", "xi"},
	"SelfComposedDpEvent":       {"event", "count"}, "ComposedDpEvent": {"events"},
	"PoissonSampledDpEvent":            {"sampling_probability", "event"},
	"MixtureOfGaussiansDpEvent":        {"standard_deviation", "sensitivities", "sampling_probs"},
	"SampledWithoutReplacementDpEvent": {"source_dataset_size", "sample_size", "event"},
	"TruncatedSubsampledGaussianDpEvent": {"dataset_size", "sampling_probability",
		"truncated_batch_size", "noise_multiplier"},
	"SingleEpochTreeAggregationDpEvent": {"noise_multiplier", "step_counts"},
	"RepeatAndSelectDpEvent":            {"event", "mean", "shape"},
}

// node is one event of the tree: its class and fields.
func (r *dpEventReader) node(path string, value any, depth int) (class string, fields map[string]any, err error) {
	if depth > maxDepth {
		return "", nil, bad(path, fmt.Sprintf("nested %d deep", depth), fmt.Sprintf("at most %d deep", maxDepth))
	}
	fields, ok := value.(map[string]any)
	if _, list := value.([]any); list {
		return "", nil, bad(path, "a list",
			`an object with "class_name": json.dumps drops a named tuple's field names, use _asdict()`)
	}
	if !ok {
		return "", nil, bad(path, text(value), "an event, an object")
	}
	if module, _ := fields["module_name"].(string); module != dpEventModule {
		return "", nil, bad(path+".module_name", text(fields["module_name"]), `"`+dpEventModule+`"`)
	}
	class, _ = fields["class_name"].(string)
	known, ok := fieldsOf[class]
	if !ok {
		return "", nil, bad(path+".class_name", text(fields["class_name"]), "a class that a mechanism expresses: "+
			"Gaussian, Laplace, DiscreteLaplace, RandomizedResponse, ZC, MixtureOfGaussians, PoissonSampled, "+
			"SampledWithoutReplacement, TruncatedSubsampledGaussian, SingleEpochTreeAggregation, RepeatAndSelect, "+
			"Composed, SelfComposed or NoOp DpEvent")
	}
	for _, name := range sortedKeys(fields) {
		if name != "module_name" && name != "class_name" && !slices.Contains(known, name) {
			return "", nil, bad(path+"."+name, text(fields[name]), "no such field of "+class)
		}
	}
	for _, name := range known {
		if _, ok := fields[name]; !ok && name != "xi" {
			return "", nil, bad(path+"."+name, "missing", "required of "+class)
		}
	}
	if r.has == nil {
		r.has = map[string]bool{}
	}
	r.has[class] = true
	return class, fields, nil
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// read adds the event count times.
func (r *dpEventReader) read(path string, value any, count uint64, depth int) error {
	class, fields, err := r.node(path, value, depth)
	if err != nil {
		return err
	}
	switch class {
	case "NoOpDpEvent":
		return nil
	case "NonPrivateDpEvent", "UnsupportedDpEvent":
		return bad(path+".class_name", class, "what has a finite loss that is known")
	case "ComposedDpEvent":
		list, ok := fields["events"].([]any)
		if !ok {
			return bad(path+".events", text(fields["events"]), "a list of events")
		}
		for i, e := range list {
			if err := r.read(fmt.Sprintf("%s.events[%d]", path, i), e, count, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "SelfComposedDpEvent":
		n, err := toCount(path+".count", fields["count"])
		if err != nil {
			return err
		}
		high, total := bits.Mul64(n, count)
		if high > 0 || total > maxTotal {
			return bad(path+".count", fmt.Sprint(n), "a total of at most 2^45")
		}
		return r.read(path+".event", fields["event"], total, depth+1)
	}
	m, err := r.mechanism(path, class, fields, depth)
	if err != nil || m == nil {
		return err
	}
	if class == "RandomizedResponseDpEvent" && count > 1 {
		r.repeatedResponse = true
	}
	r.events.add(m, count)
	if len(r.events) > wire.MaxWorkloadEvents {
		return bad(path, "one event too many",
			fmt.Sprintf("at most %d different ones, of up to 2^32 − 1 each", wire.MaxWorkloadEvents))
	}
	return nil
}

// mechanism is one that releases an output; nil where that is nothing.
func (r *dpEventReader) mechanism(path, class string, fields map[string]any, depth int) (*pb.Mechanism, error) {
	switch class {
	case "PoissonSampledDpEvent":
		return r.sampled(path, fields, depth)
	case "MixtureOfGaussiansDpEvent", "SampledWithoutReplacementDpEvent", "TruncatedSubsampledGaussianDpEvent",
		"SingleEpochTreeAggregationDpEvent", "RepeatAndSelectDpEvent":
		return r.structured(path, class, fields, depth)
	}
	number := func(name string) (*float64, error) {
		v, err := toNumber(path+"."+name, fields[name])
		if err == nil && !(v > 0) {
			err = bad(path+"."+name, text(fields[name]), "a number > 0: without noise nothing is private")
		}
		return &v, err
	}
	switch class {
	case "GaussianDpEvent":
		v, err := number("noise_multiplier")
		return &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: v}}}, err
	case "LaplaceDpEvent":
		v, err := number("noise_multiplier")
		one := 1.0
		return &pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{Scale: v, Sensitivity: &one}}}, err
	case "DiscreteLaplaceDpEvent": // mass ∝ e^{−a|x|}
		d, err := toCount(path+".sensitivity", fields["sensitivity"])
		if err != nil {
			return nil, err
		}
		a, err := number("noise_parameter")
		if err != nil {
			return nil, err
		}
		b, sensitivity := ratioDown(1, *a), float64(d)
		return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteLaplace{DiscreteLaplace: &pb.DiscreteLaplace{Scale: &b,
			Sensitivity: &sensitivity}}}, nil
	case "ZCDpEvent":
		if xi, ok := fields["xi"]; ok {
			if v, err := toNumber(path+".xi", xi); err != nil || v != 0 {
				return nil, bad(path+".xi", text(xi), "0: (ξ, ρ)-zCDP with another ξ has no mechanism")
			}
		}
		v, err := number("rho")
		return &pb.Mechanism{Kind: &pb.Mechanism_ZeroConcentratedDp{
			ZeroConcentratedDp: &pb.ZeroConcentratedDp{Rho: v}}}, err
	default: // RandomizedResponseDpEvent
		k, err := toCount(path+".num_buckets", fields["num_buckets"])
		if err != nil || k == 1 { // there is one answer only
			return nil, err
		}
		v, err := number("noise_parameter")
		if err == nil && *v == 1 { // the answer is drawn at random
			return nil, nil
		}
		return &pb.Mechanism{Kind: &pb.Mechanism_RandomizedResponse{RandomizedResponse: &pb.RandomizedResponse{Noise: v,
			Buckets: &k}}}, err
	}
}

// sampled reads what is run on one sample: several events together share it, and
// become one composed mechanism.
func (r *dpEventReader) sampled(path string, fields map[string]any, depth int) (*pb.Mechanism, error) {
	q, err := toNumber(path+".sampling_probability", fields["sampling_probability"])
	if err != nil {
		return nil, err
	}
	m, err := r.within(path, fields, depth, "PoissonSampledDpEvent", "SampledWithoutReplacementDpEvent",
		"TruncatedSubsampledGaussianDpEvent")
	if err != nil || m == nil || q == 0 {
		return nil, err
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q,
		Mechanism: m}}}, nil
}

// within reads the event inside another one as one mechanism, nil if it releases
// nothing; it must have none of the samples that are named.
func (r *dpEventReader) within(path string, fields map[string]any, depth int,
	samples ...string) (*pb.Mechanism, error) {
	inside := &dpEventReader{adj: r.adj, has: map[string]bool{}}
	if err := inside.read(path+".event", fields["event"], 1, depth+1); err != nil {
		return nil, err
	}
	for _, class := range samples {
		if inside.has[class] {
			return nil, bad(path+".event", "a sample of a sample",
				"what takes no sample of its own; two Poisson samples are one with the product of their probabilities")
		}
	}
	for class := range inside.has {
		r.has[class] = true
	}
	r.repeatedResponse = r.repeatedResponse || inside.repeatedResponse
	if len(inside.events) == 0 {
		return nil, nil
	}
	if len(inside.events) > 1 || inside.events[0].Count > 1 {
		return &pb.Mechanism{Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: inside.events}}}, nil
	}
	return inside.events[0].Mechanism, nil
}
