# SPDX-License-Identifier: Apache-2.0
"""Mixtures of normals, groups of records under Poisson sampling, and batches of fixed size."""

from functools import partial

from mpmath import mp, mpf

from . import mechanisms as m
from . import mixtures
from .ledger import event, workload
from .number import exact, text, texts
from .pairs import ADD, ADD_OR_REMOVE, REMOVE, REPLACE
from .writing import File


def mixture(sigma, sensitivities, probabilities):
    return {"mixtureOfGaussians": {"standardDeviation": sigma, "sensitivities": sensitivities, "probabilities": probabilities}}


def group(size, inner):
    return {"group": {"size": size, "mechanism": inner}}


def fixed(batch, dataset, inner):
    return {"fixedSizeSampled": {"batchSize": batch, "datasetSize": dataset, "mechanism": inner}}


MIXTURES = [
    mixture(1.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25]),
    mixture(2.0, [0.5, 1.0, 3.0], [0.25, 0.25, 0.5]),
    mixture(0.7, [0.0, 0.25, 1.0], [0.998, 0.0015, 0.0005]),
    group(4, m.sampled(0.1, {"gaussian": {"noiseMultiplier": 1.0}})),
    group(3, m.sampled(0.001, {"gaussian": {"noiseMultiplier": 0.8}})),
    group(12, m.sampled(0.3, {"gaussian": {"noiseMultiplier": 5.0}})),
    group(2, m.sampled(0.999, {"gaussian": {"noiseMultiplier": 2.0}})),
]
POINTS = [(-0.9, 0.0), (-0.25, 0.0), (1e-6, 0.0), (0.5, 0.0), (3.0, 0.0), (0.4, 0.5), (1.0, 3.0), (2.5, 8.0), (-0.4, 1.5)]


def cumulant_row(mechanism, adjacency, direction):
    pair = mixtures.pair_of(mechanism, adjacency, direction)
    points = [{"s": list(s), "k": texts(k)} for s, k in zip(POINTS, mixtures.cumulants(pair, POINTS))]
    return {"mechanism": mechanism, "adjacency": adjacency, "direction": direction, "points": points}


def cumulants():
    return [partial(cumulant_row, x, a, d) for x in MIXTURES for a in (ADD_OR_REMOVE, REPLACE) for d in mixtures.directions(a)]


def curve_row(name, mechanism, adjacency, count, epsilons, digits):
    truth = []
    for e in epsilons:
        both = [mixtures.curve(p, exact(e)) if count == 1 else mixtures.twice(p, exact(e))
                for p in (mixtures.pair_of(mechanism, adjacency, d) for d in mixtures.directions(adjacency))]
        d = max(both)
        truth.append({"epsilon": e, "delta": text(d, digits), "logDelta": text(mp.log(d), digits)})
    return workload(name, adjacency, event(mechanism, count)) | {"truth": truth}


def once():
    rows = []
    for i, x in enumerate(MIXTURES):
        for a in (ADD_OR_REMOVE, REPLACE):
            rows.append(partial(curve_row, f"mixture-{i}-{a}", x, a, 1, [0.0, 0.1, 1.0, 5.0], 26))
    # A maximum loss in the add direction, and a group of two far in the tail.
    rows.append(partial(curve_row, "mixture-near-the-largest-loss", mixture(1.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25]), ADD_OR_REMOVE, 1, [0.69, 20.0], 26))
    return rows


def two():
    return [partial(curve_row, f"mixture-{i}-{a}-twice", MIXTURES[i], a, 2, [0.5, 2.0], 7) for i in (0, 3) for a in (ADD_OR_REMOVE, REPLACE)]


def order_row(batch, dataset, inner, orders):
    """Wang, Balle and Kasiviswanathan 2019, Thm 9 with the moments of the Gaussian itself: (α−1)ε'(α)."""
    name, f = m.kind(inner)
    gamma = mpf(batch) / dataset
    if name == "gaussian":
        mu = 2 / exact(f["noiseMultiplier"])
        kappa = lambda j: mpf(j * j - j) * mu ** 2 / 2
        moment = lambda j: mixtures.absolute_moment(mu, j)
    else:
        kappa = lambda j: mpf(j * j - j) * exact(f["rho"])
        moment = lambda j: mp.exp(kappa(2)) - 1 if j == 2 else mp.inf
    k = []
    for alpha in orders:
        total = mpf(1)
        for j in range(2, alpha + 1):
            total += mp.binomial(alpha, j) * gamma ** j * min(2 * mp.exp(kappa(j)), 4 * moment(j))
        k.append([alpha, text(min(mp.log(total), kappa(alpha)))])
    return {"mechanism": fixed(batch, dataset, inner), "orders": k}


def orders():
    g = lambda sigma: {"gaussian": {"noiseMultiplier": sigma}}
    z = lambda rho: {"zeroConcentratedDp": {"rho": rho}}
    every = [2, 3, 4, 5, 8, 13, 30]
    return [partial(order_row, b, n, x, every) for b, n, x in
            [(1, 100, g(2.0)), (256, 60000, g(4.0)), (10, 20, g(8.0)), (1, 1000000, g(1.0)), (99, 100, g(20.0)), (5, 100, g(0.5)), (1, 100, z(0.01)), (3, 1000, z(0.5))]]


ABOUT_K = ("K(s) = ln E_P[e^{sL}], as in plain.json: mixtures of normals by the trapezoid rule with two steps. "
           "A group's members are drawn independently; under REPLACE_ONE Q is the mirror image of P. 30 digits of |K|.")
ABOUT_CURVE = "delta(epsilon), the larger direction: between the sign changes of P - e^epsilon Q, 26 digits; two releases by convolution in binary64, some 6 digits."
ABOUT_ORDERS = "orders: [alpha, (alpha-1) times the Renyi bound]; fixed-size batches under REPLACE_ONE, absolute moments of the Gaussian in closed form; 30 digits."
FILES = {
    "loss/testdata/mixtures.json": lambda: File(ABOUT_K, 60, {"rows": cumulants()}),
    "loss/testdata/fixed_size.json": lambda: File(ABOUT_ORDERS, 60, {"rows": orders()}),
    "pld/testdata/mixtures.json": lambda: File(ABOUT_CURVE, 50, {"once": once(), "twice": two()}),
}
