package mechanisms

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// parameterHelp describes the parameter with this name in the API for the help of its flag,
// which all kinds share that have such a parameter. It is the first sentence of the API's
// comment, or one of sharedHelp where the comments of several kinds differ.
func parameterHelp(name string) string {
	if text, ok := sharedHelp[name]; ok {
		return text
	}
	for _, k := range mechanism.Kinds() {
		for _, p := range k.Parameters {
			if p.Name == name {
				return firstSentence(p)
			}
		}
	}
	return ""
}

// sharedHelp describes parameters of which the API says something else for each kind, or too
// little to be read alone.
var sharedHelp = map[string]string{
	"standard_deviation": "σ of the noise, in the units of the query",
	"scale":              "b of the noise, in the units of the query or score",
	"sensitivity": "Δ: the norm of one record's contribution, ℓ2 for Gaussian noise (for DP-SGD the clipping norm) " +
		"and ℓ1 for Laplace noise, in the units of the query",
	"distance":             "the largest distance between the outputs on neighbouring datasets, in the norm of the sensitivity",
	"noise_multiplier":     "σ/Δ, without units",
	"epsilon":              "ε, in nats",
	"delta":                "δ",
	"rho":                  "ρ, in nats",
	"batch_size":           "the expected number of records in a batch; with --dataset-size",
	"dataset_size":         "the number of records in the dataset; with --batch-size",
	"sampling_probability": "q of Poisson sampling, a fresh batch each time",
	"steps":                "how often noise is added; steps of a tree or matrix",
	"monotone":             "a record's contributions all have one sign, as in counts",
	"distribution":         "the noise: LAPLACE, EXPONENTIAL or GUMBEL",
	"participations":       "the most steps that one record takes part in",
	"minimum_separation":   "the least number of steps from one participation to the next",
}

// firstSentence is that of the parameter's help, as flags show it: in lower case, without its
// full stop, and with the kind of value that a list takes.
func firstSentence(p mechanism.Parameter) string {
	text, _, _ := strings.Cut(p.Help, ". ")
	text = strings.TrimSuffix(text, ".")
	if first, rest, ok := strings.Cut(text, " "); ok && len(first) > 1 && first[0] < utf8.RuneSelf {
		text = strings.ToLower(first[:1]) + first[1:] + " " + rest
	}
	if p.Most > 0 {
		text += "; a `list`: 1,0.5"
	}
	return text
}

// Help lists the kinds with their flags, sampling last.
func Help() string {
	var b strings.Builder
	sampling := ""
	for _, k := range kindFields() {
		if k.Name() == samplingKind {
			sampling = strings.Join(flagNames(k), ", ")
			continue
		}
		if described(k) {
			_, _ = fmt.Fprintf(&b, "  %-22s %s\n", spelling.Dashed(string(k.Name())), strings.Join(flagNames(k), ", "))
		}
	}
	return b.String() + fmt.Sprintf("  %-22s %s\n", "with Poisson sampling", sampling)
}
