# SPDX-License-Identifier: Apache-2.0
"""internal/pld/testdata/closed.json: one Laplace, groups of randomized response and pure-DP, (ε,δ) atoms — exact sums."""

from functools import partial

from mpmath import mp, mpf

from . import atoms, laplace
from . import mechanisms as m
from .ledger import event, workload
from .number import agree, exact, text
from .pairs import ADD_OR_REMOVE, REPLACE
from .writing import File

DELTAS = [1e-300, 1e-100, 1e-30, 1e-15, 1e-10, 1e-8, 1e-5, 1e-3, 0.05, 0.3, 0.9]


def _truth(curve, work, epsilons, deltas):
    rows = []
    for epsilon in epsilons:
        d = curve.delta(exact(epsilon))
        row = {"epsilon": epsilon, "delta": text(d)}
        if d > 0:
            # What is left of 1 − δ below the working digits is noise.
            row["logDelta"] = text(mp.log(d) if abs(1 - d) > mpf(10) ** -(mp.dps - 40) else 0)
        rows.append(row)
    for delta in deltas:
        rows.append({"delta": delta, "epsilon": text(curve.epsilon(exact(delta)))})
    return {k: work[k] for k in ("name", "adjacency", "events")} | {"truth": rows}


class _OneLaplace:
    """The curve by definition, its inverse from Balle, Barthe, Gaboardi 2018, Thm 3, the two checked against each other."""

    def __init__(self, e0):
        self.e0 = exact(e0)

    def delta(self, epsilon):
        direct = laplace.by_definition(self.e0, epsilon)
        return agree(laplace.curve([(self.e0, 1)], [(mpf(0), mpf(1))], 0, epsilon), direct, 30, "one Laplace") if direct else direct

    def epsilon(self, delta):
        value = max(mpf(0), self.e0 + 2 * mp.log1p(-delta))
        if value:
            agree(laplace.by_definition(self.e0, value), delta, 40, "inverse of one Laplace")
        return value


def _epsilons(e0, n):
    """From the middle of the curve to its end, some exactly at losses, some between, one beyond."""
    reach = min(n * e0, e0 * (n * float(mp.tanh(e0 / 2)) + 6 * n ** 0.5))
    picks = [0.0, reach * 0.1, reach * 0.25, reach * 0.5, reach * 0.75, e0 * (n % 2), e0 * (n // 2), n * e0 * 0.999, n * e0 * 1.001]
    return sorted(set(round(x, 6) if x > 0.01 else x for x in picks))


def laplace_row(scale, sensitivity, adjacency):
    w = workload(f"laplace-{scale}-{adjacency}", adjacency, event(m.laplace(scale, sensitivity)))
    e0 = m.shift_of(w["events"][0]["mechanism"], adjacency)
    return _truth(_OneLaplace(e0), w, [float(e0) * f for f in (0.0, 0.1, 0.5, 0.9, 0.999999, 1.5)], DELTAS)


class _Laplaces:
    """n Laplace releases of one e0: residues, and their inverse by bisection and the secant method."""

    def __init__(self, e0, n):
        self.e0, self.n = exact(e0), n

    def delta(self, epsilon):
        return laplace.curve([(self.e0, self.n)], [(mpf(0), mpf(1))], 0, epsilon, digits=45)

    def epsilon(self, delta):
        if self.delta(mpf(0)) <= delta:
            return mpf(0)
        low, high = mpf(0), self.n * self.e0
        with mp.workdps(110):
            while high - low > high * mpf(10) ** -6:
                middle = (low + high) / 2
                low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
            root = mp.findroot(lambda x: self.delta(x) / delta - 1, (low, high), solver="secant", tol=mpf(10) ** -80, maxsteps=12, verify=False)
        agree(self.delta(root), delta, 30, "inverse of several Laplaces")
        return root


def laplaces_row(scale, sensitivity, n, adjacency, deltas=()):
    w = workload(f"laplace-{scale}x{n}-{adjacency}", adjacency, event(m.laplace(scale, sensitivity), n))
    e0 = m.shift_of(w["events"][0]["mechanism"], adjacency)
    reach = float(e0) * n
    spread = min(reach, float(e0) * n ** 0.5 * 6)
    return _truth(_Laplaces(e0, n), w, [0.0, spread / 8, spread / 3.0, float(e0) * (n - 2), reach * 1.001], deltas)


def pure_row(e0, n):
    w = workload(f"pure-{e0}x{n}", ADD_OR_REMOVE, event(m.pure(e0), n))
    return _truth(atoms.Steps(atoms.binary_rows(e0, n)), w, _epsilons(e0, n), DELTAS)


def response_row(e0, k, n):
    w = workload(f"response-{e0}" + (f"-k{k}" if k else "") + f"x{n}", REPLACE, event(m.response(e0, k), n))
    return _truth(atoms.Steps(atoms.trinomial_rows(e0, k or 2, n)), w, _epsilons(e0, n), DELTAS)


def noise_row(noise, k, n):
    """Parametrised by ν: the answer is uniform with probability ν, so a false value has ν/k."""
    x = exact(noise)
    e0 = mp.log1p((1 - x) * k / x)
    w = workload(f"response-noise-{noise}-k{k}x{n}", REPLACE, event({"randomizedResponse": {"noise": noise, "buckets": k}}, n))
    return _truth(atoms.Steps(atoms.trinomial_rows(e0, k, n)), w, _epsilons(float(e0), n), DELTAS)


def approximate_row(e0, d0, n):
    w = workload(f"approximate-{e0}-{d0}x{n}", ADD_OR_REMOVE, event(m.approximate(e0, d0), n))
    return _truth(atoms.Steps(atoms.binary_rows(e0, n), atoms.approximate_infinite([(d0, n)])), w, _epsilons(e0, n), DELTAS)


def together_row():
    w = workload("pure-and-approximate-one-epsilon", ADD_OR_REMOVE, event(m.pure(0.1), 30), event(m.approximate(0.1, 1e-7), 20), event(m.approximate(0.1, 1e-5), 2))
    return _truth(atoms.Steps(atoms.binary_rows(0.1, 52), atoms.approximate_infinite([(1e-7, 20), (1e-5, 2)])), w, _epsilons(0.1, 52), DELTAS)


def rows():
    out = [partial(laplace_row, *x) for x in [(1.0, 1.0, ADD_OR_REMOVE), (0.1, 1.0, ADD_OR_REMOVE), (100.0, 1.0, ADD_OR_REMOVE), (1e6, 1.0, ADD_OR_REMOVE),
                                              (0.01, 1.0, ADD_OR_REMOVE), (3.0, 2.0, REPLACE)]]
    some = [1e-30, 1e-10, 1e-6, 1e-3, 0.3]
    out += [partial(laplaces_row, *x) for x in [(1.0, 1.0, 2, ADD_OR_REMOVE, some), (0.3, 1.0, 7, ADD_OR_REMOVE, some), (1e4, 1.0, 3, ADD_OR_REMOVE, some),
                                               (11.0, 1.5, 12, REPLACE, some), (20.0, 1.0, 64, ADD_OR_REMOVE), (1.7, 1.0, 41, ADD_OR_REMOVE), (700.0, 1.0, 50, ADD_OR_REMOVE)]]
    out += [partial(pure_row, *x) for x in [(1.0, 1), (0.1, 2), (0.1, 3), (0.05, 50), (1.0, 100), (2.0, 7), (10.0, 3), (30.0, 2), (0.01, 1000), (0.5, 1000), (1e-3, 10000),
                                            (0.1, 10000), (1e-6, 1000), (1e-9, 100), (0.01, 100000), (1e-3, 100000), (3.0, 100000)]]
    out += [partial(response_row, *x) for x in [(0.1, None, 100), (1.0986122886681098, None, 100), (0.01, None, 5000), (1.0, 3, 1), (2.3978952727983707, 10, 20), (1.0, 4, 100),
                                                (0.1, 1000, 500), (5.0, 100, 10), (0.02, 3, 5000), (0.5, 1 << 40, 50)]]
    out += [partial(noise_row, *x) for x in [(0.5, 2, 100), (0.5, 10, 20), (1e-9, 5, 3), (0.999, 100, 1000)]]
    out += [partial(approximate_row, *x) for x in [(0.05, 1e-9, 20), (1.0, 1e-6, 1), (1.0, 1e-6, 50), (0.1, 1e-18, 1000), (0.01, 1e-300, 100), (0.5, 0.5, 3), (0.1, 1e-12, 100000)]]
    return out + [together_row]


ABOUT = ("Exact curves, 30 digits: truth rows give delta at epsilon (logDelta too; delta 0 is exact) or the least epsilon >= 0 at delta "
         "(Infinity below delta_infinity). Inputs are binary64, taken exactly.")

# 400 digits: the sums over P and over Q cancel to the size of delta.
FILES = {"pld/testdata/closed.json": lambda: File(ABOUT, 400, {"rows": rows()})}
