# SPDX-License-Identifier: Apache-2.0
"""The best of a random number of runs, or the first one above a threshold: pld/testdata/best.json."""

from functools import partial
from random import Random

from . import best
from .ledger import event, workload
from .pairs import ADD_OR_REMOVE
from .writing import File


def number_of(rng):
    """A distribution of the number of runs, and its parameters as a workload has them."""
    gamma = rounded(10 ** rng.uniform(-2, -0.1))
    match rng.choice(["poisson", "geometric", "logarithmic", "nb", "first"]):
        case "poisson":
            mean = rounded(10 ** rng.uniform(-0.5, 2))
            return ("poisson", mean), {"mean": mean}
        case "geometric":
            return ("nb", gamma, 1.0), {"gamma": gamma, "eta": 1.0}
        case "logarithmic":
            return ("nb", gamma, 0), {"gamma": gamma}
        case "first":
            return ("first", gamma), {"gamma": gamma, "firstAboveThreshold": True}
    eta = rng.choice([-0.5, 0.4, 3.0])
    return ("nb", gamma, eta), {"gamma": gamma, "eta": eta}


def rounded(x):
    return float(f"{x:.4g}")


def run_of(rng):
    """One run as a mechanism, and its outcomes on two datasets."""
    sigma = rounded(10 ** rng.uniform(-0.3, 0.9))
    noise = {"gaussian": {"noiseMultiplier": sigma}}
    match rng.choice(["responses", "gaussian", "sampled", "steps"]):
        case "responses":
            epsilons = [rounded(10 ** rng.uniform(-1, 0.6)) for _ in range(rng.randint(1, 2))]
            inner = [event({"pureDp": {"epsilon": e}}) for e in epsilons]
            return {"composed": {"events": inner}}, best.responses(epsilons)
        case "gaussian":
            return noise, best.gaussian(1 / sigma)
        case "sampled":
            rate = rounded(10 ** rng.uniform(-3, -0.2))
            return {"poissonSampled": {"samplingProbability": rate, "mechanism": noise}}, best.sampled(rate, 1 / sigma)
    sigma, rate, steps = rounded(rng.uniform(0.7, 2)), rounded(10 ** rng.uniform(-3, -1.3)), rng.randint(2, 400)
    one = {"poissonSampled": {"samplingProbability": rate, "mechanism": {"gaussian": {"noiseMultiplier": sigma}}}}
    return {"composed": {"events": [event(one, steps)]}}, best.sampled_steps(rate, 1 / sigma, steps)


def row(seed):
    rng = Random(seed)
    number, said = number_of(rng)
    run, (p, q) = run_of(rng)
    truth = []
    for _ in range(3):
        epsilon = rounded(10 ** rng.uniform(-1.5, 0.9))
        low = max(best.worst(number, p, q, epsilon), best.worst(number, q, p, epsilon))
        if low > 1e-6:
            some = max(best.family(number, p, q, epsilon), best.family(number, q, p, epsilon))
            truth.append({"epsilon": epsilon, "low": rounded(max(low, some) * (1 - 1e-3)), "scores": rounded(some)})
    return workload(f"{number}, seed {seed}", ADD_OR_REMOVE, event({"repeatAndSelect": {"mechanism": run, **said}})) | {"truth": truth}


ABOUT = ("The best of a random number of runs, and the first run above a threshold: delta(epsilon) is at least low, which some order of "
         "the outputs, or some set of good ones, reaches; the larger of both directions, less a thousandth for all rounding. All orders "
         "of the outcomes of randomized response; of Gaussian noise, of one and of several steps on samples those that were tried.")
FILES = {"pld/testdata/best.json": lambda: File(ABOUT, 15, {"rows": [partial(row, seed) for seed in range(200)]})}
