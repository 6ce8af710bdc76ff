# SPDX-License-Identifier: Apache-2.0
"""internal/theorem/testdata: one guarantee turned into another, as the papers state it."""

from functools import partial

from mpmath import mp, mpf

from .conversion import best_epsilon, best_log_delta, concentrated
from .number import exact, text
from .writing import File

ABOUT = ("from a guarantee (epsilon, delta, rho, mu; order with epsilon) to another with target parameters. pure and approximate: binary randomized response "
         "with a failure probability (Kairouz, Oh, Viswanath 2015). rho and renyi of pure DP: epsilon tanh(epsilon/2), ln[(sinh a e - sinh (a-1) e)/sinh e]/(a-1). "
         "mu of pure DP: 2 Phi^-1(e^epsilon/(1+e^epsilon)). zCDP and Renyi to (epsilon, delta): Canonne, Kamath, Steinke 2020, Prop. 12. Gaussian: Balle, Wang 2018. "
         "group: Dwork, Roth 2014; Vadhan 2017; Bun, Steinke 2016; Dong, Roth, Su 2022; Mironov 2017, Prop. 2. sampled: Balle, Barthe, Gaboardi 2018. test: best error "
         "at alpha, equal error and advantage. Inputs are binary64, taken exactly; 30 digits.")


def phi(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def quantile(p):
    return mp.findroot(lambda x: phi(x) - p, mp.sqrt(2) * mp.erfinv(2 * p - 1))


def pure_delta(e, d, at):
    return d + (1 - d) * max(mpf(0), (mp.exp(e) - mp.exp(at)) / (1 + mp.exp(e)))


def pure_epsilon(e, d, at):
    rest = (at - d) / (1 - d)
    x = mp.exp(e) - rest * (1 + mp.exp(e))
    return mp.inf if rest < 0 else max(mpf(0), mp.log(x)) if x > 0 else mpf(0)


def gaussian_delta(mu, at):
    return phi(mu / 2 - at / mu) - mp.exp(at) * phi(-mu / 2 - at / mu)


def gaussian_epsilon(mu, at):
    if gaussian_delta(mu, mpf(0)) <= at:
        return mpf(0)
    top = mpf(1)
    while gaussian_delta(mu, top) > at:
        top *= 2
    low = mpf(0)
    for _ in range(300):
        middle = (low + top) / 2
        low, top = (middle, top) if gaussian_delta(mu, middle) > at else (low, middle)
    return top


def prop12(tau, order, at):
    return max(mpf(0), tau + mp.log((order - 1) / order) - (mp.log(at) + mp.log(order)) / (order - 1))


def prop12_delta(tau, order, at):
    return min(mpf(1), mp.exp((order - 1) * (tau - at + mp.log((order - 1) / order)) - mp.log(order)))


def row(source, to, given, target, want):
    out = {"from": source, "to": to, **given, **target}
    values = want(*(exact(x) if isinstance(x, float) else x for x in (*given.values(), *target.values())))
    return out | {k: text(v) for k, v in values.items()}


def rho_epsilon(r, at):
    return max(mpf(0), best_epsilon(*concentrated(r), mp.log(at))[0])


def rho_delta(r, at):
    return min(mpf(1), mp.exp(best_log_delta(*concentrated(r), at)[0]))


def test_pure(e, d, alpha):
    return {"wantBeta": max(mpf(0), 1 - d - mp.exp(e) * alpha, mp.exp(-e) * (1 - d - alpha)), "wantEqualError": (1 - d) / (1 + mp.exp(e)),
            "wantAdvantage": (mp.expm1(e) + 2 * d) / (mp.exp(e) + 1)}


def test_gaussian(mu, alpha):
    beta = mpf(1) if alpha == 0 else mpf(0) if alpha == 1 else phi(quantile(1 - alpha) - mu)
    return {"wantBeta": beta, "wantEqualError": phi(-mu / 2), "wantAdvantage": 1 - 2 * phi(-mu / 2)}


def makers():
    """From, to, the guarantee, the target's parameters, and what follows from both."""
    pure, approximate, zcdp, renyi, gaussian = "pure-dp", "approximate-dp", "zero-concentrated-dp", "renyi-dp", "gaussian-dp"
    deltas, epsilons, orders, alphas = (1e-12, 1e-5, 0.01), (0.0, 0.3, 2.0), (1.5, 2.0, 32.0, 1000.0), (0.0, 0.001, 0.05, 0.5, 0.99, 1.0)
    for e in (0.01, 0.5, 3.0):
        g = {"epsilon": e}
        yield pure, zcdp, g, {}, lambda e: {"wantRho": e * mp.tanh(e / 2)}
        yield pure, gaussian, g, {}, lambda e: {"wantMu": 2 * quantile(mp.exp(e) / (1 + mp.exp(e)))}
        for o in orders:
            yield pure, renyi, g, {"targetOrder": o}, lambda e, o: {"wantEpsilon": mp.log((mp.sinh(o * e) - mp.sinh((o - 1) * e)) / mp.sinh(e)) / (o - 1), "wantOrder": o}
        for k in (1, 7):
            yield pure, "group", g, {"groupSize": k}, lambda e, k: {"wantEpsilon": k * e}
        for q in (1e-4, 0.3, 1.0):
            yield pure, "sampled", g, {"q": q}, lambda e, q: {"wantEpsilon": mp.log1p(q * mp.expm1(e))}
        for a in alphas:
            yield pure, "hypothesis-test", g, {"alpha": a}, lambda e, a: test_pure(e, 0, a)
        for d0 in (0.0, 1e-6):
            kind, h = (approximate, g | {"delta": d0}) if d0 else (pure, g)
            for d in deltas:
                yield kind, approximate, h, {"targetDelta": d}, lambda e, *r: {"wantEpsilon": pure_epsilon(e, r[0] if len(r) > 1 else 0, r[-1])}
            for x in epsilons:
                yield kind, approximate, h, {"targetEpsilon": x}, lambda e, *r: {"wantDelta": pure_delta(e, r[0] if len(r) > 1 else 0, r[-1])}
        h = g | {"delta": 1e-6}
        yield approximate, "group", h, {"groupSize": 3}, lambda e, d, k: {"wantEpsilon": k * e, "wantDelta": d * mp.expm1(k * e) / mp.expm1(e)}
        yield approximate, "sampled", h, {"q": 0.01}, lambda e, d, q: {"wantEpsilon": mp.log1p(q * mp.expm1(e)), "wantDelta": q * d}
        for a in alphas:
            yield approximate, "hypothesis-test", h, {"alpha": a}, test_pure
    for r in (1e-3, 0.5, 4.0):
        g = {"rho": r}
        for d in deltas:
            yield zcdp, approximate, g, {"targetDelta": d}, lambda r, d: {"wantEpsilon": rho_epsilon(r, d)}
        for x in epsilons:
            yield zcdp, approximate, g, {"targetEpsilon": x}, lambda r, x: {"wantDelta": rho_delta(r, x)}
        yield zcdp, renyi, g, {"targetOrder": 8.0}, lambda r, o: {"wantEpsilon": r * o, "wantOrder": o}
        yield zcdp, "group", g, {"groupSize": 3}, lambda r, k: {"wantRho": k * k * r}
    for o in orders:
        g = {"order": o, "epsilon": 0.25}
        for d in deltas:
            yield renyi, approximate, g, {"targetDelta": d}, lambda o, t, d: {"wantEpsilon": prop12(t, o, d)}
        for x in epsilons:
            yield renyi, approximate, g, {"targetEpsilon": x}, lambda o, t, x: {"wantDelta": prop12_delta(t, o, x)}
        if o >= 32:
            yield renyi, "group", g, {"groupSize": 4}, lambda o, t, k: {"wantEpsilon": 9 * t, "wantOrder": o / 4}
    for m in (0.01, 0.5, 3.0, 12.0):
        g = {"mu": m}
        yield gaussian, zcdp, g, {}, lambda m: {"wantRho": m * m / 2}
        yield gaussian, renyi, g, {"targetOrder": 8.0}, lambda m, o: {"wantEpsilon": o * m * m / 2, "wantOrder": o}
        yield gaussian, "group", g, {"groupSize": 3}, lambda m, k: {"wantMu": k * m}
        for d in deltas:
            yield gaussian, approximate, g, {"targetDelta": d}, lambda m, d: {"wantEpsilon": gaussian_epsilon(m, d)}
        for x in epsilons:
            yield gaussian, approximate, g, {"targetEpsilon": x}, lambda m, x: {"wantDelta": gaussian_delta(m, x)}
        for a in alphas:
            yield gaussian, "hypothesis-test", g, {"alpha": a}, test_gaussian


def tables():
    return {"rows": [partial(row, *m) for m in makers()]}


FILES = {"theorem/testdata/conversions.json": lambda: File(ABOUT, 60, tables())}
