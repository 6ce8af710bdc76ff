# SPDX-License-Identifier: Apache-2.0
"""internal/pld/testdata/engine*.json: exact curves of compositions of every kind."""

from functools import partial

from mpmath import mp

from . import mechanisms as m
from .engine import truth_row
from .ledger import event, workload
from .number import text
from .pairs import ADD_OR_REMOVE, REPLACE
from .writing import File

G, S, L = m.gaussian, m.sampled, m.laplace
NARROW = 1 / 40  # τ of the window for few steps of a small rate: ε − Σ n ln(1−q) is 20 times as much or more


def row(work, epsilons, deltas, tau=None):
    window = (20, tau) if tau else None
    truth = []
    for given in [("epsilon", e) for e in epsilons] + [("delta", d) for d in deltas]:
        value, direction, digits = truth_row(work, given, window)
        if given[0] == "epsilon":
            # δ's relative accuracy is ln δ's absolute one: the same number of digits.
            entry = {"epsilon": given[1], "delta": text(mp.exp(value), digits)}
            if mp.isfinite(value):
                entry["logDelta"] = text(value, digits if value < -1 else digits - 1)
        else:
            entry = {"delta": given[1], "epsilon": text(value, digits)}
        truth.append(entry | {"direction": direction})
    return {k: work[k] for k in ("name", "adjacency", "events")} | {"truth": truth}


def add(name, *events):
    return workload(name, ADD_OR_REMOVE, *events)


def replace(name, *events):
    return workload(name, REPLACE, *events)


def dpsgd():
    e = event
    return [
        partial(row, add("tiny-rate-ten-million", e(S(1e-5, G(0.7)), 10**7)), [0.3], [1e-5, 1e-8]),
        partial(row, add("small-sigma-100", e(S(0.1, G(0.3)), 100)), [80.0, 106.0], [1e-5, 1e-10]),
        partial(row, add("one-step-small-rate", e(S(1e-4, G(1.0)))), [0.0, 1e-4, 1e-3, 0.1, 1.0, 5.0], [1e-5, 1e-6, 1e-8, 1e-12, 1e-30, 1e-300]),
        partial(row, add("one-step-tiny-rate", e(S(1e-12, G(1.0)))), [0.0, 1e-12, 1e-9, 0.1], [1e-13, 1e-15, 1e-30, 1e-100]),
        partial(row, add("one-step-half", e(S(0.5, G(2.0)))), [0.0, 0.3, 2.0], [0.1, 1e-5, 1e-50]),
        partial(row, add("one-step-rate-one", e(S(1.0, G(1.0)))), [0.0, 1.0], [1e-5, 1e-300]),
        partial(row, add("one-step-sigma-0.01", e(S(0.01, G(0.01)))), [1.0, 100.0, 4000.0, 5500.0], [0.0099, 1e-3, 1e-8]),
        partial(row, add("1000-steps-deep", e(S(0.01, G(1.0)), 1000)), [0.0, 0.1, 5.0, 30.0], [1e-5, 1e-30, 1e-100, 1e-300, 0.1]),
        partial(row, add("10000-steps-3.8", e(S(0.01, G(3.812817)), 10000)), [1.0], [1e-5]),
        partial(row, add("10000-steps-1.56", e(S(0.01, G(1.5649655)), 10000)), [3.0], [1e-5]),
        partial(row, add("10000-steps-0.88", e(S(0.01, G(0.8825285)), 10000)), [8.0], [1e-5]),
        partial(row, add("large-rate-0.9", e(S(0.9, G(5.0)), 50)), [3.0], [1e-5, 1e-20]),
        partial(row, add("large-rate-0.1", e(S(0.1, G(2.0)), 500)), [2.0, 15.0], [1e-5, 1e-12, 1e-60]),
        partial(row, add("wide-noise", e(S(0.05, G(20.0)), 3000)), [0.2], [1e-5, 1e-10]),
        partial(row, add("billion-steps", e(S(1e-6, G(1.0)), 10**9)), [0.1], [1e-5, 1e-9]),
        partial(row, add("thousand-steps-0.3", e(S(0.001, G(0.3)), 1000)), [15.0], [1e-5]),
        partial(row, add("hundred-thousand", e(S(0.001, G(0.8)), 10**5)), [0.0, 6.0], [1e-5, 1e-20, 0.2]),
        partial(row, add("mnist-like", e({"poissonSampled": {"samplingProbability": 0.004266666666666667, "mechanism": G(1.1 * 0.7, 0.7)}}, 14063)), [2.0], [1e-5, 1e-15]),
        partial(row, add("two-phases", e(S(0.02, G(1.0)), 500), e(S(0.005, G(0.7)), 2000), e(G(30.0), 3)), [3.0], [1e-5, 1e-7, 1e-40]),
        partial(row, add("twenty-distinct", *[e(S(0.005 + 0.001 * j, G(0.9 + 0.05 * j)), 40 + j) for j in range(20)]), [1.0], [1e-5]),
        partial(row, replace("replace-1000", e(S(0.01, G(1.0)), 1000)), [0.0, 1.0], [1e-5, 1e-30, 1e-100]),
        partial(row, replace("replace-large-rate", e(S(0.3, G(3.0)), 100)), [2.0], [1e-5, 1e-12]),
        partial(row, replace("replace-100000", e(S(0.001, G(0.8)), 10**5)), [3.0], [1e-5]),
        partial(row, replace("replace-one-step", e(S(0.01, G(1.0)))), [0.0, 0.01, 0.5, 3.0], [1e-3, 1e-5, 1e-12, 1e-100]),
        partial(row, replace("replace-one-step-tiny", e(S(1e-7, G(0.5)))), [1e-8, 1e-3, 1.0], [1e-9, 1e-20]),
        partial(row, replace("replace-rate-one", e(S(1.0, G(1.0)), 3)), [5.0], [1e-5]),
        partial(row, replace("replace-mixed", e(S(0.02, G(1.2)), 400), e(G(30.0), 2), e(m.response(0.05), 3)), [2.0], [1e-5, 1e-10]),
    ]


def few_steps():
    """A few steps of a small rate: the losses' transform falls slowly."""
    rows = []
    for n, epsilons, deltas in [(2, [0.5, 2.0], []), (3, [1.0], []), (5, [0.5, 1.0, 3.0], [1e-5]), (10, [0.5], [1e-8]), (20, [1.0], []), (100, [0.5, 1.5], [1e-5])]:
        rows.append(partial(row, add(f"small-rate-{n}", event(S(1e-3, G(0.8)), n)), epsilons, deltas, NARROW))
    rows.append(partial(row, add("rate-0.01-3", event(S(0.01, G(1.0)), 3)), [0.5, 2.0], [1e-8], NARROW))
    rows.append(partial(row, add("rate-0.1-2", event(S(0.1, G(1.0)), 2)), [0.5, 3.0], [], NARROW))
    rows.append(partial(row, add("small-rates-mixed", event(S(1e-3, G(0.8)), 2), event(S(0.01, G(2.0)), 5)), [1.0], [], NARROW))
    return rows


def mixtures():
    e = event
    pure, approximate, response, gdp = m.pure, m.approximate, m.response, m.gaussian_dp
    return [
        partial(row, add("pure-100", e(pure(1.0), 100)), [50.0, 79.0], [1e-5, 1e-20]),
        partial(row, add("pure-two-groups", e(pure(0.1), 50), e(pure(0.05), 30)), [0.0, 1.0, 3.0, 6.4], [1e-5, 1e-12, 1e-100]),
        partial(row, add("pure-three-groups", e(pure(0.3), 20), e(pure(0.1), 30), e(pure(0.7), 5)), [2.0, 6.0], [1e-5, 1e-10]),
        partial(row, add("pure-and-approximate", e(pure(0.2), 30), e(approximate(0.1, 1e-8), 20)), [1.0, 4.0], [1e-3, 1e-5, 1e-6, 2.1e-7, 1.9e-7]),
        partial(row, replace("responses", e(response(0.5), 20), e(response(1.0, 8), 10)), [0.0, 3.0, 10.0], [1e-5, 1e-15]),
        partial(row, add("gaussians-distinct", *[e(G(10.0 + j, 1.0 + j % 3), 1 + j) for j in range(12)]), [1.0, 10.0], [1e-5, 1e-200]),
        partial(row, add("gaussian-tiny-noise", e(G(0.001), 2)), [1e6, 1.005e6], [1e-5, 0.999]),
        partial(row, add("gaussian-huge-noise", e(G(1e6), 10)), [0.0, 1e-6], [1e-6, 1e-7]),
        partial(row, add("gaussian-and-gdp", e(G(3.0), 4), e(gdp(0.2), 5)), [1.0], [1e-5, 1e-30]),
        partial(row, add("gaussian-pure", e(G(5.0), 10), e(pure(0.1), 20)), [0.0, 1.0, 5.0], [1e-5, 1e-20, 1e-100]),
        partial(row, add("gaussian-approximate", e(G(10.0), 5), e(approximate(0.05, 1e-9), 20)), [0.5, 3.0], [1e-6, 1e-7, 2.5e-8, 1e-9]),
        partial(row, replace("gaussian-response", e(G(8.0), 6), e(response(0.4, 5), 7), e(response(0.2), 4)), [1.0], [1e-5, 1e-12]),
        partial(row, add("laplace-10", e(L(5.0), 10)), [0.0, 0.5, 1.0, 1.8, 1.99], [1e-3, 1e-5]),
        partial(row, add("laplace-40", e(L(20.0), 40)), [0.3, 1.0], [1e-4]),
        partial(row, add("laplace-two-scales", e(L(10.0), 8), e(L(25.0), 10)), [0.0, 0.4, 0.9], [1e-4]),
        partial(row, add("laplace-pure", e(L(2.0), 6), e(pure(0.5), 4)), [0.5, 2.0, 4.5], [1e-3, 1e-5]),
        partial(row, add("laplace-approximate", e(L(4.0), 5), e(approximate(0.2, 1e-6), 3)), [0.5, 1.5], [1e-4, 4e-6]),
        partial(row, replace("laplace-replace", e(L(10.0), 5)), [0.2, 0.8], [1e-3]),
        partial(row, add("gaussian-laplace", e(G(3.0), 2), e(L(2.0), 3)), [0.0, 1.0, 3.0], [1e-5, 1e-12]),
        partial(row, add("gaussian-laplace-many", e(G(5.0), 100), e(L(20.0), 100)), [3.0], [1e-5, 1e-20]),
        partial(row, add("everything", e(G(5.0), 100), e(L(20.0), 100), e(pure(0.1), 50), e(pure(0.05), 30), e(approximate(0.05, 1e-9), 20)), [3.0], [1e-5, 1e-7]),
        partial(row, add("everything-and-sampled", e(G(4.0), 3), e(L(5.0), 10), e(pure(0.2), 5), e(approximate(0.1, 1e-10), 4), e(S(0.01, G(1.0)), 500), e(S(0.02, L(1.0)), 50)),
                [1.0, 4.0], [1e-5, 1e-8]),
        partial(row, add("sampled-and-pure", e(S(0.01, G(1.0)), 1000), e(pure(0.3), 5)), [2.0], [1e-5, 1e-15]),
        partial(row, add("sampled-and-laplace", e(S(0.01, G(0.9)), 1000), e(L(10.0), 20)), [2.0], [1e-5]),
        partial(row, add("sampled-and-approximate", e(S(0.01, G(1.0)), 1000), e(approximate(0.1, 1e-7), 3)), [1.8], [1e-5, 1e-6]),
        partial(row, add("sampled-laplace-1000", e(S(0.01, L(1.0)), 1000)), [0.0, 0.5, 2.0], [1e-5, 1e-10]),
        partial(row, add("sampled-laplace-half", e(S(0.5, L(10.0)), 1000)), [1.0], [1e-5]),
        partial(row, add("sampled-pure-100", e(S(0.1, pure(1.0)), 100)), [0.0, 1.0, 3.0], [1e-5, 1e-15]),
        partial(row, add("sampled-pure-1", e(S(0.01, pure(2.0)))), [0.0, 0.01, 0.05], [1e-3, 1e-5]),
        partial(row, add("sampled-approximate-50", e(S(0.2, approximate(0.5, 1e-4)), 50)), [0.0, 0.5, 1.5], [0.01, 1.5e-3]),
        partial(row, add("sampled-approximate-2", e(S(0.5, approximate(1.0, 0.1)), 2)), [0.0, 0.5, 1.0], [0.3, 0.11]),
    ]


ABOUT = ("Exact curves of whole ledgers, the larger of both directions (REMOVE alone where every mechanism is symmetric): delta and logDelta at epsilon, "
         "or the least epsilon >= 0 at delta (Infinity below delta_infinity). The first key of a truth row is the given one. ")
FILES = {
    "pld/testdata/engine_mixtures.json": lambda: File(ABOUT + "26 digits.", 60, {"rows": mixtures()}),
    "pld/testdata/engine_dpsgd.json": lambda: File(ABOUT + "26 digits.", 60, {"rows": dpsgd()}),
    "pld/testdata/engine_few_steps.json": lambda: File(ABOUT + "21 digits.", 60, {"rows": few_steps()}),
}
