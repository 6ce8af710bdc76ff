"""Runs one public accountant on one workload and prints one JSON object.

    python one.py PEER < workload.json           {"epsilon": 1.83, "lower": 1.82}
    python one.py PEER --again < workload.json   … and "again": seconds of user CPU

--again adds one more of the last event, asks again, and says what that took: with
imports done and caches warm, keeping what was composed where the accountant can.

The workload is {"adjacency", "events"} in the spelling of accountctl's files, with
"delta"; or with "at", an ε, and then the answer is {"delta": 1e-3}. An accountant that
cannot express it prints {"unsupported": "why"}; its failures are left as they occur.
It is a process of its own so that its user CPU and peak memory can be measured from
outside.
"""

import functools
import importlib
import importlib.util
import json
import math
import pathlib
import resource
import sys
import types
import warnings


class Unsupported(Exception):
    """The accountant has no word for a mechanism."""


def sigma(gaussian):
    """The noise multiplier of a Gaussian, under add/remove."""
    if "noiseMultiplier" in gaussian:
        return gaussian["noiseMultiplier"]
    return gaussian["standardDeviation"] / gaussian["sensitivity"]


def each(workload):
    """Yields (kind, parameters, count) of every event."""
    for event in workload["events"]:
        (kind, parameters), = event["mechanism"].items()
        yield kind, parameters, event["count"]


def sampled(parameters):
    """(q, σ/Δ) of a Poisson-sampled Gaussian."""
    if "gaussian" not in parameters["mechanism"]:
        raise Unsupported(f"no sampled {next(iter(parameters['mechanism']))}")
    return parameters["samplingProbability"], sigma(parameters["mechanism"]["gaussian"])


def dp_accounting_event(workload, shift=1):
    """shift is by how many sensitivities replacing one record moves a plain Gaussian,
    where the accountant leaves that to its user."""
    import dp_accounting as dp
    from dp_accounting import dp_event

    events = []
    for kind, p, n in each(workload):
        if kind == "gaussian":
            event = dp.GaussianDpEvent(sigma(p) / (shift if workload["adjacency"] == "REPLACE_ONE" else 1))
        elif kind == "laplace":
            event = dp.LaplaceDpEvent(p["scale"] / p["sensitivity"])
        elif kind == "poissonSampled" and "laplace" in p["mechanism"]:
            laplace = p["mechanism"]["laplace"]
            event = dp.PoissonSampledDpEvent(p["samplingProbability"], dp.LaplaceDpEvent(laplace["scale"] / laplace["sensitivity"]))
        elif kind == "poissonSampled":
            q, s = sampled(p)
            event = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(s))
        elif kind == "truncatedPoissonSampled":
            q, s = sampled(p)
            event = dp_event.TruncatedSubsampledGaussianDpEvent(p["datasetSize"], q, p["maximumBatchSize"], s)
        elif kind == "reportNoisyMax":  # as its source does since 0.6.0, for exponential noise
            event = dp.LaplaceDpEvent(1 / p["epsilon"])
        elif kind == "discreteLaplace":
            event = dp_event.DiscreteLaplaceDpEvent(1 / p["scale"], p["sensitivity"])
        elif kind == "mixtureOfGaussians":
            event = dp_event.MixtureOfGaussiansDpEvent(p["standardDeviation"], p["sensitivities"], p["probabilities"])
        elif kind == "repeatAndSelect":
            base, geometric = dp.GaussianDpEvent(sigma(p["mechanism"]["gaussian"])), p.get("eta") == 1
            event = dp_event.RepeatAndSelectDpEvent(base, *((1 / p["gamma"], 1) if geometric else (p["mean"], math.inf)))
        elif kind == "fixedSizeSampled":
            event = dp.SampledWithoutReplacementDpEvent(p["datasetSize"], p["batchSize"], dp.GaussianDpEvent(sigma(p["mechanism"]["gaussian"]) / shift))
        elif kind == "treeAggregation":
            event = dp_event.SingleEpochTreeAggregationDpEvent(sigma(p), p["steps"])
        elif kind == "randomizedResponse":
            k = p.get("buckets", 2)
            event = dp.RandomizedResponseDpEvent(k / (math.expm1(p["epsilon"]) + k), k)
        elif kind == "zeroConcentratedDp":
            event = dp.ZCDpEvent(p["rho"])
        else:
            raise Unsupported(f"no event for {kind}")
        events.append(dp.SelfComposedDpEvent(event, n))
    return dp.ComposedDpEvent(events)


def dp_accounting_relation(workload):
    from dp_accounting import NeighboringRelation

    return {
        "ADD_OR_REMOVE_ONE": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "REPLACE_ONE": NeighboringRelation.REPLACE_ONE,
        "ZERO_OUT": NeighboringRelation.REPLACE_SPECIAL,
    }[workload["adjacency"]]


def dp_accounting_answer(accountant, workload, shift=1):
    event = dp_accounting_event(workload, shift)
    if not accountant.supports(event):
        raise Unsupported("the accountant does not support the event")
    if "composed" in workload:  # --again: one more on top of it
        return {"epsilon": workload["composed"].compose(event.events[-1].event).get_epsilon(workload["delta"])}
    workload["composed"] = accountant.compose(event)
    if "at" in workload:
        return {"delta": accountant.get_delta(workload["at"])}
    return {"epsilon": accountant.get_epsilon(workload["delta"])}


def dp_accounting_pld(workload):
    from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

    (kind, p, n), *others = each(workload)
    if kind == "discreteGaussian" and not others:  # its accountant has no event for the distribution that it has
        loss = privacy_loss_distribution.from_discrete_gaussian_mechanism(p["standardDeviation"], p["sensitivity"]).self_compose(n)
        if "at" in workload:
            return {"delta": loss.get_delta_for_epsilon(workload["at"])}
        return {"epsilon": loss.get_epsilon_for_delta(workload["delta"])}
    return dp_accounting_answer(PLDAccountant(dp_accounting_relation(workload)), workload)


def dp_accounting_rdp(workload):
    from dp_accounting.rdp import RdpAccountant

    return dp_accounting_answer(RdpAccountant(neighboring_relation=dp_accounting_relation(workload)), workload, 2)


def only_add_or_remove(workload):
    if workload["adjacency"] != "ADD_OR_REMOVE_ONE":
        raise Unsupported("add/remove only")


def prv_accountant(workload):
    import prv_accountant as prv

    only_add_or_remove(workload)
    prvs, counts = [], []
    for kind, p, n in each(workload):
        if kind == "gaussian":
            prvs.append(prv.GaussianMechanism(sigma(p)))
        elif kind == "laplace":
            prvs.append(prv.LaplaceMechanism(p["sensitivity"] / p["scale"]))
        elif kind == "poissonSampled":
            q, s = sampled(p)
            prvs.append(prv.PoissonSubsampledGaussianMechanism(sampling_probability=q, noise_multiplier=s))
        elif kind == "pureDp":
            prvs.append(prv.PureDPMechanism(p["epsilon"]))
        elif kind == "approximateDp":
            prvs.append(prv.ApproximateDPMechanism(p["epsilon"], p["delta"]))
        else:
            raise Unsupported(f"no random variable for {kind}")
        counts.append(n)
    accountant = prv.PRVAccountant(
        prvs=prvs, max_self_compositions=counts, eps_error=0.01, delta_error=workload["delta"] / 1000)
    lower, _, upper = accountant.compute_epsilon(delta=workload["delta"], num_self_compositions=counts)
    return {"epsilon": upper, "lower": lower}


@functools.cache
def opacus_class(module, name):
    """Returns one of Opacus's accountants. They need only NumPy and SciPy: the
    packages around them, which import torch, are stood in for."""
    if "opacus" not in sys.modules:
        root = pathlib.Path(importlib.util.find_spec("opacus").submodule_search_locations[0])
        for package, folder in [("opacus", root), ("opacus.accountants", root / "accountants")]:
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = [str(folder)]
        sys.modules["opacus.optimizers"] = types.ModuleType("opacus.optimizers")
        sys.modules["opacus.optimizers"].DPOptimizer = object
    return getattr(importlib.import_module("opacus.accountants." + module), name)


def opacus(module, name, workload):
    only_add_or_remove(workload)
    accountant = opacus_class(module, name)()
    for kind, p, n in each(workload):
        if kind == "gaussian":
            q, s = 1.0, sigma(p)
        elif kind == "poissonSampled":
            q, s = sampled(p)
        else:
            raise Unsupported(f"no step for {kind}")
        accountant.history.append((s, q, n))
    if name == "GaussianAccountant" and len(accountant.history) > 1:
        raise Unsupported("one kind of step only")
    return {"epsilon": accountant.get_epsilon(workload["delta"])}


def opacus_rdp(workload):
    return opacus("rdp", "RDPAccountant", workload)


def opacus_prv(workload):
    return opacus("prv", "PRVAccountant", workload)


def opacus_gdp(workload):
    return opacus("gdp", "GaussianAccountant", workload)


def autodp_rdp(workload):
    from autodp import mechanism_zoo, transformer_zoo

    only_add_or_remove(workload)
    mechanisms, counts = [], []
    for kind, p, n in each(workload):
        if kind == "gaussian":
            m = mechanism_zoo.GaussianMechanism(sigma(p))
        elif kind == "laplace":
            m = mechanism_zoo.LaplaceMechanism(p["scale"] / p["sensitivity"])
        elif kind == "poissonSampled":
            q, s = sampled(p)
            m = transformer_zoo.AmplificationBySampling(PoissonSampling=True)(
                mechanism_zoo.GaussianMechanism(s), q, improved_bound_flag=True)
        elif kind == "pureDp":
            m = mechanism_zoo.PureDP_Mechanism(p["epsilon"])
        else:
            raise Unsupported(f"no mechanism for {kind}")
        mechanisms.append(m)
        counts.append(n)
    composed = transformer_zoo.Composition()(mechanisms, counts)
    return {"epsilon": float(composed.get_approxDP(workload["delta"]))}


PEERS = {
    "dp-accounting PLD": dp_accounting_pld,
    "dp-accounting RDP": dp_accounting_rdp,
    "prv-accountant": prv_accountant,
    "opacus RDP": opacus_rdp,
    "opacus PRV": opacus_prv,
    "opacus GDP (CLT)": opacus_gdp,
    "autodp RDP": autodp_rdp,
}


def main():
    warnings.simplefilter("ignore")
    workload = json.load(sys.stdin)
    try:
        if "at" in workload and not sys.argv[1].startswith("dp-accounting"):
            raise Unsupported("asked for ε at a δ only")
        answer = PEERS[sys.argv[1]](workload)
        if "--again" in sys.argv:
            workload["events"][-1]["count"] += 1
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            PEERS[sys.argv[1]](workload)
            answer["again"] = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    except Unsupported as e:
        answer = {"unsupported": str(e)}
    json.dump({k: float(v) if isinstance(v, (int, float)) or hasattr(v, "item") else v for k, v in answer.items()}, sys.stdout)


if __name__ == "__main__":
    main()
