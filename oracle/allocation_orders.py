# SPDX-License-Identifier: Apache-2.0
"""Rényi divergences of random allocation: ln E_Q[S^{1+s}] towards REMOVE and ln E_Q[S^{−s}] towards ADD, from the definition.

S is the mean of the products of the Y of all subsets of `selected` of `steps` steps. Moments of one Y are closed forms; of a
mean of independent ones, whole orders by the binomial theorem in exact order of steps, others by E[S^{−s}] = ∫ λ^{s−1}
E[e^{−λS}] dλ / Γ(s) or, of two Gaussian steps, by the one coordinate in which they differ.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations, product
from math import comb

import numpy as np
from mpmath import mp, mpf

from .allocation import ALPHA
from .number import agree


class Gaussian:
    def __init__(self, mu):
        self.mu = mpf(mu)

    def moment(self, p):
        """E_Q[Y^p] for real p."""
        return mp.exp(self.mu ** 2 * p * (p - 1) / 2)

    @lru_cache(maxsize=None)
    def nodes(self, count, tilt):
        """Values and weights of Y for smooth functions of ln Y that are as large as Y^−tilt: the trapezoid rule, 15 standard deviations to either side."""
        h = min(mpf(30), 32 / self.mu) / count  # e^{−λY} is analytic in ln Y up to iπ/2
        return [(mp.exp(self.mu * x - self.mu ** 2 / 2), h * mp.npdf(x)) for x in (15 - h * i for i in range(int((30 + self.mu * tilt) / h) + 1))]

    def draw(self, rng, shape):
        return np.exp(float(self.mu) * rng.standard_normal(shape) - float(self.mu) ** 2 / 2)


class Laplace:
    def __init__(self, scale):
        self.e0 = 1 / mpf(scale)

    def moment(self, p):
        e = self.e0
        c = (2 * p - 1) * e
        between = e / 2 * (mp.expm1(c) / c if c else 1) * mp.exp(-p * e)  # ∫₀¹ e^{p(2u−1)e − ue} du·e/2
        return mp.exp(-p * e) / 2 + mp.exp(p * e - e) / 2 + between

    @lru_cache(maxsize=None)
    def nodes(self, count, _):
        e = self.e0
        rows = [(mp.exp(-e), mpf(1) / 2), (mp.exp(e), mp.exp(-e) / 2)]
        pieces = max(1, count // 20)
        for k in range(pieces):
            for x, w in gauss(40):
                u = (k + (x + 1) / 2) / pieces
                rows.append((mp.exp((2 * u - 1) * e), w / 2 / pieces * e / 2 * mp.exp(-u * e)))
        return rows

    def draw(self, rng, shape):
        e, x = float(self.e0), rng.laplace(size=shape)
        return np.exp(np.clip(2 * x - e, -e, e))


@lru_cache(maxsize=None)
def gauss(n):
    """Nodes and weights of Gauss and Legendre on [−1, 1], by Newton's method."""
    rows = []
    for i in range(n):
        x = mp.cos(mp.pi * (i + mpf(3) / 4) / (n + mpf(1) / 2))
        for _ in range(12):
            p, before = x, mpf(1)
            for k in range(2, n + 1):
                p, before = ((2 * k - 1) * x * p - (k - 1) * before) / k, p
            slope = n * (x * p - before) / (x * x - 1)
            x -= p / slope
        rows.append((x, 2 / ((1 - x * x) * slope * slope)))
    return rows


def whole(noise, steps, order):
    """E[S^order] of one of `steps`: order!·[z^order] (Σ E[Y^j] z^j/j!)^steps / steps^order, by the recurrence of a power."""
    a = [noise.moment(j) / mp.factorial(j) for j in range(order + 1)]
    c = [mpf(1)]
    for n in range(1, order + 1):
        c.append(mp.fsum((k * steps - n + k) * a[k] * c[n - k] for k in range(1, n + 1)) / n)
    return c[order] * mp.factorial(order) / mpf(steps) ** order


def subsets(noise, steps, selected, order):
    """E[S^order] of `selected` of few steps, by all choices of `order` subsets; the first one may be any."""
    every = list(combinations(range(steps), selected))
    counts = Counter()
    for rest in product(every, repeat=order - 1):
        counts[tuple(sorted(Counter(every[0] + sum(rest, ())).values()))] += 1
    return mp.fsum(n * mp.fprod(noise.moment(c) for c in shape) for shape, n in counts.items()) / mpf(len(every)) ** (order - 1)


def inverse(noise, steps, s, count):
    """E[S^{−s}] of one of `steps`, by the trapezoid rule in ln λ."""
    rows, h = noise.nodes(count, s / steps), mpf(1) / 8 / mp.sqrt(1 + s / 4)
    total = mpf(0)
    for i in range(-int(65 / (s * h)) - 1, int(100 / h)):
        x = h * i
        scaled = mp.exp(x) / steps
        term = mp.exp(s * x) * mp.fsum(w * mp.exp(-scaled * y) for y, w in rows) ** steps
        total += term
        if x > 0 and term < total * mpf(10) ** -28:
            break
    return total * h / mp.gamma(s)


def two(noise, p):
    """E[S^p] of two Gaussian steps: S = e^{μu/√2 − μ²/2}·cosh(μv/√2) with independent normal u and v."""
    mu = noise.mu
    reach = 13 + abs(p) * mu
    h = mpf(1) / 40
    by_v = h * mp.fsum(mp.npdf(v) * mp.cosh(mu * v / mp.sqrt(2)) ** p for v in (h * i for i in range(-int(reach / h), int(reach / h) + 1)))
    return mp.exp(-p * mu ** 2 / 2 + p ** 2 * mu ** 2 / 4) * by_v


def sampled(noise, steps, selected, s, samples, seed, most=50.0):
    """A lower confidence bound on E[S^{−s}]: terms are cut at `most`, which only lowers the mean (Maurer and Pontil 2009, Thm 4)."""
    rng = np.random.Generator(np.random.PCG64(seed))
    y = noise.draw(rng, (samples, steps))
    polynomial = np.zeros((selected + 1, samples))  # elementary symmetric functions of Y
    polynomial[0] = 1
    for i in range(steps):
        for k in range(selected, 0, -1):
            polynomial[k] += y[:, i] * polynomial[k - 1]
    values = np.minimum((polynomial[selected] / comb(steps, selected)) ** -float(s), most)
    log = np.log(2 / ALPHA)
    return float(np.mean(values) - np.sqrt(2 * np.var(values, ddof=1) * log / samples) - 7 * most * log / (3 * (samples - 1)))


def divergences(noise, steps, selected, alpha, seed):
    """(REMOVE, ADD) of the order alpha, each with whether it is exact; a lower bound where it is not, None where nothing is known."""
    s = mpf(alpha) - 1
    up = down = None
    if selected == steps:
        return (selected * mp.log(noise.moment(1 + s)) / s, True), (selected * mp.log(noise.moment(-s)) / s, True)
    if selected > 1:
        if s == int(s) and comb(steps, selected) ** int(s) <= 300_000:
            up = subsets(noise, steps, selected, int(alpha)), True
        down = sampled(noise, steps, selected, s, 200_000, seed), False
    else:
        if s == int(s):
            up = whole(noise, steps, int(alpha)), True
            if comb(steps, selected) ** int(s) <= 20_000:
                agree(up[0], subsets(noise, steps, 1, int(alpha)), 30, "whole order")
        elif steps == 2 and isinstance(noise, Gaussian):
            up = two(noise, 1 + s), True
        if isinstance(noise, Laplace) or s * noise.mu < 20 * steps:  # more takes too many nodes
            down = inverse(noise, steps, s, 160), True
            if steps in (2, 1000) and s < 10:
                agree(down[0], inverse(noise, steps, s, 240), 16, f"E[S^-{s}] of {steps}")
        if steps == 2 and isinstance(noise, Gaussian):
            exact = two(noise, -s)
            down = agree(down[0], exact, 16, "two steps") if down else exact, True
    return tuple((mp.log(v[0]) / s, v[1]) if v is not None and v[0] > 0 else None for v in (up, down))
