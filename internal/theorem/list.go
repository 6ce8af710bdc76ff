// SPDX-License-Identifier: Apache-2.0

package theorem

import "github.com/dpaccountant/accountant/internal/accountant"

// engine describes the accountant's own analyses.
func engine() []Theorem {
	return []Theorem{
		{
			Name: string(accountant.GDP), Says: "δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) with μ² = Σμ_j²: exact",
			Assumes: "every loss is Gaussian",
			Source:  "Balle–Wang 2018, Thm 8; Dong–Roth–Su 2022, Cor. 3.3",
		},
		{
			Name: string(accountant.PLD), Says: "the composed privacy loss distribution itself: a certified interval",
			Assumes: "every mechanism has a dominating pair, but zCDP and RDP guarantees, whose sum is taken as one, " +
				"and discrete Gaussians of several coordinates, which nearly are Gaussian noise, rounded",
			Source: "Sommer–Meiser–Mohammadi 2019; Doroshenko et al. 2022; Zhu–Dong–Wang 2022",
		},
		{
			Name:    string(accountant.RDP),
			Says:    "least over α > 1 of τ(α) + ln((α−1)/α) − (ln δ + ln α)/(α−1), τ the sum of Rényi divergences",
			Assumes: "nothing further",
			Source:  "Mironov 2017, Prop. 1; Canonne–Kamath–Steinke 2020, Prop. 12",
		},
		{
			Name: string(accountant.ZCDP), Says: "the rdp conversion with τ = αρ, ρ = Σρ_j",
			Assumes: "every mechanism is ρ-zCDP; sampling does not lower ρ",
			Source:  "Bun–Steinke 2016, Lemma 1.7; Canonne–Kamath–Steinke 2020, Prop. 12",
		},
		{
			Name: string(accountant.Basic), Says: "(Σε_j, Σδ_j)",
			Assumes: "every mechanism is (ε, δ)-DP with an ε of its own",
			Source:  "Dwork–Roth 2014, Thm 3.16",
		},
	}
}

const groupPrivacy = "group-privacy"

// classical returns the theorems that the accountant's analyses do not need.
func classical() []Theorem {
	list := []Theorem{
		{
			Name: "advanced-composition", Says: "(ε·√(2k·ln(1/δ')) + kε(e^ε − 1), kδ + δ')",
			Assumes: "every mechanism is (ε, δ)-DP, for the largest ε and δ among them",
			Source:  "Dwork–Rothblum–Vadhan 2010, Thm III.3; Dwork–Roth 2014, Thm 3.20",
			prove:   advancedComposition,
		},
		{
			Name: "mironov-composition", Says: "(4ε·√(2k·ln(1/δ)), δ)",
			Assumes: "every mechanism is ε-DP, for the largest ε among them, and ln(1/δ) ≥ kε²",
			Source:  "Mironov 2017 (arXiv 1702.07476v3), Cor. 1",
			prove:   mironovComposition,
		},
		{
			Name: "optimal-composition", Says: "((k−2i)ε, 1 − (1−δ)^k·(1−δ_i)) with δ_i = Σ_{l<i} C(k,l)(e^{(k−l)ε} " +
				"− e^{(k−2i+l)ε})/(1+e^ε)^k, and the lines between",
			Assumes: "every mechanism is (ε, δ)-DP, for the largest ε and δ among them; then exact",
			Source:  "Kairouz–Oh–Viswanath 2015 (arXiv 1311.0776), Thm 3.3",
			prove:   optimalComposition,
		},
		{
			Name: "classical-gaussian", Says: "ε = (Δ/σ)·√(2·ln(1.25/δ))",
			Assumes: "one Gaussian release, and ε < 1",
			Source:  "Dwork–Roth 2014, Thm A.1",
			prove:   classicalGaussian,
		},
		{
			Name: "classical-rdp", Says: "least over α > 1 of τ(α) + ln(1/δ)/(α−1), τ the sum of Rényi divergences",
			Assumes: "nothing further",
			Source:  "Mironov 2017 (arXiv 1702.07476v3), Prop. 1 and 3",
			prove:   classicalRDP,
		},
		{
			Name: "classical-zcdp", Says: "ε = ρ + 2·√(ρ·ln(1/δ)), ρ = Σρ_j",
			Assumes: "every mechanism is ρ-zCDP; sampling does not lower ρ",
			Source:  "Bun–Steinke 2016 (arXiv 1605.02065v1), Prop. 1.3 and Lemma 1.7",
			prove:   classicalZCDP,
		},
		{
			Name: "amplification", Says: "(Σ ln(1 + q_j(e^{ε_j} − 1)), Σ q_j·δ_j), with q = 1 for what is not sampled",
			Assumes: "ADD_OR_REMOVE_ONE; every mechanism is (ε, δ)-DP before sampling; one at least is Poisson-sampled",
			Source:  "Balle–Barthe–Gaboardi 2018 (arXiv 1807.01647v2), Thm 8; Dwork–Roth 2014, Thm 3.16",
			prove:   amplification,
		},
		{
			Name: groupPrivacy, Says: "(kε, δ(ε)·(e^{kε} − 1)/(e^ε − 1)) for k differing records, at the best ε of " +
				"the accountant's curve δ(ε)",
			Assumes: "the group size k (--group-size); all else as the accountant's answer",
			Source:  "Dwork–Roth 2014, Thm 2.2; Vadhan 2017, Lemma 2.2",
			prove:   groupOf,
		},
	}
	for i := range list {
		list[i].Classical = true
	}
	return list
}
