# SPDX-License-Identifier: Apache-2.0
"""What asks each accountant. One file is one project; ACCOUNTANTS there maps a name to a function.

The function takes a case, {"adjacency", "events", "delta"}, and returns {"epsilon": ε}, the least ε that the
accountant proves at δ. It raises Refused where the accountant has no word for the case. Whatever else goes wrong
is left as it occurs.

    python -m conformance.runners 'dp-accounting PLD' < cases, one JSON object a line
"""

import importlib
import json
import sys
import warnings

MODULES = ("accountctl", "dp_accounting", "jax_privacy", "prv_accountant", "opacus", "autodp", "riskcal")


class Refused(Exception):
    """The accountant has no word for the case."""


def accountants():
    """Maps every accountant to the function that asks it."""
    found = {}
    for name in MODULES:
        found |= importlib.import_module("." + name, __name__).ACCOUNTANTS
    return found


def each(case):
    """Yields (kind, parameters, count) of every event."""
    for event in case["events"]:
        (kind, parameters), = event["mechanism"].items()
        yield kind, parameters, event["count"]


def noise_multiplier(gaussian):
    """σ/Δ of a Gaussian, Δ being what one record moves when it is added or removed."""
    if "noiseMultiplier" in gaussian:
        return gaussian["noiseMultiplier"]
    return gaussian["standardDeviation"] / gaussian["sensitivity"]


def sampled(parameters):
    """(q, σ/Δ) of a Poisson-sampled Gaussian."""
    inner = parameters["mechanism"]
    if "gaussian" not in inner:
        raise Refused(f"no sampled {next(iter(inner))}")
    return parameters["samplingProbability"], noise_multiplier(inner["gaussian"])


def only_add_or_remove(case):
    if case["adjacency"] != "ADD_OR_REMOVE_ONE":
        raise Refused("add or remove only")


def dp_sgd_steps(case):
    """[(σ/Δ, q, count)] for accountants that know Gaussians, sampled or not, under add or remove."""
    only_add_or_remove(case)
    steps = []
    for kind, p, n in each(case):
        if kind == "gaussian":
            steps.append((noise_multiplier(p), 1.0, n))
        elif kind == "poissonSampled":
            q, sigma = sampled(p)
            steps.append((sigma, q, n))
        else:
            raise Refused(f"no step for {kind}")
    return steps


def answer(ask, case):
    """Asks about one case; {"epsilon": ε} or {"refused": why}."""
    try:
        return {key: float(value) for key, value in ask(case).items()}
    except Refused as why:
        return {"refused": str(why)}


def serve(name):
    warnings.simplefilter("ignore")
    ask = accountants()[name]
    for line in sys.stdin:
        try:
            said = answer(ask, json.loads(line))
        except Exception as failure:  # an accountant's failure is one of the things to show
            said = {"failed": f"{type(failure).__name__}: {failure}".splitlines()[0]}
        print(json.dumps(said), flush=True)
