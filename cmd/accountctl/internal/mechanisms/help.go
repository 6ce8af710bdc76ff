package mechanisms

import (
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
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
