# SPDX-License-Identifier: Apache-2.0
"""Compositions: a workload's events as counted pairs in one direction, and its Rényi conversions."""

from dataclasses import dataclass

from mpmath import mp, mpf

from . import conversion
from .cumulant import cumulant, slope
from .mechanisms import directions, is_symmetric, kind, pair_of
from .number import exact
from .pairs import ADD, ADD_OR_REMOVE, REMOVE, REPLACE, Atoms


def event(mechanism, count=1):
    return {"mechanism": mechanism, "count": count}


def workload(name, adjacency, *events):
    return {"name": name, "adjacency": adjacency, "events": list(events)}


@dataclass
class Composition:
    """Counted pairs of one direction."""
    parts: list  # (count, pair)

    @staticmethod
    def of(work, direction):
        with mp.workdps(150):
            return Composition([(e["count"], pair_of(e["mechanism"], work["adjacency"], direction)) for e in work["events"]])

    def log_finite(self):
        """ln P(L < ∞) = Σ n ln(1 − m)."""
        total = mpf(0)
        for n, pair in self.parts:
            if isinstance(pair, Atoms):
                total += n * mp.log1p(-mp.fsum(p for p, w in pair.rows if not w))
        return total

    def value(self, s):
        return mp.fsum(n * cumulant(pair, s) for n, pair in self.parts)

    def slope(self, s, digits):
        k = dk = mpf(0)
        for n, pair in self.parts:
            a, b = slope(pair, s, digits)
            k, dk = k + n * a, dk + n * b
        return k, dk

    def conditional_log_delta(self, delta):
        """ln[(δ − δ_∞)/(1 − δ_∞)]: what is left for the finite part."""
        finite = self.log_finite()
        rest = exact(delta) + mp.expm1(finite)
        return mp.log(rest) - finite if rest > 0 else None

    def steer_digits(self):
        """Digits after the point a search needs: the smallest sampling rate squared must be seen."""
        q = min([mpf(1)] + [pair.key[1] for _, pair in self.parts if getattr(pair, "key", ())])
        return 30 - int(2 * mp.log10(q))


def sides(work):
    """The compositions to take the maximum over: one if every mechanism is symmetric."""
    if all(is_symmetric(e["mechanism"], work["adjacency"]) for e in work["events"]):
        return {REMOVE: Composition.of(work, REMOVE)}
    return {d: Composition.of(work, d) for d in (REMOVE, ADD)}


def renyi_epsilon(composition, delta, limit=mpf(10) ** 6):
    """(ε, s): infimum over real orders of the conversion at δ."""
    digits = composition.steer_digits()
    return conversion.best_epsilon(lambda s: composition.slope(s, digits), composition.value,
                                   composition.conditional_log_delta(delta), limit=limit)


def renyi_log_delta(composition, epsilon, limit=mpf(10) ** 6):
    """(ln δ of the finite part, s): infimum over real orders at ε."""
    digits = composition.steer_digits()
    return conversion.best_log_delta(lambda s: composition.slope(s, digits), composition.value, exact(epsilon), limit=limit)
