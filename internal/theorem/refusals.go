// SPDX-License-Identifier: Apache-2.0

package theorem

const (
	noPure   = "noise with unbounded losses has it, and is ε-DP for no ε"
	sometime = "with probability δ the loss may be infinite, and so is every divergence; δ-approximate zCDP is what " +
		"holds"
)

// refusals says why no theorem turns the first guarantee into the second.
var refusals = map[string]map[string]string{
	Pure: {Pure: "it is one already"},
	Approximate: {
		Pure:         "with probability δ the loss may be infinite",
		Concentrated: sometime,
		Renyi:        sometime,
		Gaussian:     "its δ(ε) does not fall below δ however large ε is, and that of every μ-GDP mechanism does",
	},
	Concentrated: {
		Pure:         noPure,
		Concentrated: "it is one already",
		Gaussian: "μ = √(2ρ) is false: randomized response is (ε²/2)-zCDP and not ε-GDP (Dong–Roth–Su 2022, App. " +
			"B)",
		Sampled: "no smaller ρ holds at all orders; sampling lowers the divergence at small orders only",
		Testing: "it has no trade-off function of its own; convert it to approximate-dp first",
	},
	Renyi: {
		Pure:         noPure,
		Concentrated: "one order says nothing of larger ones",
		Gaussian:     "one order allows heavier tails than any Gaussian's",
		Sampled: "one order does not determine the divergence of the mixture; report the mechanism itself, " +
			"sampled",
		Testing: "it has no trade-off function of its own; convert it to approximate-dp first",
	},
	Gaussian: {
		Pure:     noPure,
		Gaussian: "it is one already",
		Sampled:  "the mixture is μ-GDP for no smaller μ; report gaussian_dp in poisson_sampled, whose curve is known",
	},
}
