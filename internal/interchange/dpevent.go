// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

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
	r := &dpEventReader{adj: adj, classes: dpEventClasses}
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
			"at random; here it has one of the true answers, as every record has, and the loss is larger")
	}
	if r.repeatedExponential {
		notes = append(notes, "dp_accounting's RdpAccountant (read in August 2026) composes the exponential mechanism "+
			"once whatever its count; here every repetition counts")
	}
	if r.unknownDimension {
		notes = append(notes, "where dimension is null, discrete Gaussian noise is charged by its zCDP alone, which "+
			"holds for every dimension; dimension 1 would cost less")
	}
	return &pb.Workload{Adjacency: adj, Events: r.events}, notes, nil
}

type dpEventReader struct {
	adj              pb.Workload_Adjacency
	classes          map[string]dpEventClass
	events           events
	has              map[string]bool // classes
	repeatedResponse bool
	// Some accountants there compose these once, whatever their count.
	repeatedExponential bool
	unknownDimension    bool // of discrete Gaussian noise
}

// dpEventClass is how a class of DpEvent is read.
type dpEventClass struct {
	fields []string // those that this program has a word for; one that ends in ? may be absent
	read   func(r *dpEventReader, n node, count uint64) error
}

// dpEventClasses has every class that a mechanism expresses, and those that say that none does.
var dpEventClasses = map[string]dpEventClass{
	"NoOpDpEvent":               {nil, func(*dpEventReader, node, uint64) error { return nil }},
	"NonPrivateDpEvent":         {nil, (*dpEventReader).noPrivacy},
	"UnsupportedDpEvent":        {nil, (*dpEventReader).noPrivacy},
	"ComposedDpEvent":           {[]string{"events"}, (*dpEventReader).composed},
	"SelfComposedDpEvent":       {[]string{"event", "count"}, (*dpEventReader).selfComposed},
	"GaussianDpEvent":           {[]string{"noise_multiplier"}, released(gaussian)},
	"LaplaceDpEvent":            {[]string{"noise_multiplier"}, released(laplace)},
	"DiscreteLaplaceDpEvent":    {[]string{"noise_parameter", "sensitivity"}, released(discreteLaplace)},
	"RandomizedResponseDpEvent": {[]string{"noise_parameter", "num_buckets"}, (*dpEventReader).response},
	"ZCDpEvent":                 {[]string{"rho", "xi?"}, released(zeroConcentrated)},
	"PoissonSampledDpEvent":     {[]string{"sampling_probability", "event"}, released((*dpEventReader).sampled)},
	"MixtureOfGaussiansDpEvent": {[]string{"standard_deviation", "sensitivities", "sampling_probs"}, released(mixture)},
	"SampledWithoutReplacementDpEvent": {[]string{"source_dataset_size", "sample_size", "event"},
		released((*dpEventReader).batch)},
	"TruncatedSubsampledGaussianDpEvent": {[]string{"dataset_size", "sampling_probability",
		"truncated_batch_size", "noise_multiplier"}, released(truncated)},
	"SingleEpochTreeAggregationDpEvent": {[]string{"noise_multiplier", "step_counts"}, released(tree)},
	"RepeatAndSelectDpEvent":            {[]string{"event", "mean", "shape"}, released((*dpEventReader).repeated)},
	"EpsilonDeltaDpEvent":               {[]string{"epsilon", "delta"}, released(epsilonDelta)},
	"ExponentialMechanismDpEvent":       {[]string{"epsilon"}, exponential},
	"PermuteAndFlipDpEvent":             {[]string{"epsilon"}, released(permuteAndFlip)},
	"DiscreteGaussianDpEvent":           {[]string{"sigma", "sensitivity?", "dimension?"}, released(discreteGaussian)},
	"RandomAllocationDpEvent":           {[]string{"event", "num_selected", "num_steps"}, released(allocation)},
}

// dpEventLacks has the classes that no mechanism expresses, and what to do.
var dpEventLacks = map[string]string{
	"SampledWithReplacementDpEvent": "a class that a mechanism expresses: there is none for samples in which a " +
		"record may be several times; SampledWithoutReplacementDpEvent is read under REPLACE_ONE",
}

// released reads a class that is one mechanism; read returns nil where that releases nothing.
func released(read func(*dpEventReader, node) (*pb.Mechanism, error)) func(*dpEventReader, node, uint64) error {
	return func(r *dpEventReader, n node, count uint64) error {
		m, err := read(r, n)
		if err != nil || m == nil {
			return err
		}
		return r.add(n, m, count)
	}
}

func (r *dpEventReader) add(n node, m *pb.Mechanism, count uint64) error {
	r.events.add(m, count)
	if len(r.events) > wire.MaxWorkloadEvents {
		return bad(n.path, "one event too many",
			fmt.Sprintf("at most %d different ones, of up to 2^32 − 1 each", wire.MaxWorkloadEvents))
	}
	return nil
}

// node is one event of the tree: its class and fields.
type node struct {
	path, class string
	fields      map[string]any
	depth       int
}

// number is a field that says how much noise there is.
func (n node) number(name string) (*float64, error) {
	v, err := toNumber(n.path+"."+name, n.fields[name])
	if err == nil && !(v > 0) {
		err = bad(n.path+"."+name, text(n.fields[name]), "a number > 0: without noise nothing is private")
	}
	return &v, err
}

// node checks the class and the names of the fields.
func (r *dpEventReader) node(path string, value any, depth int) (node, error) {
	if depth > maxDepth {
		return node{}, bad(path, fmt.Sprintf("nested %d deep", depth), fmt.Sprintf("at most %d deep", maxDepth))
	}
	fields, ok := value.(map[string]any)
	if _, list := value.([]any); list {
		return node{}, bad(path, "a list",
			`an object with "class_name": json.dumps drops a named tuple's field names, use _asdict()`)
	}
	if !ok {
		return node{}, bad(path, text(value), "an event, an object")
	}
	if module, _ := fields["module_name"].(string); module != dpEventModule {
		return node{}, bad(path+".module_name", text(fields["module_name"]), `"`+dpEventModule+`"`)
	}
	class, _ := fields["class_name"].(string)
	if why, ok := dpEventLacks[class]; ok {
		return node{}, bad(path+".class_name", class, why)
	}
	known, ok := r.classes[class]
	if !ok {
		return node{}, bad(path+".class_name", text(fields["class_name"]), "a class that a mechanism expresses: "+
			"Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace, EpsilonDelta, RandomizedResponse, ZC, "+
			"ExponentialMechanism, PermuteAndFlip, MixtureOfGaussians, PoissonSampled, SampledWithoutReplacement, "+
			"TruncatedSubsampledGaussian, RandomAllocation, SingleEpochTreeAggregation, RepeatAndSelect, Composed, "+
			"SelfComposed or NoOp DpEvent")
	}
	for _, name := range sortedKeys(fields) {
		if name != "module_name" && name != "class_name" && !slices.Contains(known.fields, name) &&
			!slices.Contains(known.fields, name+"?") {
			return node{}, bad(path+"."+name, text(fields[name]), "no such field of "+class)
		}
	}
	for _, name := range known.fields {
		if _, ok := fields[name]; !ok && !strings.HasSuffix(name, "?") {
			return node{}, bad(path+"."+name, "missing", "required of "+class)
		}
	}
	if r.has == nil {
		r.has = map[string]bool{}
	}
	r.has[class] = true
	return node{path, class, fields, depth}, nil
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
	n, err := r.node(path, value, depth)
	if err != nil {
		return err
	}
	return r.classes[n.class].read(r, n, count)
}

func (r *dpEventReader) noPrivacy(n node, _ uint64) error {
	return bad(n.path+".class_name", n.class, "what has a finite loss that is known")
}

func (r *dpEventReader) composed(n node, count uint64) error {
	list, ok := n.fields["events"].([]any)
	if !ok {
		return bad(n.path+".events", text(n.fields["events"]), "a list of events")
	}
	for i, e := range list {
		if err := r.read(fmt.Sprintf("%s.events[%d]", n.path, i), e, count, n.depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *dpEventReader) selfComposed(n node, count uint64) error {
	times, err := toCount(n.path+".count", n.fields["count"])
	if err != nil {
		return err
	}
	high, total := bits.Mul64(times, count)
	if high > 0 || total > maxTotal {
		return bad(n.path+".count", fmt.Sprint(times), "a total of at most 2^45")
	}
	return r.read(n.path+".event", n.fields["event"], total, n.depth+1)
}

func gaussian(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	v, err := n.number("noise_multiplier")
	return &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: v}}}, err
}

func laplace(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	v, err := n.number("noise_multiplier")
	one := 1.0
	return &pb.Mechanism{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{Scale: v, Sensitivity: &one}}}, err
}

// discreteLaplace reads noise of mass ∝ e^{−a|x|}.
func discreteLaplace(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	d, err := toCount(n.path+".sensitivity", n.fields["sensitivity"])
	if err != nil {
		return nil, err
	}
	a, err := n.number("noise_parameter")
	if err != nil {
		return nil, err
	}
	b, sensitivity := ratioDown(1, *a), float64(d)
	return &pb.Mechanism{Kind: &pb.Mechanism_DiscreteLaplace{DiscreteLaplace: &pb.DiscreteLaplace{Scale: &b,
		Sensitivity: &sensitivity}}}, nil
}

func zeroConcentrated(_ *dpEventReader, n node) (*pb.Mechanism, error) {
	if xi, ok := n.fields["xi"]; ok {
		if v, err := toNumber(n.path+".xi", xi); err != nil || v != 0 {
			return nil, bad(n.path+".xi", text(xi), "0: (ξ, ρ)-zCDP with another ξ has no mechanism")
		}
	}
	v, err := n.number("rho")
	return &pb.Mechanism{Kind: &pb.Mechanism_ZeroConcentratedDp{
		ZeroConcentratedDp: &pb.ZeroConcentratedDp{Rho: v}}}, err
}

// response is nothing where there is one answer only, or every answer is drawn at random.
func (r *dpEventReader) response(n node, count uint64) error {
	k, err := toCount(n.path+".num_buckets", n.fields["num_buckets"])
	if err != nil || k == 1 {
		return err
	}
	v, err := n.number("noise_parameter")
	if err != nil || *v == 1 {
		return err
	}
	r.repeatedResponse = r.repeatedResponse || count > 1 // dp_accounting composes them once
	return r.add(n, &pb.Mechanism{Kind: &pb.Mechanism_RandomizedResponse{
		RandomizedResponse: &pb.RandomizedResponse{Noise: v, Buckets: &k}}}, count)
}

// sampled reads what is run on one sample: several events together share it, and
// become one composed mechanism.
func (r *dpEventReader) sampled(n node) (*pb.Mechanism, error) {
	q, err := toNumber(n.path+".sampling_probability", n.fields["sampling_probability"])
	if err != nil {
		return nil, err
	}
	m, err := r.within(n, "PoissonSampledDpEvent", "SampledWithoutReplacementDpEvent",
		"TruncatedSubsampledGaussianDpEvent")
	if err != nil || m == nil || q == 0 {
		return nil, err
	}
	return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{SamplingProbability: &q,
		Mechanism: m}}}, nil
}

// within reads the event inside another one as one mechanism, nil if it releases
// nothing; it must have none of the samples that are named.
func (r *dpEventReader) within(n node, samples ...string) (*pb.Mechanism, error) {
	inside := &dpEventReader{adj: r.adj, classes: r.classes, has: map[string]bool{}}
	if err := inside.read(n.path+".event", n.fields["event"], 1, n.depth+1); err != nil {
		return nil, err
	}
	for _, class := range samples {
		if inside.has[class] {
			return nil, bad(n.path+".event", "a sample of a sample",
				"what takes no sample of its own; two Poisson samples are one with the product of their probabilities")
		}
	}
	for class := range inside.has {
		r.has[class] = true
	}
	r.repeatedResponse = r.repeatedResponse || inside.repeatedResponse
	r.repeatedExponential = r.repeatedExponential || inside.repeatedExponential
	r.unknownDimension = r.unknownDimension || inside.unknownDimension
	if len(inside.events) == 0 {
		return nil, nil
	}
	if len(inside.events) > 1 || inside.events[0].Count > 1 {
		return &pb.Mechanism{Kind: &pb.Mechanism_Composed{Composed: &pb.Composed{Events: inside.events}}}, nil
	}
	return inside.events[0].Mechanism, nil
}
