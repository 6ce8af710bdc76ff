# SPDX-License-Identifier: Apache-2.0
"""Google's dp_accounting: its PLD and its RDP accountant."""

import math

from . import Refused, each, noise_multiplier, sampled


# How each kind is an event: (dp_accounting, parameters, shift) → DpEvent. shift is by how many sensitivities a
# replaced record moves a sum, where the accountant leaves that to its user.
def _sampled(dp, p, _):
    if "laplace" in p["mechanism"]:
        inner = p["mechanism"]["laplace"]
        return dp.PoissonSampledDpEvent(p["samplingProbability"], dp.LaplaceDpEvent(inner["scale"] / inner["sensitivity"]))
    q, sigma = sampled(p)
    return dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))


def _truncated(dp, p, _):
    q, sigma = sampled(p)
    return dp.dp_event.TruncatedSubsampledGaussianDpEvent(p["datasetSize"], q, p["maximumBatchSize"], sigma)


def _fixed_size(dp, p, shift):
    inner = noise_multiplier(p["mechanism"]["gaussian"])
    return dp.SampledWithoutReplacementDpEvent(p["datasetSize"], p["batchSize"], dp.GaussianDpEvent(inner / shift))


def _mixture(dp, p, _):
    return dp.dp_event.MixtureOfGaussiansDpEvent(p["standardDeviation"], p["sensitivities"], p["probabilities"])


def _repeat(dp, p, _):
    inner = p["mechanism"]
    if "gaussian" not in inner:
        raise Refused(f"no best of several runs of {next(iter(inner))}")
    number = (1 / p["gamma"], 1) if p.get("eta") == 1 else (p["mean"], math.inf)
    return dp.dp_event.RepeatAndSelectDpEvent(dp.GaussianDpEvent(noise_multiplier(inner["gaussian"])), *number)


def _response(dp, p, _):
    buckets = p.get("buckets", 2)
    return dp.RandomizedResponseDpEvent(buckets / (math.expm1(p["epsilon"]) + buckets), buckets)


EVENTS = {
    "gaussian": lambda dp, p, shift: dp.GaussianDpEvent(noise_multiplier(p) / shift),
    "laplace": lambda dp, p, shift: dp.LaplaceDpEvent(p["scale"] / p["sensitivity"] / shift),
    "discreteLaplace": lambda dp, p, _: dp.dp_event.DiscreteLaplaceDpEvent(1 / p["scale"], int(p["sensitivity"])),
    "poissonSampled": _sampled,
    "truncatedPoissonSampled": _truncated,
    "fixedSizeSampled": _fixed_size,
    "mixtureOfGaussians": _mixture,
    "repeatAndSelect": _repeat,
    "randomizedResponse": _response,
    # As its source does since 0.6.0, for exponential noise.
    "reportNoisyMax": lambda dp, p, _: dp.LaplaceDpEvent(1 / p["epsilon"]),
    "treeAggregation": lambda dp, p, _: dp.dp_event.SingleEpochTreeAggregationDpEvent(noise_multiplier(p), p["steps"]),
    "zeroConcentratedDp": lambda dp, p, _: dp.ZCDpEvent(p["rho"]),
}


def event_of(case, shift=1):
    import dp_accounting as dp

    events = []
    for kind, p, n in each(case):
        if kind not in EVENTS:
            raise Refused(f"no event for {kind}")
        events.append(dp.SelfComposedDpEvent(EVENTS[kind](dp, p, shift), n))
    return dp.ComposedDpEvent(events)


def relation(case):
    from dp_accounting import NeighboringRelation

    return {
        "ADD_OR_REMOVE_ONE": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "REPLACE_ONE": NeighboringRelation.REPLACE_ONE,
        "ZERO_OUT": NeighboringRelation.REPLACE_SPECIAL,
    }[case["adjacency"]]


def compose(accountant, case, shift=1):
    event = event_of(case, shift)
    if not accountant.supports(event):
        raise Refused("the accountant does not support the event")
    if "composed" in case:  # asked again, about one more of the last event
        return case["composed"].compose(event.events[-1].event)
    case["composed"] = accountant.compose(event)
    return case["composed"]


def epsilon_or_delta(composed, case):
    """The answer to {"delta"} or, as the project's benchmarks ask, to {"at": ε}."""
    if "at" in case:
        return {"delta": composed.get_delta(case["at"])}
    return {"epsilon": composed.get_epsilon(case["delta"])}


def pld(case):
    from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

    (kind, p, n), *others = each(case)
    if kind == "discreteGaussian" and not others:  # its accountant has no event for the distribution that it has
        shift = 2 if case["adjacency"] == "REPLACE_ONE" else 1
        loss = privacy_loss_distribution.from_discrete_gaussian_mechanism(
            p["standardDeviation"], int(shift * p["sensitivity"])).self_compose(n)
        if "at" in case:
            return {"delta": loss.get_delta_for_epsilon(case["at"])}
        return {"epsilon": loss.get_epsilon_for_delta(case["delta"])}
    return epsilon_or_delta(compose(PLDAccountant(relation(case)), case), case)


def rdp(case):
    from dp_accounting.rdp import RdpAccountant

    shift = 2 if case["adjacency"] == "REPLACE_ONE" else 1
    return epsilon_or_delta(compose(RdpAccountant(neighboring_relation=relation(case)), case, shift), case)


ACCOUNTANTS = {"dp-accounting PLD": pld, "dp-accounting RDP": rdp}
