# SPDX-License-Identifier: Apache-2.0
"""internal/pld/testdata/declared.json: zCDP guarantees composed with mechanisms.

A ρ-zCDP mechanism's curve is below the conversion c(ε) in both directions, hence below the largest function that is convex in e^ε and
below min(c(ε), 1 − e^ε + e^ε·c(−ε)). Its chord around 0 touches both at ±t. δ of a composition is E[curve(ε − L)] over the rest's L.
"""

from functools import lru_cache, partial

from mpmath import mp, mpf

from . import mechanisms as m
from .conversion import best_log_delta, concentrated
from .engine import composed_rows, merged
from .ledger import event, sides, workload
from .number import exact, root, text
from .pairs import ADD_OR_REMOVE, REMOVE, REPLACE, Atoms
from .writing import File

DIGITS = 20


class Declared:
    def __init__(self, rho):
        self.rho = mpf(rho)
        self.touch = self._touch()
        x = mp.exp(self.touch)
        f = self.converted(self.touch)
        self.chord = ((1 / x, 1 - 1 / x + f / x), (x, f))

    @lru_cache(maxsize=None)
    def converted(self, epsilon):
        return mp.exp(best_log_delta(*concentrated(self.rho), epsilon, steer=DIGITS)[0])

    def _touch(self):
        """Where the conversion's tangent in x = e^ε is the chord to its mirror image: −f'(x)·(x + 1) = 1 − f(x)."""
        def excess(e):
            x, h = mp.exp(e), mpf(10) ** -8
            slope = (self.converted(e + h) - self.converted(e - h)) / (2 * h) / x
            return 1 - self.converted(e) + slope * (x + 1)
        hi = mp.sqrt(self.rho)
        while excess(hi) < 0:
            hi *= 2
        return root(excess, hi / 1000, hi, 12)

    def curve(self, epsilon):
        if epsilon >= self.touch:
            return self.converted(epsilon)
        x = mp.exp(epsilon)
        if epsilon <= -self.touch:
            return 1 - x + x * self.converted(-epsilon)
        (a, fa), (b, fb) = self.chord
        return fa + (fb - fa) * (x - a) / (b - a)


def with_gaussian(declared, mu, epsilon):
    """L ~ N(μ²/2, μ²)."""
    t = declared.touch
    marks = sorted({(epsilon - l - mu * mu / 2) / mu for l in (-t, t)} | {mpf(k) for k in range(-14, 15, 2)})
    return mp.quad(lambda z: mp.npdf(z) * declared.curve(epsilon - mu * mu / 2 - mu * z), marks)


def with_atoms(declared, rows, epsilon):
    return mp.fsum(mass * declared.curve(epsilon - loss) for loss, mass in rows)


def row(work, epsilons):
    rho = sum(exact(e["mechanism"]["zeroConcentratedDp"]["rho"]) * e["count"] for e in work["events"] if "zeroConcentratedDp" in e["mechanism"])
    rest = dict(work, events=[e for e in work["events"] if "zeroConcentratedDp" not in e["mechanism"]])
    declared, out = Declared(rho), []
    for epsilon in epsilons:
        best = mpf(0)
        for composition in sides(rest).values():
            (n, pair), = composition.parts
            if isinstance(pair, Atoms):
                best = max(best, with_atoms(declared, merged(composed_rows(pair, n)), exact(epsilon)))
            else:
                best = max(best, with_gaussian(declared, mp.sqrt(n) * pair.centres[-1], exact(epsilon)))
        out.append({"epsilon": epsilon, "delta": text(best, 12), "logDelta": text(mp.log(best), 12)})
    return {k: work[k] for k in ("name", "adjacency", "events")} | {"truth": out}


def z(rho):
    return {"zeroConcentratedDp": {"rho": rho}}


def rows():
    e = event
    return [
        partial(row, workload("small-and-gaussian", ADD_OR_REMOVE, e(z(1e-4), 3), e(m.gaussian(2.0), 2)), [0.5, 3.0]),
        partial(row, workload("gaussian", ADD_OR_REMOVE, e(z(0.1), 2), e(m.gaussian(2.0))), [0.0, 1.0, 4.0]),
        partial(row, workload("gaussian-replace", REPLACE, e(z(1.0)), e(m.gaussian(5.0), 4)), [2.0, 8.0]),
        partial(row, workload("large", ADD_OR_REMOVE, e(z(10.0)), e(m.gaussian(0.7))), [20.0, 40.0]),
        partial(row, workload("pure", ADD_OR_REMOVE, e(z(0.02)), e(m.pure(0.2), 10)), [0.0, 0.5, 2.0]),
        partial(row, workload("response", REPLACE, e(z(0.3)), e(m.response(1.0, 5), 6)), [1.0, 5.0]),
        partial(row, workload("sampled-pure", ADD_OR_REMOVE, e(z(0.05)), e(m.sampled(0.1, m.pure(1.0)), 30)), [0.3, 2.0]),
    ]


ABOUT = ("The best curve that the conversion of rho-zCDP (Canonne, Kamath, Steinke 2020, Prop. 12; both directions, convex in e^epsilon) implies, composed with the rest; "
         "the larger of both directions. 12 digits.")
FILES = {"pld/testdata/declared.json": lambda: File(ABOUT, 50, {"rows": rows()})}
