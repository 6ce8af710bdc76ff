# SPDX-License-Identifier: Apache-2.0
"""accountctl import and export against the real packages: the same events, the same ε.

    python interchange.py golden                         writes internal/interchange/testdata/peers.json
    python interchange.py newest                         writes internal/interchange/testdata/newest.json
    python interchange.py check --accountctl PROGRAM     compares with it, and sends workloads the other way

newest needs a dp_accounting that is newer than 0.6.0: put its source, which is the folder
python/dp_accounting of github.com/google/differential-privacy (commit b5b0286), on PYTHONPATH.

The file holds what dp_accounting and Opacus write themselves and the ε that they say of
it; the Go tests read it. A peer's ε is an upper bound that is too large by its own
error, "within" at most.
"""

import argparse
import importlib.metadata
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from collections import namedtuple

import dp_accounting as dp
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from conformance.runners.opacus import own as opacus_class

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "internal/interchange/testdata/peers.json"
NEWEST = ROOT / "internal/interchange/testdata/newest.json"
RELATION = {
    "ADD_OR_REMOVE_ONE": dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "REPLACE_ONE": dp.NeighboringRelation.REPLACE_ONE,
    "ZERO_OUT": dp.NeighboringRelation.REPLACE_SPECIAL,
}


def plain(value):
    """A named tuple of to_named_tuple() as an object."""
    if hasattr(value, "_asdict"):
        return {k: plain(v) for k, v in value._asdict().items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def event_of(value):
    """The DpEvent of plain's object, by dp_accounting itself."""
    def named(v):
        if isinstance(v, dict):
            return namedtuple("Event", v.keys())(*(named(x) for x in v.values()))
        return [named(x) for x in v] if isinstance(v, list) else v
    return dp.DpEvent.from_named_tuple(named(value))


def composed(event, adjacency):
    return PLDAccountant(RELATION[adjacency]).compose(event)


def trees():
    """Name, adjacency, event."""
    gaussian, laplace = dp.GaussianDpEvent(5.0), dp.LaplaceDpEvent(10.0)
    response = dp.RandomizedResponseDpEvent(0.5, 4)
    sgd = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.1)), 1000)
    for adjacency in RELATION:
        yield "gaussian", adjacency, gaussian
        yield "gaussians", adjacency, dp.SelfComposedDpEvent(gaussian, 12)
        yield "dp-sgd", adjacency, sgd
        yield "dp-sgd and a gaussian", adjacency, dp.ComposedDpEvent([sgd, gaussian, dp.NoOpDpEvent()])
        if adjacency != "REPLACE_ONE":
            yield "laplaces", adjacency, dp.SelfComposedDpEvent(laplace, 30)
            yield "discrete laplaces", adjacency, dp.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(0.1, 2), 15)
            yield "sampled laplaces", adjacency, dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(1.0)), 50)
            yield "a tree", adjacency, dp.SelfComposedDpEvent(dp.ComposedDpEvent([gaussian, dp.SelfComposedDpEvent(laplace, 3), sgd]), 2)
            yield "mixtures of Gaussians", adjacency, dp.SelfComposedDpEvent(dp_event.MixtureOfGaussiansDpEvent(4.0, [0.0, 1.0, 2.0], [0.75, 0.1875, 0.0625]), 20)
    # Cut so rarely that neither side's bound of what cutting adds is seen.
    for adjacency in RELATION:
        yield "cut batches", adjacency, dp.SelfComposedDpEvent(dp_event.TruncatedSubsampledGaussianDpEvent(10000, 0.01, 200, 1.1), 500)
    # Composed once by PLDAccountant whatever the count: one by one it is right.
    yield "randomized response", "REPLACE_ONE", response
    yield "randomized response one by one", "REPLACE_ONE", dp.ComposedDpEvent([response] * 8)


def renyi():
    """Name, adjacency, event, and the one to ask RdpAccountant, which takes REPLACE_ONE's
    distance for the sensitivity: half the noise multiplier is right there."""
    tree = dp.SelfComposedDpEvent(dp_event.SingleEpochTreeAggregationDpEvent(6.0, 1000), 3)
    trees = dp_event.SingleEpochTreeAggregationDpEvent(6.0, [500, 1023, 1])
    best = dp_event.RepeatAndSelectDpEvent(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.1)), 1000), 8.0, 1.0)
    yield "a tree an epoch", "ZERO_OUT", tree, tree
    yield "several trees, each record once", "ZERO_OUT", trees, trees
    for adjacency in ("ADD_OR_REMOVE_ONE", "ZERO_OUT"):
        yield "the best of a geometric number of runs", adjacency, best, best
    batches = [dp.SelfComposedDpEvent(dp.SampledWithoutReplacementDpEvent(10000, 100, dp.GaussianDpEvent(sigma)), 500) for sigma in (4.0, 2.0)]
    yield "batches without replacement", "REPLACE_ONE", *batches


def classes_after_060():
    """Name, adjacencies, event, accountant, and by how much theirs may be above ours."""
    away, every = ("ADD_OR_REMOVE_ONE", "ZERO_OUT"), tuple(RELATION)
    gaussian = dp.GaussianDpEvent(4.0)
    pld, rdp = PLDAccountant, RdpAccountant
    yield "approximate DP", every, dp.SelfComposedDpEvent(dp_event.EpsilonDeltaDpEvent(0.25, 1e-8), 20), pld, 0.01
    yield "pure DP", every, dp.SelfComposedDpEvent(dp_event.EpsilonDeltaDpEvent(0.25, 0.0), 20), pld, 0.01
    yield "failures only", every, dp_event.EpsilonDeltaDpEvent(0.0, 1e-7), pld, 0.01
    # Theirs is any mechanism that is ε-DP.
    yield "exponential mechanism", every, dp.SelfComposedDpEvent(dp_event.ExponentialMechanismDpEvent(0.5), 20), pld, 5
    yield "permute and flip", away, dp.SelfComposedDpEvent(dp_event.PermuteAndFlipDpEvent(0.5), 20), pld, 0.01
    for dimension in (None, 1, 3):
        discrete = dp.SelfComposedDpEvent(dp_event.DiscreteGaussianDpEvent(8.0, 1.0, dimension), 20)
        yield f"discrete Gaussian of dimension {dimension}", away, discrete, rdp, 0.2
    for shape in (0.0, 0.5, 1.0, 2.5, math.inf):
        best = dp_event.RepeatAndSelectDpEvent(gaussian, 5.0, shape)
        yield f"the best of runs of shape {shape}", away, best, rdp, 1.0


def newest():
    orders, rows = [1 + x / 20 for x in range(1, 400)] + list(range(21, 400)), []
    for name, adjacencies, event, accountant, above in classes_after_060():
        for adjacency in adjacencies:
            args = {"orders": orders} if accountant is RdpAccountant else {}
            a = accountant(neighboring_relation=RELATION[adjacency], **args).compose(event)
            rows.append({"name": name, "adjacency": adjacency, "accountant": accountant.__name__, "event": plain(event.to_named_tuple()),
                         "delta": 1e-5, "epsilon": float(a.get_epsilon(1e-5)), "above": above})
    NEWEST.write_text('{"rows": [\n' + ",\n".join(" " + json.dumps(r) for r in rows) + "\n]}\n")


def histories():
    yield "one kind of step", [(1.1, 256 / 60000, 2000)]
    yield "two kinds of steps", [(1.5, 0.01, 500), (1.0, 0.02, 200)]
    yield "no sampling", [(12.0, 1.0, 3)]


def golden():
    rows = []
    for name, adjacency, event in trees():
        accountant = composed(event, adjacency)
        for delta in (1e-5, 1e-8):
            rows.append({"name": name, "adjacency": adjacency, "event": plain(event.to_named_tuple()), "delta": delta,
                         "epsilon": accountant.get_epsilon(delta), "within": 2e-3})
    for name, adjacency, event, asked in renyi():
        accountant = RdpAccountant(orders=[1 + x / 20 for x in range(1, 400)] + list(range(21, 400)), neighboring_relation=RELATION[adjacency]).compose(asked)
        rows.append({"name": name, "adjacency": adjacency, "event": plain(event.to_named_tuple()), "delta": 1e-5,
                     "epsilon": float(accountant.get_epsilon(1e-5)), "within": 1e-2, "analysis": "rdp"})
    states = []
    for name, history in histories():
        for module, accountant, within in (("prv", "PRVAccountant", 0.03), ("rdp", "RDPAccountant", None)):
            a = opacus_class(module, accountant)()
            for sigma, q, steps in history:
                for _ in range(steps):
                    a.step(noise_multiplier=sigma, sample_rate=q)
            row = {"name": name, "state": json.loads(json.dumps(a.state_dict())), "delta": 1e-6, "epsilon": float(a.get_epsilon(1e-6))}
            states.append(row | ({"within": within} if within else {}))
    versions = {p: importlib.metadata.version(p) for p in ("dp-accounting", "opacus", "numpy", "scipy")}
    return {"versions": versions, "dpEvents": rows, "opacus": states}


def write():
    value = golden()
    lines = ['{"versions": ' + json.dumps(value["versions"]) + ","]
    for key in ("dpEvents", "opacus"):
        lines.append(f'"{key}": [')
        lines.append(",\n".join(" " + json.dumps(r) for r in value[key]))
        lines.append("]," if key == "dpEvents" else "]}")
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text("\n".join(lines) + "\n")


WORKLOADS = [
    ("ADD_OR_REMOVE_ONE", [({"gaussian": {"standardDeviation": 30, "sensitivity": 3}}, 40), ({"laplace": {"scale": 25, "sensitivity": 2}}, 20)]),
    ("ADD_OR_REMOVE_ONE", [({"poissonSampled": {"batchSize": 256, "datasetSize": 60000, "mechanism": {"gaussian": {"noiseMultiplier": 1.1}}}}, 3000)]),
    ("ADD_OR_REMOVE_ONE", [({"gaussian": {"standardDeviation": 30, "distance": 4}}, 5), ({"poissonSampled": {"samplingProbability": 0.1, "mechanism": {"laplace": {"scale": 2, "sensitivity": 1}}}}, 50)]),
    ("ZERO_OUT", [({"discreteLaplace": {"scale": 7, "sensitivity": 1}}, 30)]),
    ("ZERO_OUT", [({"mixtureOfGaussians": {"standardDeviation": 5, "sensitivities": [0, 1.5, 3], "probabilities": [0.5, 0.25, 0.25]}}, 20)]),
    ("REPLACE_ONE", [({"gaussian": {"standardDeviation": 30, "distance": 4}}, 5), ({"gaussian": {"noiseMultiplier": 9}}, 2)]),
    ("REPLACE_ONE", [({"randomizedResponse": {"epsilon": 0.7, "buckets": 5}}, 20), ({"randomizedResponse": {"noise": 0.4, "buckets": 2}}, 3)]),
    ("REPLACE_ONE", [({"generalMatrix": {"noiseMultiplier": 9, "coefficients": [1, 0.5], "steps": 20, "participations": 2, "minimumSeparation": 5}}, 2), ({"gaussianDp": {"mu": 0.1}}, 2)]),
    ("ADD_OR_REMOVE_ONE", [({"sampledMatrix": {"noiseMultiplier": 2, "coefficients": [1, 0.5, 0.25], "steps": 301, "samplingProbability": 0.05}}, 1)]),
    ("ADD_OR_REMOVE_ONE", [({"dpSgd": {"noiseMultiplier": 1.3, "batchSize": 128, "datasetSize": 50000, "epochs": 4}}, 1)]),
]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def check(program):
    stored, wrong = json.loads(GOLDEN.read_text()), []
    now = golden()
    for key in ("dpEvents", "opacus"):
        for a, b in zip(stored[key], now[key], strict=True):
            if a.get("event") != b.get("event") or a.get("state") != b.get("state") or not math.isclose(a["epsilon"], b["epsilon"], rel_tol=1e-6):
                wrong.append(f"golden {key} {a['name']}: stored {a['epsilon']}, now {b['epsilon']}; versions {stored['versions']}, {now['versions']}")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "workload.json"
        for adjacency, events in WORKLOADS:
            file.write_text(json.dumps({"adjacency": adjacency, "events": [{"mechanism": m, "count": n} for m, n in events]}))
            ours = json.loads(run(program, "compute", "--file", str(file), "--delta", "1e-6", "--output", "json"))["epsilon"]
            event = event_of(json.loads(run(program, "export", str(file), "--format", "dp-event")))
            theirs = [("dp_accounting", composed(event, adjacency).get_epsilon(1e-6), 2e-3)]
            if adjacency == "ADD_OR_REMOVE_ONE" and not any(k in json.dumps(m) for k in ("laplace", "Matrix") for m, _ in events):
                state = json.loads(run(program, "export", str(file), "--format", "opacus"))
                a = opacus_class("prv", "PRVAccountant")()
                a.load_state_dict(state | {"mechanism": "prv"})
                theirs.append(("opacus", float(a.get_epsilon(1e-6)), 0.03))
            for name, epsilon, within in theirs:
                print(f"{name:14} {adjacency:18} theirs {epsilon:.6f}  ours {ours:.6f}  {list(events[0][0])[0]} …")
                if not -1e-6 <= epsilon - ours <= within * (1 + ours):
                    wrong.append(f"{name} of {events}: {epsilon}, accountctl {ours}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("golden", "newest", "check"))
    parser.add_argument("--accountctl")
    args = parser.parse_args()
    {"golden": write, "newest": newest, "check": lambda: check(args.accountctl)}[args.verb]()
