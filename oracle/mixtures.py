# SPDX-License-Identifier: Apache-2.0
"""Mixtures of normals against one normal, or against their mirror image: K(s) and δ(ε) from the definition.

A pair is (P, Q), each a list of (mean, weight) of unit normals.
"""

import math
from itertools import product

from mpmath import mp, mpc, mpf

from .mechanisms import kind
from .number import Inexact, exact
from .pairs import ADD, ADD_OR_REMOVE, REMOVE, REPLACE


def convolved(parts, k):
    """Sums of k independent draws of (value, weight)."""
    out = {mpf(0): mpf(1)}
    for _ in range(k):
        more = {}
        for (a, p), (b, q) in product(out.items(), parts):
            more[a + b] = more.get(a + b, 0) + p * q
        out = more
    return sorted(out.items())


def members(mechanism):
    """What one record, or a group, adds to the sum in units of the noise: (value, weight)."""
    name, f = kind(mechanism)
    if name == "mixtureOfGaussians":
        total = mp.fsum(map(exact, f["probabilities"]))
        return [(exact(c) / exact(f["standardDeviation"]), exact(p) / total) for c, p in zip(f["sensitivities"], f["probabilities"])]
    if name == "gaussian":
        sigma = exact(f["noiseMultiplier"]) if "noiseMultiplier" in f else exact(f["standardDeviation"]) / exact(f["sensitivity"])
        return [(1 / sigma, mpf(1))]
    if name == "poissonSampled":
        q = exact(f["samplingProbability"])
        return [(mpf(0), 1 - q)] + [(v, q * p) for v, p in members(f["mechanism"])]
    if name == "group":  # its members are drawn independently
        return convolved(members(f["mechanism"]), f["size"])
    raise ValueError(name)


def pair_of(mechanism, adjacency, direction):
    parts = members(mechanism)
    other = [(-v, p) for v, p in parts] if adjacency == REPLACE else [(mpf(0), mpf(1))]
    return (parts, other) if direction == REMOVE else (other, parts)


def directions(adjacency):
    return (REMOVE,) if adjacency == REPLACE else (REMOVE, ADD)


def density(parts, x):
    """Σ p e^{−(x−m)²/2}, without 1/√(2π)."""
    return mp.fsum(p * mp.exp(-(x - m) ** 2 / 2) for m, p in parts)


def cumulants(pair, points, digits=31):
    """ln ∫ P^{1+s} Q^{−s} at each s by the trapezoid rule, with two steps that must agree; as many more digits as K lacks of 1."""
    p, q = pair
    reach = max(abs(m) for m, _ in p + q)
    most = max(abs(mpf(s[0])) for s in points)
    with mp.workdps(digits + 100):
        end = reach * (2 + most) + mp.sqrt(2 * (digits + 60) * mp.log(10))
        values = []
        for h in (mpf(1) / 24, mpf(1) / 32):
            n = int(end / h)
            rows = []
            for j in range(-n, n + 1):
                lp, lq = mp.log(density(p, h * j)), mp.log(density(q, h * j))
                rows.append((lp, lp - lq))
            values.append([mp.log(mp.fsum(mp.exp(lp + mpc(*s) * l) for lp, l in rows) * h / mp.sqrt(2 * mp.pi)) for s in points])
        for a, b in zip(*values):
            turns = mp.nint((a - b).imag / (2 * mp.pi))
            if abs(a - b - 2j * mp.pi * turns) > abs(b) * mpf(10) ** -(digits + 1):
                raise Inexact(f"K did not settle: {a} and {b}")
        return [v.real if s[1] == 0 else v for v, s in zip(values[1], points)]


def curve(pair, epsilon):
    """∫ (P − e^ε Q)₊: between the sign changes of P − e^ε Q, found on a fine grid, roughly, and then by bisection."""
    p, q = pair
    scale = mp.exp(epsilon)
    gap = lambda x: density(p, x) - scale * density(q, x)
    net = [(float(m), float(w)) for m, w in p] + [(float(m), -float(scale * w)) for m, w in q]
    rough = lambda x: math.fsum(w * math.exp(-(x - m) ** 2 / 2) for m, w in net)
    reach = int(max(abs(m) for m, _ in p + q) + mp.sqrt(2 * mp.dps * mp.log(10))) + 2
    step = mpf(1) / 32
    marks, before = [-mp.inf], rough(-reach)
    first = before > 0
    for j in range(1, 64 * reach + 1):
        x = -reach + step * j
        after = rough(float(x))
        if (after > 0) != (before > 0):
            lo, hi = x - step, x
            for _ in range(mp.prec + 10):
                mid = (lo + hi) / 2
                if (gap(mid) > 0) == (before > 0):
                    lo = mid
                else:
                    hi = mid
            marks.append(lo)
        before = after
    marks.append(mp.inf)
    mass = lambda parts, a, b: mp.fsum(w * (mp.erfc((a - m) / mp.sqrt(2)) - mp.erfc((b - m) / mp.sqrt(2))) / 2 for m, w in parts)
    total = mp.fsum(mass(p, a, b) - scale * mass(q, a, b) for i, (a, b) in enumerate(zip(marks, marks[1:])) if (i % 2 == 0) == first)
    if total and total < mpf(10) ** (26 - mp.dps) * scale:
        raise Inexact("too little is left of the difference")
    return total


def twice(pair, epsilon):
    """δ of two releases, E_{x~P}[δ(ε − L(x))], in binary64 by the trapezoid rule; L is monotone. Some six digits."""
    p, q = ([(float(m), float(w)) for m, w in side] for side in pair)
    log = lambda parts, x: math.log(math.fsum(w * math.exp(m * (x - m / 2)) for m, w in parts))
    loss = lambda x: log(p, x) - log(q, x)
    rising = loss(1.0) > loss(-1.0)
    def one(e):
        lo, hi = (-40.0, 40.0) if rising else (40.0, -40.0)
        for _ in range(60):  # loss(lo) ≤ e < loss(hi), or an end
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if loss(mid) <= e else (lo, mid)
        side = 1 if rising else -1
        mass = lambda parts: math.fsum(w * math.erfc(side * (lo - m) / math.sqrt(2)) / 2 for m, w in parts)
        return mass(p) - math.exp(e) * mass(q)
    step, total = 1 / 128, 0.0
    for j in range(-12 * 128, 12 * 128 + 1):
        x = j * step
        a = math.fsum(w * math.exp(-(x - m) ** 2 / 2) for m, w in p)
        if a > 1e-20:
            total += a * one(float(epsilon) - loss(x))
    return mpf(total * step / math.sqrt(2 * math.pi))


def absolute_moment(shift, j):
    """E_Q|P/Q − 1|^j of (N(shift, 1), N(0, 1)): two tails of binomial sums, split where the loss is 0."""
    with mp.extradps(40 + int(j * max(1, -mp.log10(shift)))):
        middle = mpf(shift) / 2
        upper = lambda z: mp.erfc(z / mp.sqrt(2)) / 2
        total = mpf(0)
        for i in range(j + 1):
            sign = mp.binomial(j, i) * mp.exp(mpf(i * i - i) * shift ** 2 / 2)
            right = upper(middle - i * shift)
            total += sign * ((-1) ** (j - i) * right + (-1) ** i * (1 - right))
        return total
