# SPDX-License-Identifier: Apache-2.0
"""internal/rdp/testdata: ε(α) of single mechanisms, and the best conversions of compositions over real orders."""

import random
from functools import partial

from mpmath import mp, mpf

from . import mechanisms as m
from .cumulant import cumulant
from .ledger import event, renyi_epsilon, renyi_log_delta, sides, workload
from .number import Inexact, agree, exact, text
from .pairs import ADD_OR_REMOVE, REMOVE, REPLACE
from .writing import File

ORDERS = [1.0001, 1.01, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.5, 8.0, 12.7, 16.0, 32.0, 64.0, 100.3, 256.0, 1024.0]


def mironov(q, mu, order):
    """Σ_k C(α,k)(1−q)^{α−k} q^k e^{(k²−k)μ²/2}, ln, over α − 1 (Mironov, Talwar, Zhang 2019): integer orders, remove direction."""
    total = mp.fsum(mp.binomial(order, k) * (1 - q) ** (order - k) * q ** k * mp.exp((k * k - k) * mu * mu / 2) for k in range(order + 1))
    return mp.log(total) / (order - 1)


def orders_of(mechanism, adjacency, direction, orders):
    with mp.workdps(150):
        pair = m.pair_of(mechanism, adjacency, direction)
    rows = []
    for a in orders:
        s = exact(a) - 1
        rows.append({"alpha": a, "epsilon": text(cumulant(pair, s) / s)})
    name, f = m.kind(mechanism)
    if name == "poissonSampled" and adjacency == ADD_OR_REMOVE and direction == REMOVE and "gaussian" in f["mechanism"]:
        with mp.workdps(120):
            mu = m.shift_of(f["mechanism"], ADD_OR_REMOVE)
            for row in rows:
                if row["alpha"] == int(row["alpha"]) and row["alpha"] < 300:
                    agree(mironov(exact(f["samplingProbability"]), mu, int(row["alpha"])), mpf(row["epsilon"]), 29, f"{mechanism} α={row['alpha']}")
    return {"mechanism": mechanism, "adjacency": adjacency, "direction": direction, "orders": rows}


def orders():
    r = random.Random(21)
    rows = []
    def add(mechanism, adjacency, orders=None):
        for d in m.directions(mechanism, adjacency):
            rows.append(partial(orders_of, mechanism, adjacency, d, orders or sorted(r.sample(ORDERS, 7))))
    add(m.sampled(0.5, m.gaussian(2.0)), ADD_OR_REMOVE, ORDERS)  # its series in fractional orders diverges
    add(m.gaussian(1.3), ADD_OR_REMOVE)
    add(m.gaussian(1.3), REPLACE)
    add(m.laplace(2.0), ADD_OR_REMOVE)
    add(m.laplace(1e4), ADD_OR_REMOVE)
    add(m.laplace(0.2), REPLACE)
    for e in [1e-4, 0.1, 1.0, 4.0]:
        add(m.pure(e), ADD_OR_REMOVE)
    add(m.response(1.0), REPLACE)
    add(m.response(1.0, 10), REPLACE)
    add(m.approximate(0.5, 0.01), ADD_OR_REMOVE)
    for q in [1e-12, 1e-7, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.7, 0.99, 1.0]:
        for sigma in [0.3, 0.6, 1.0, 2.0, 8.0, 20.0]:
            add(m.sampled(q, m.gaussian(sigma)), ADD_OR_REMOVE)
    for q in [1e-5, 0.01, 0.2, 0.9]:
        for sigma in [0.5, 1.0, 4.0]:
            add(m.sampled(q, m.gaussian(sigma)), REPLACE)
    return rows


def compositions():
    g, s = m.gaussian, m.sampled
    return [
        workload("gaussian-1", ADD_OR_REMOVE, event(g(1.0))),
        workload("gaussian-mixed", ADD_OR_REMOVE, event(g(2.0)), event(g(5.0), 10), event(g(40.0), 500)),
        workload("gaussian-replace", REPLACE, event(g(3.0), 4)),
        workload("laplace-10", ADD_OR_REMOVE, event(m.laplace(5.0), 10)),
        workload("laplace-many", ADD_OR_REMOVE, event(m.laplace(100.0), 5000)),
        workload("pure-50", ADD_OR_REMOVE, event(m.pure(0.05), 50)),
        workload("pure-100", ADD_OR_REMOVE, event(m.pure(1.0), 100)),
        workload("response-100", REPLACE, event(m.response(0.1), 100)),
        workload("response-k10-20", REPLACE, event(m.response(2.3978952727983707, 10), 20)),
        workload("approximate-20", ADD_OR_REMOVE, event(m.approximate(0.05, 1e-9), 20), event(g(10.0), 5)),
        workload("dpsgd-1", ADD_OR_REMOVE, event(s(0.01, g(1.0)))),
        workload("dpsgd-1000", ADD_OR_REMOVE, event(s(0.01, g(1.0)), 1000)),
        workload("dpsgd-mnist", ADD_OR_REMOVE, event(s(0.004266666666666667, g(1.1)), 14063)),
        workload("dpsgd-100000", ADD_OR_REMOVE, event(s(0.001, g(0.8)), 100000)),
        workload("dpsgd-million", ADD_OR_REMOVE, event(s(0.0001, g(0.6)), 1000000)),
        workload("dpsgd-ten-million", ADD_OR_REMOVE, event(s(1e-5, g(0.7)), 10000000)),
        workload("dpsgd-half", ADD_OR_REMOVE, event(s(0.5, g(4.0)), 200)),
        workload("dpsgd-small-sigma", ADD_OR_REMOVE, event(s(0.1, g(0.3)), 100)),
        workload("dpsgd-tiny-q", ADD_OR_REMOVE, event(s(1e-9, g(1.0)), 10**6)),
        workload("dpsgd-replace", REPLACE, event(s(0.01, g(1.0)), 1000)),
        workload("dpsgd-two-phases", ADD_OR_REMOVE, event(s(0.02, g(1.0)), 500), event(s(0.005, g(0.7)), 2000), event(g(30.0), 3)),
        workload("mixed", ADD_OR_REMOVE, event(g(5.0), 100), event(m.laplace(20.0), 100), event(m.pure(0.1), 50), event(m.pure(0.05), 30),
                 event(m.approximate(0.05, 1e-9), 20)),
    ]


def convert_one(work, deltas, epsilons):
    """Rows by δ and by ε; each direction has its own infimum, the answer is the larger."""
    out = {k: work[k] for k in ("name", "adjacency", "events")}
    parts = sides(work)
    by_delta, by_epsilon = [], []
    for delta in deltas:
        row = {"delta": delta}
        for name, c in parts.items():
            if c.conditional_log_delta(delta) is None:
                row[name] = {"infimum": "Infinity"}
                continue
            try:
                epsilon, s = renyi_epsilon(c, delta)
            except Inexact:
                continue  # orders beyond 10^6: nothing a test should search
            row[name] = {"infimum": text(epsilon), "alphaMinusOne": text(s, 12)}
        if len(row) == 1 + len(parts):
            infima = [v["infimum"] for v in row.values() if isinstance(v, dict)]
            row["epsilon"] = "Infinity" if "Infinity" in infima else text(max([mpf(0)] + [mpf(v) for v in infima]))
            by_delta.append(row)
    for epsilon in epsilons:
        row = {"epsilon": epsilon}
        for name, c in parts.items():
            try:
                log_delta, s = renyi_log_delta(c, epsilon)
            except Inexact:
                continue
            finite = c.log_finite()
            # δ = δ_∞ + (1 − δ_∞) δ_finite
            total = mp.log(-mp.expm1(finite) + mp.exp(finite + log_delta))
            row[name] = {"logDelta": text(total), "alphaMinusOne": text(s, 12)}
        if len(row) == 1 + len(parts):
            row["logDelta"] = text(max(mpf(v["logDelta"]) for v in row.values() if isinstance(v, dict)))
            by_epsilon.append(row)
    out["byDelta"], out["byEpsilon"] = by_delta, by_epsilon
    return out


DELTAS = [1e-300, 1e-100, 1e-30, 1e-12, 1e-8, 1e-6, 1e-5, 1e-3, 0.1]
EPSILONS = [0.1, 1.0, 4.0, 20.0]

ABOUT_ORDERS = ("Renyi divergence D_alpha(P||Q) = K(alpha - 1)/(alpha - 1) at binary64 orders alpha; 30 digits. Integer orders of sampled Gaussians "
                "(REMOVE) checked against the binomial sum. With approximateDp: conditional on finite loss.")
ABOUT_CONVERSIONS = ("Best conversion over all real orders alpha > 1 (Canonne, Kamath, Steinke 2020, Prop. 12), 30 digits. Each direction (REMOVE, ADD; one if "
                     "symmetric) has its own infimum, possibly negative; epsilon = max(0, larger), logDelta the larger. delta_infinity of approximateDp is "
                     "taken out before and put back after; no finite epsilon below it. Rows are absent where the best order exceeds 10^6.")

FILES = {
    "rdp/testdata/orders.json": lambda: File(ABOUT_ORDERS, 60, {"rows": orders()}),
    "rdp/testdata/conversions.json": lambda: File(ABOUT_CONVERSIONS, 60, {"rows": [partial(convert_one, w, DELTAS, EPSILONS) for w in compositions()]}),
}
