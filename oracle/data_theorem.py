# SPDX-License-Identifier: Apache-2.0
"""internal/theorem/testdata: the classical theorems as their papers state them."""

from functools import cache, partial

from mpmath import mp, mpf

from .number import exact, text
from .writing import File

DELTAS = [1e-100, 1e-12, 1e-5, 1e-3, 0.1]
EPSILONS = [0.0, 0.3, 1.0, 4.0, 30.0]
REPEATED = [(1, 0.5, 0.0), (10, 0.1, 0.0), (100, 0.01, 1e-9), (120, 0.2, 0.0), (200, 0.05, 1e-12), (20, 2.0, 1e-8), (3, 8.0, 1e-3)]

ABOUT = ("k mechanisms that are (epsilon0, delta0)-DP each. advanced: Dwork, Rothblum, Vadhan 2010, Thm III.3 with delta = k delta0 + delta'. "
         "mironov: Mironov 2017, Cor. 1; absent where ln(1/delta) < k epsilon0^2 or delta0 > 0. optimal: Kairouz, Oh, Viswanath 2015, Thm 3.3, and the line "
         "in e^epsilon between its points. gaussian: Dwork, Roth 2014, Thm A.1 for mu = sensitivity/sigma, absent outside epsilon < 1. zcdp: Bun, Steinke 2016, Prop. 1.3. "
         "rdp: Mironov 2017, Prop. 3 of rho-zCDP at the best real order, the same function. epsilon is the bound at delta (Infinity where there is none), logDelta "
         "the bound at epsilon, at most 0. Inputs are binary64, taken exactly; 30 digits.")


def mean(k, e):
    return k * e * mp.expm1(e)


def advanced(k, e, d, delta=None, epsilon=None):
    if delta is not None:
        rest = delta - k * d
        return mean(k, e) + e * mp.sqrt(2 * k * mp.log(1 / rest)) if rest > 0 else mp.inf
    over = epsilon - mean(k, e)
    return min(mpf(0), mp.log(k * d + (mp.exp(-over ** 2 / (2 * k * e ** 2)) if over > 0 else 1)))


def mironov(k, e, d, delta=None, epsilon=None):
    log_inverse = mp.log(1 / delta) if delta is not None else epsilon ** 2 / (32 * k * e ** 2)
    if d > 0 or log_inverse < k * e ** 2:
        return None
    return 4 * e * mp.sqrt(2 * k * log_inverse) if delta is not None else -log_inverse


def optimal_point(k, e, d, i):
    """δ of Theorem 3.3 at ε = (k − 2i)·ε₀."""
    total = mp.fsum(mp.binomial(k, l) * (mp.exp((k - l) * e) - mp.exp((k - 2 * i + l) * e)) for l in range(i))
    return 1 - (1 - d) ** k * (1 - total / (1 + mp.exp(e)) ** k)


@cache
def optimal_points(k, e, d):
    points = [((k - 2 * i) * e, optimal_point(k, e, d, i)) for i in range(k // 2 + 1)]  # ε falls, δ grows
    if k % 2:  # ε = 0 lies between (k − 2i)ε₀ = ±ε₀
        at = -e
        first = mp.fsum(mp.binomial(k, l) * (mp.exp((k - l) * e) - mp.exp(at) * mp.exp(l * e)) for l in range(k // 2 + 1))
        points.append((at, 1 - (1 - d) ** k * (1 - first / (1 + mp.exp(e)) ** k)))
    return points


def optimal(k, e, d, delta=None, epsilon=None):
    points = optimal_points(k, e, d)

    def line(a, b, x):  # δ at e^ε = x on the line through two points
        (ea, da), (eb, db) = a, b
        return da + (db - da) * (x - mp.exp(ea)) / (mp.exp(eb) - mp.exp(ea))

    if delta is not None:
        if delta < points[0][1]:
            return mp.inf
        for a, b in zip(points, points[1:]):
            if delta <= b[1]:
                x = mp.exp(a[0]) + (delta - a[1]) * (mp.exp(b[0]) - mp.exp(a[0])) / (b[1] - a[1])
                return max(mpf(0), mp.log(x))
        return mpf(0)
    if epsilon >= points[0][0]:
        return mp.log(points[0][1]) if points[0][1] > 0 else -mp.inf
    for a, b in zip(points, points[1:]):
        if epsilon >= b[0]:
            return mp.log(line(a, b, mp.exp(epsilon)))
    raise ValueError("below the last point")


def gaussian(mu, delta=None, epsilon=None):
    if delta is not None:
        e = mu * mp.sqrt(2 * mp.log(mpf(5) / 4 / delta))
        return e if e < 1 else None
    return min(mpf(0), mp.log(mpf(5) / 4) - (epsilon / mu) ** 2 / 2) if epsilon < 1 else None


def zcdp(rho, delta=None, epsilon=None):
    if delta is not None:
        return rho + 2 * mp.sqrt(rho * mp.log(1 / delta))
    return -(epsilon - rho) ** 2 / (4 * rho) if epsilon > rho else mpf(0)


def row(name, function, parameters, given, value):
    answer = function(*map(exact, parameters[1:]) if name in ("gaussian", "zcdp") else (parameters[1], *map(exact, parameters[2:])), **{given: exact(value)})
    out = {"theorem": name, given: value}
    out |= dict(zip(("mu",) if name == "gaussian" else ("rho",) if name == "zcdp" else ("k", "epsilon0", "delta0"), parameters[1:]))
    if answer is not None:
        out["answer"] = "Infinity" if answer == mp.inf else "-Infinity" if answer == -mp.inf else text(answer)
    return out


def tables():
    asked = [("delta", d) for d in DELTAS] + [("epsilon", e) for e in EPSILONS]
    theorems = [(f.__name__, f, (f.__name__, *p)) for f in (advanced, mironov, optimal) for p in REPEATED]
    theorems += [("gaussian", gaussian, ("gaussian", mu)) for mu in (0.01, 0.1, 0.3, 1.0)]
    theorems += [("zcdp", zcdp, ("zcdp", rho)) for rho in (1e-4, 0.01, 0.5, 3.0, 40.0)]
    return {"rows": [partial(row, *t, *a) for t in theorems for a in asked]}


FILES = {"theorem/testdata/theorems.json": lambda: File(ABOUT, 200, tables())}
