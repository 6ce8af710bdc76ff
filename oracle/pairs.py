# SPDX-License-Identifier: Apache-2.0
"""Dominating pairs (P, Q) as densities or atoms, straight from the mechanisms' definitions.

Every pair is one direction: L = ln dP/dQ under x ~ P. Units are those of the mechanism's own output.
"""

from dataclasses import dataclass, field
from typing import Callable

from mpmath import mp, mpf

from .number import exact

REMOVE, ADD = "REMOVE", "ADD"
ADD_OR_REMOVE, REPLACE = "ADD_OR_REMOVE_ONE", "REPLACE_ONE"


@dataclass
class Line:
    """Two analytic densities on the real line; noise has standard deviation 1.

    log_p, log_q: ln of the densities. centres: where the means lie. width: distance of the densities'
    complex zeros from the axis (the trapezoid rule's strip), infinity if there are none.
    """
    log_p: Callable
    log_q: Callable
    centres: tuple
    width: object
    key: tuple = field(default=())


@dataclass
class Pieces:
    """Densities analytic between break points, and the loss constant (with closed masses) beyond the outer two.

    left, right: (P mass, Q mass) of the two tails, whose loss is constant. plain: Δ/b if a Laplace without sampling.
    """
    log_p: Callable
    log_q: Callable
    breaks: tuple
    left: tuple
    right: tuple
    plain: object = None


@dataclass
class Atoms:
    """A finite space: rows (P mass, Q mass). Q = 0 means loss +∞."""
    rows: list


def gaussian_line(shift, q, direction, symmetric):
    """Poisson-sampled (rate q) Gaussian, noise 1, a record moving the mean by shift.

    ADD_OR_REMOVE: the record is there (mixture) or not (mean 0). symmetric: replaced by one that moves the other way.
    """
    shift, q = exact(shift), exact(q)
    if q == 1 and symmetric:
        shift, symmetric = 2 * shift, False  # only the distance of two normal laws counts
    plain = lambda x: -(x * x + mp.log(2 * mp.pi)) / 2
    def mix(mean):
        # ln[(1−q)φ(x) + qφ(x−mean)]
        def log_density(x):
            base = plain(x)
            u = mean * x - mean * mean / 2
            if q == 1:
                return base + u
            if u > 0:
                return base + u + mp.log(q + (1 - q) * mp.exp(-u))
            return base + mp.log((1 - q) + q * mp.exp(u))
        return log_density
    width = mp.inf if q == 1 else mp.pi / shift
    if symmetric:
        return Line(mix(shift), mix(-shift), (-shift, 0, shift), width, (shift, q, "R"))
    if direction == REMOVE:
        return Line(mix(shift), plain, (0, shift), width, (shift, q, "r"))
    return Line(plain, mix(shift), (0, shift), width, (shift, q, "a"))


def laplace_pieces(e0, q=1, direction=REMOVE, symmetric=False):
    """Laplace of scale 1, a record moving the location by e0, Poisson-sampled at rate q.

    symmetric (replace-one): the pair is ((1−q)Lap(0)+qLap(e0), (1−q)Lap(0)+qLap(−e0)) when q < 1.
    For q = 1 the distance of the two locations is all that counts.
    """
    e0, q = exact(e0), exact(q)
    def mix(mean):
        def log_density(x):
            a, b = -abs(x), -abs(x - mean)
            if q == 1:
                return b - mp.log(2)
            top = max(a, b)
            return top - mp.log(2) + mp.log((1 - q) * mp.exp(a - top) + q * mp.exp(b - top))
        return log_density
    plain = lambda x: -abs(x) - mp.log(2)
    def mass(mean, below, edge):
        # The Laplace tail beyond an edge outside all locations, mixed.
        tail = lambda m: mp.exp((edge - m) if below else (m - edge)) / 2
        return (1 - q) * tail(0) + q * tail(mean)
    if symmetric:
        lo, hi, breaks = -e0, e0, (-e0, mpf(0), e0)
        p, w = (mix(e0), e0), (mix(-e0), -e0)
    else:
        lo, hi, breaks = mpf(0), e0, (mpf(0), e0)
        p, w = (mix(e0), e0), (plain, None)
    def tails(which, below, edge):
        return mass(which[1], below, edge) if which[1] is not None else mp.exp(edge if below else -edge) / 2
    if direction == ADD:
        p, w = w, p
    return Pieces(p[0], w[0], breaks, (tails(p, True, lo), tails(w, True, lo)), (tails(p, False, hi), tails(w, False, hi)),
                  e0 if q == 1 else None)


def response_atoms(epsilon, buckets=2):
    """k-ary randomized response: the true value has e^ε times the probability of each other; two true values compared."""
    e, k = mp.exp(exact(epsilon)), int(buckets)
    total = e + k - 1
    rows = [(e / total, 1 / total), (1 / total, e / total)]
    if k > 2:
        rows.append(((k - 2) / total, (k - 2) / total))
    return Atoms(rows)


def approximate_atoms(epsilon, delta):
    """The pair that dominates (ε,δ)-DP (Kairouz, Oh, Viswanath 2015): δ apart, else binary randomized response."""
    d = exact(delta)
    rows = [((1 - d) * p, (1 - d) * q) for p, q in response_atoms(epsilon).rows]
    return Atoms([(d, mpf(0))] + rows + [(mpf(0), d)] if d else rows)


def sampled_atoms(inner, q, direction):
    """Poisson sampling of a finite pair: remove ((1−q)Q + qP, Q), add (P, (1−q)P + qQ) (Zhu, Dong, Wang 2022, Thm 11)."""
    q = exact(q)
    if direction == REMOVE:
        return Atoms([((1 - q) * w + q * p, w) for p, w in inner.rows])
    return Atoms([(p, (1 - q) * p + q * w) for p, w in inner.rows])


def revealed_atoms(inner, q):
    """A finite pair with probability q, and otherwise an output that tells that the record was not sampled."""
    q = exact(q)
    return Atoms([(q * p, q * w) for p, w in inner.rows] + [(1 - q, 1 - q)])
