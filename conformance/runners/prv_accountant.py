# SPDX-License-Identifier: Apache-2.0
"""Microsoft's prv_accountant: its upper bound with an error of 0.01 in ε and of δ/1,000 in δ."""

from . import Refused, each, noise_multiplier, only_add_or_remove, sampled


def prv(case):
    import prv_accountant as prv

    only_add_or_remove(case)
    prvs, counts = [], []
    for kind, p, n in each(case):
        if kind == "gaussian":
            prvs.append(prv.GaussianMechanism(noise_multiplier(p)))
        elif kind == "laplace":
            prvs.append(prv.LaplaceMechanism(p["sensitivity"] / p["scale"]))
        elif kind == "poissonSampled":
            q, sigma = sampled(p)
            prvs.append(prv.PoissonSubsampledGaussianMechanism(sampling_probability=q, noise_multiplier=sigma))
        elif kind == "pureDp":
            prvs.append(prv.PureDPMechanism(p["epsilon"]))
        elif kind == "approximateDp":
            prvs.append(prv.ApproximateDPMechanism(p["epsilon"], p["delta"]))
        else:
            raise Refused(f"no random variable for {kind}")
        counts.append(n)
    accountant = prv.PRVAccountant(
        prvs=prvs, max_self_compositions=counts, eps_error=0.01, delta_error=case["delta"] / 1000)
    lower, _, upper = accountant.compute_epsilon(delta=case["delta"], num_self_compositions=counts)
    return {"epsilon": upper, "lower": lower}


ACCOUNTANTS = {"prv-accountant": prv}
