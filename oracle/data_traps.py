# SPDX-License-Identifier: Apache-2.0
"""internal/accountant/testdata/traps.json: ledgers on which accountants are known to fail, with their true curves."""

from functools import partial

from . import mechanisms as m
from .data_engine import add, replace, row
from .ledger import event
from .writing import File


def trap(what, work, epsilons, deltas):
    return {"trap": what} | row(work, epsilons, deltas)


def rows():
    e, G, S = event, m.gaussian, m.sampled
    traps = [
        ("a mechanism composed once whatever its count", replace("response-noise-x100", e({"randomizedResponse": {"noise": 0.5, "buckets": 2}}, 100)), [], [1e-6]),
        ("k-ary randomized response taken for binary", replace("response-noise-k10-x20", e({"randomizedResponse": {"noise": 0.5, "buckets": 10}}, 20)), [], [1e-5]),
        ("delta at or below 1e-15 answered with infinity or garbage", add("dpsgd-deep", e(S(0.01, G(1.0)), 1000)), [], [1e-14, 1e-15, 1e-16, 1e-20]),
        ("exp(epsilon) overflows", add("gaussian-overflow", e(G(0.01))), [700.0, 800.0, 4900.0, 5500.0], [0.5, 1e-5]),
        ("delta_infinity of many tiny deltas lost", add("approximate-billion", *[e(m.approximate(1e-12, 1e-18), 10**9)]), [0.002], [5e-10]),
        ("delta below delta_infinity", add("approximate-20", e(m.approximate(0.05, 1e-9), 20)), [1.5], [1.9e-8, 2.1e-8]),
        ("only the remove direction", add("sampled-approximate", e(S(0.5, m.approximate(1.0, 0.1)), 2)), [], [0.3]),
        ("sensitivity doubled under REPLACE_ONE, not twice and not never", replace("gaussian-replace", e(G(1.0))), [], [1e-5]),
        ("distance used as it is", replace("gaussian-distance", e({"gaussian": {"standardDeviation": 1.0, "distance": 2.0}})), [], [1e-5]),
        ("noise multiplier", add("gaussian-multiplier", e({"gaussian": {"noiseMultiplier": 2.5}}, 3)), [], [1e-5]),
        ("rate from batch and dataset", add("dpsgd-batch", e({"poissonSampled": {"batchSize": 256, "datasetSize": 60000, "mechanism": {"gaussian": {"noiseMultiplier": 1.1}}}}, 1000)), [], [1e-5]),
        ("sampling rate one", add("dpsgd-rate-one", e(S(1.0, G(3.0)), 4)), [], [1e-5]),
        ("sampling rate one under REPLACE_ONE", replace("dpsgd-rate-one-replace", e(S(1.0, G(3.0)), 4)), [], [1e-5]),
        ("order and grouping", add("dpsgd-split", e(S(0.01, G(1.0)), 400), e(G(30.0)), e(S(0.01, G(1.0)), 600), e(G(30.0), 2)), [], [1e-5]),
    ]
    return [partial(trap, *t) for t in traps]


ABOUT = "Ledgers on which accountants are known to fail; truth as in the engine files of the pld room, 26 digits. Infinity: no finite epsilon."
FILES = {"accountant/testdata/traps.json": lambda: File(ABOUT, 60, {"rows": rows()})}
