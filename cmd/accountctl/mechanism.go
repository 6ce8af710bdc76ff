package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// parameterHelp describes the parameters of all mechanisms by their names in the
// API. The flags of report are made of the API's messages: a new mechanism needs
// its new parameters here and nothing else.
var parameterHelp = map[string]string{
	"standard_deviation":   "σ of the noise, in the units of the query",
	"scale":                "b of the noise, in the units of the query",
	"sensitivity":          "norm of one record's contribution, in the units of the query (for DP-SGD the clipping norm)",
	"distance":             "largest distance between the outputs on neighbouring datasets",
	"noise_multiplier":     "σ/Δ, without units; alone",
	"epsilon":              "ε, in nats",
	"delta":                "δ",
	"rho":                  "ρ, in nats",
	"mu":                   "μ",
	"noise":                "ν, the probability of a uniform answer",
	"buckets":              "k, the number of possible answers",
	"sampling_probability": "q of Poisson sampling, a fresh batch each time",
	"batch_size":           "expected batch size of Poisson sampling; with --dataset-size",
	"dataset_size":         "number of records; with --batch-size",
	"max_grad_norm":        "Δ, the clipping norm of DP-SGD",
	"epochs":               "passes over the dataset; or --steps",
	"steps":                "how often noise is added, or --epochs; steps of a tree or matrix",
	"accumulation":         "pieces that a batch is processed in before noise is added once",
	"orders":               "α, a `list` of Rényi orders: 2,4,8",
	"epsilons":             "ε at each order, in nats; a `list`",
	"coordinates":          "number of coordinates, 1 unless given",
	"bound":                "τ, the largest noise, in the units of the query",
	"monotone":             "a record's contributions all have one sign, as in counts",
	"threshold_epsilon":    "ε1, spent on the threshold, in nats; with --query-epsilon",
	"query_epsilon":        "ε2, spent on all queries together, in nats",
	"threshold_scale":      "b of the noise on the threshold, in the units of the queries",
	"query_scale":          "b of the noise on each query, in the units of the queries",
	"positives":            "c, the number of queries above the threshold",
	"laplace_scale":        "b of Laplace noise, in records",
	"queries":              "k, the number of counting queries",
	"distribution":         "of the noise: LAPLACE, EXPONENTIAL or GUMBEL",
	"losses":               "privacy losses, a rising `list` in nats",
	"masses":               "the probability of each loss, a `list`",
	"infinite_mass":        "the probability of an infinite loss",
	"gamma":                "γ of the negative binomial number of runs",
	"eta":                  "η of the negative binomial number of runs",
	"mean":                 "mean of the Poisson number of runs",
	"maximum_batch_size":   "the size that samples are cut to",
	"size":                 "number of records in a group",
	"sensitivities":        "norms of what one record may contribute, a `list`: 0,1,2",
	"probabilities":        "their probabilities, a `list` as long",
	"coefficients":         "of the banded matrix, from the diagonal down, a `list`: 1,0.5",
	"participations":       "the most steps that one record takes part in",
	"minimum_separation":   "the least number of steps from one participation to the next",

	// Of mechanisms that only files can describe.
	"partition_fixed_in_advance": "whether the parts, and what runs on each, were fixed before the first release",
}

// samplingKind wraps another mechanism; its flags go with every other kind.
const samplingKind = "poisson_sampled"

// mechanismFlags holds a flag for each parameter of each kind of mechanism.
type mechanismFlags struct {
	floats map[string]*float64 // by the parameter's name
	sizes  map[string]*uint64
	lists  map[string]*[]float64
	yes    map[string]*bool
	words  map[string]*string // one of an enum's names
	count  uint32
}

// addMechanismFlags adds the flags to c.
func addMechanismFlags(c *cobra.Command) *mechanismFlags {
	f := &mechanismFlags{
		floats: map[string]*float64{}, sizes: map[string]*uint64{}, lists: map[string]*[]float64{},
		yes: map[string]*bool{}, words: map[string]*string{},
	}
	for _, kind := range kindFields() {
		if !described(kind) && kind.Name() != samplingKind {
			continue
		}
		for _, field := range parameters(kind) {
			name := string(field.Name())
			if c.Flags().Lookup(dashed(name)) != nil {
				continue // of another kind too
			}
			switch {
			case field.IsList():
				f.lists[name] = c.Flags().Float64Slice(dashed(name), nil, parameterHelp[name])
			case field.Kind() == protoreflect.DoubleKind:
				f.floats[name] = c.Flags().Float64(dashed(name), 0, parameterHelp[name])
			case field.Kind() == protoreflect.BoolKind:
				f.yes[name] = c.Flags().Bool(dashed(name), false, parameterHelp[name])
			case field.Kind() == protoreflect.EnumKind:
				f.words[name] = c.Flags().String(dashed(name), "", parameterHelp[name])
			default:
				f.sizes[name] = c.Flags().Uint64(dashed(name), 0, parameterHelp[name])
			}
		}
	}
	c.Flags().Uint32Var(&f.count, "count", 1, "how often the mechanism is applied")
	return f
}

// given lists the mechanism flags that are set, in the order of their names.
func (f *mechanismFlags) given(c *cobra.Command) []string {
	var out []string
	for name := range parameterHelp {
		if c.Flags().Changed(dashed(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	if c.Flags().Changed("count") {
		out = append(out, "count")
	}
	return out
}

// event makes the event that the flags describe. Ranges are for the daemon to
// check; that a flag belongs to the kind is checked here.
func (f *mechanismFlags) event(c *cobra.Command, kind string) (*accountantv1.Event, error) {
	all := kindFields()
	i := slices.IndexFunc(all, func(k protoreflect.FieldDescriptor) bool {
		return dashed(string(k.Name())) == kind && described(k)
	})
	if i < 0 {
		return nil, usage(c, "mechanism: %q; allowed: %s", kind, strings.Join(kinds(), ", "))
	}
	sampling := all[slices.IndexFunc(all, func(k protoreflect.FieldDescriptor) bool { return k.Name() == samplingKind })]
	base, wrapper := &accountantv1.Mechanism{}, &accountantv1.Mechanism{}
	inner := base.ProtoReflect().Mutable(all[i]).Message()
	outer := wrapper.ProtoReflect().Mutable(sampling).Message()
	sampled := false
	for _, name := range f.given(c) {
		switch {
		case name == "count":
		case f.set(inner, name):
		case f.set(outer, name):
			sampled = true
		default:
			return nil, usage(c, "--%s does not belong to %s; allowed: %s", dashed(name), kind,
				strings.Join(append(flagNames(all[i]), flagNames(sampling)...), ", "))
		}
	}
	if sampled {
		wrapper.GetPoissonSampled().Mechanism = base
		base = wrapper
	}
	return &accountantv1.Event{Mechanism: base, Count: f.count}, nil
}

// set gives m's parameter the flag's value. It returns false if m has none.
func (f *mechanismFlags) set(m protoreflect.Message, name string) bool {
	field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case field == nil:
		return false
	case field.IsList():
		list := m.Mutable(field).List()
		for _, v := range *f.lists[name] {
			list.Append(protoreflect.ValueOfFloat64(v))
		}
	case field.Kind() == protoreflect.DoubleKind:
		m.Set(field, protoreflect.ValueOfFloat64(*f.floats[name]))
	case field.Kind() == protoreflect.BoolKind:
		m.Set(field, protoreflect.ValueOfBool(*f.yes[name]))
	case field.Kind() == protoreflect.EnumKind:
		number := protoreflect.EnumNumber(0) // what is misspelt is missing
		word := strings.ToUpper(strings.ReplaceAll(*f.words[name], "-", "_"))
		if v := field.Enum().Values().ByName(protoreflect.Name(word)); v != nil {
			number = v.Number()
		}
		m.Set(field, protoreflect.ValueOfEnum(number))
	default:
		m.Set(field, protoreflect.ValueOfUint64(*f.sizes[name]))
	}
	return true
}

// kindFields are the alternatives of Mechanism, in the order of their numbers.
func kindFields() []protoreflect.FieldDescriptor {
	fields := (&accountantv1.Mechanism{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	out := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range out {
		out[i] = fields.Get(i)
	}
	return out
}

// parameters are a kind's numbers, and what is yes or no or one of some words.
func parameters(kind protoreflect.FieldDescriptor) []protoreflect.FieldDescriptor {
	var out []protoreflect.FieldDescriptor
	for i, fields := 0, kind.Message().Fields(); i < fields.Len(); i++ {
		switch f := fields.Get(i); f.Kind() {
		case protoreflect.DoubleKind, protoreflect.Uint64Kind, protoreflect.BoolKind, protoreflect.EnumKind:
			out = append(out, f)
		}
	}
	return out
}

// described: flags can describe the kind, which has nothing within it.
func described(kind protoreflect.FieldDescriptor) bool {
	for i, fields := 0, kind.Message().Fields(); i < fields.Len(); i++ {
		if fields.Get(i).Message() != nil {
			return false
		}
	}
	return true
}

// kinds are the names of the mechanisms that flags can describe.
func kinds() []string {
	var out []string
	for _, k := range kindFields() {
		if described(k) {
			out = append(out, dashed(string(k.Name())))
		}
	}
	return out
}

func flagNames(kind protoreflect.FieldDescriptor) []string {
	var out []string
	for _, f := range parameters(kind) {
		out = append(out, "--"+dashed(string(f.Name())))
	}
	return out
}

// mechanismHelp lists the kinds with their flags, sampling last.
func mechanismHelp() string {
	var b strings.Builder
	sampling := ""
	for _, k := range kindFields() {
		if k.Name() == samplingKind {
			sampling = strings.Join(flagNames(k), ", ")
			continue
		}
		if described(k) {
			_, _ = fmt.Fprintf(&b, "  %-22s %s\n", dashed(string(k.Name())), strings.Join(flagNames(k), ", "))
		}
	}
	return b.String() + fmt.Sprintf("  %-22s %s\n", "with Poisson sampling", sampling)
}

func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }
