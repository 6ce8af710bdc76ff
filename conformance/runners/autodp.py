# SPDX-License-Identifier: Apache-2.0
"""autodp: its Rényi composition."""

from . import Refused, each, noise_multiplier, only_add_or_remove, sampled


def rdp(case):
    from autodp import mechanism_zoo, transformer_zoo

    only_add_or_remove(case)
    mechanisms, counts = [], []
    for kind, p, n in each(case):
        if kind == "gaussian":
            m = mechanism_zoo.GaussianMechanism(noise_multiplier(p))
        elif kind == "laplace":
            m = mechanism_zoo.LaplaceMechanism(p["scale"] / p["sensitivity"])
        elif kind == "poissonSampled":
            q, sigma = sampled(p)
            m = transformer_zoo.AmplificationBySampling(PoissonSampling=True)(
                mechanism_zoo.GaussianMechanism(sigma), q, improved_bound_flag=True)
        elif kind == "pureDp":
            m = mechanism_zoo.PureDP_Mechanism(p["epsilon"])
        else:
            raise Refused(f"no mechanism for {kind}")
        mechanisms.append(m)
        counts.append(n)
    composed = transformer_zoo.Composition()(mechanisms, counts)
    return {"epsilon": float(composed.get_approxDP(case["delta"]))}


ACCOUNTANTS = {"autodp RDP": rdp}
