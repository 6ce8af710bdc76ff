# SPDX-License-Identifier: Apache-2.0
"""JAX Privacy: its accountant of DP-SGD, by PLD. It needs only dp_accounting; the packages that name types of arrays
and of schedules, and import JAX, are stood in for."""

import importlib.util
import sys
import types

from . import Refused, each, noise_multiplier

DATASET = 10_000_000  # a sampling probability is a batch's size over this


def own():
    if "jax_privacy" not in sys.modules:
        package = types.ModuleType("jax_privacy")
        package.__path__ = list(importlib.util.find_spec("jax_privacy").submodule_search_locations)
        sys.modules["jax_privacy"] = package
        for name, names in (("chex", ("Numeric", "Array")), ("optax", ("Schedule",))):
            sys.modules[name] = types.ModuleType(name)
            for n in names:
                setattr(sys.modules[name], n, object)
    from jax_privacy import accounting

    return accounting


def dp_sgd(case):
    accounting = own()
    steps = list(each(case))
    if len(steps) != 1 or case["adjacency"] not in ("ADD_OR_REMOVE_ONE", "ZERO_OUT"):
        raise Refused("one kind of step, a record added, removed or emptied")
    kind, p, n = steps[0]
    if kind not in ("poissonSampled", "truncatedPoissonSampled", "fixedSizeSampled") or "gaussian" not in p["mechanism"]:
        raise Refused(f"no training step for {kind}")
    size, batch, cut, method = DATASET, None, None, accounting.SamplingMethod.POISSON
    if kind == "poissonSampled":
        batch = round(p["samplingProbability"] * size)
    else:
        size = p["datasetSize"]
        batch = round(p["samplingProbability"] * size) if kind == "truncatedPoissonSampled" else p["batchSize"]
        cut = p.get("maximumBatchSize")
    if kind == "fixedSizeSampled":
        method = accounting.SamplingMethod.FIXED_BATCH_SIZE
    elif batch / size != p["samplingProbability"]:
        raise Refused(f"a rate that is no batch of {size} records")
    accountant = accounting.DpsgdTrainingAccountant(dp_accountant_config=accounting.PldAccountantConfig())
    params = accounting.DpParams(
        noise_multipliers=noise_multiplier(p["mechanism"]["gaussian"]), batch_size=batch, num_samples=size, delta=case["delta"],
        truncated_batch_size=cut, sampling_method=method)
    return {"epsilon": accountant.compute_epsilon(n, params)}


ACCOUNTANTS = {"JAX Privacy": dp_sgd}
