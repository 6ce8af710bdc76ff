# SPDX-License-Identifier: Apache-2.0
"""Exact curves of compositions with finitely many losses: sums over counts, at any size of δ.

A curve is a list of steps: losses l_j rising, A_j = P(L ≥ l_j), B_j = Q(L ≥ l_j); then δ(ε) = A_j − e^ε B_j for
l_{j−1} ≤ ε ≤ l_j, and its inverse is ε = ln((A_j − δ)/B_j) exactly.
"""

from bisect import bisect_right

from mpmath import mp, mpf

from .number import Inexact, exact


class Steps:
    """The privacy curve of finitely many losses; the mass at +∞ is apart."""

    def __init__(self, rows, infinite=0):
        """rows: (loss, P mass) of the finite part, P masses summing to 1; Q mass = P mass · e^{−loss}."""
        rows = sorted(rows, key=lambda r: r[0])
        self.losses, self.p, self.q = [], [], []
        a = b = mpf(0)
        for loss, mass in reversed(rows):
            a += mass
            b += mass * mp.exp(-loss)
            self.losses.append(loss)
            self.p.append(a)
            self.q.append(b)
        self.losses.reverse(), self.p.reverse(), self.q.reverse()
        self.infinite = mpf(infinite)
        if abs(a - 1) > mpf(10) ** -(mp.dps - 15):
            raise Inexact(f"masses sum to 1 + {mp.nstr(a - 1, 5)}")

    def finite_delta(self, epsilon):
        j = bisect_right(self.losses, epsilon)
        return self.p[j] - mp.exp(epsilon) * self.q[j] if j < len(self.losses) else mpf(0)

    def delta(self, epsilon):
        return self.infinite + (1 - self.infinite) * self.finite_delta(epsilon)

    def epsilon(self, delta):
        """The least ε ≥ 0 with δ(ε) ≤ δ; +∞ below the infinite part."""
        if delta < self.infinite:
            return mp.inf
        rest = (delta - self.infinite) / (1 - self.infinite)
        if self.finite_delta(mpf(0)) <= rest:
            return mpf(0)
        # The first loss at which the curve is ≤ rest: δ(l_j) falls with j.
        lo, hi = 0, len(self.losses) - 1
        while lo < hi:
            mid = (lo + hi) // 2
            if self.finite_delta(self.losses[mid]) <= rest:
                hi = mid
            else:
                lo = mid + 1
        if rest == 0:
            return self.losses[lo]
        return mp.log((self.p[lo] - rest) / self.q[lo])


def binary_rows(epsilon, n):
    """(loss, P mass) of n binary randomized responses: L = (2k − n)ε0, k ~ Bin(n, p)."""
    e0 = exact(epsilon)
    p, other = 1 / (1 + mp.exp(-e0)), 1 / (1 + mp.exp(e0))
    return [((2 * k - n) * e0, mass) for k, mass in enumerate(_binomial(n, p, other))]


def _binomial(n, p, other):
    """C(n,k) p^k other^{n−k}, k = 0 … n."""
    mass = other ** n
    out = [mass]
    ratio = p / other
    for k in range(n):
        mass = mass * (n - k) * ratio / (k + 1)
        out.append(mass)
    return out


def trinomial_rows(epsilon, buckets, n):
    """(loss, P mass) of n k-ary randomized responses: net count j of +ε0 over −ε0.

    Coefficients of (c + bx + ax²)^n; those up to x^n by the power's recurrence (positive terms only),
    the others by c_{n+j} = e^{jε0} c_{n−j}.
    """
    e0, k = exact(epsilon), int(buckets)
    if k == 2:
        return binary_rows(epsilon, n)
    e = mp.exp(e0)
    total = e + k - 1
    a, b, c = e / total, (k - 2) / total, 1 / total
    low = [c ** n]
    for i in range(n):
        v = b * (n - i) * low[i]
        if i:
            v += a * (2 * n - i + 1) * low[i - 1]
        low.append(v / (c * (i + 1)))
    rows = [((i - n) * e0, v) for i, v in enumerate(low)]
    return rows + [(j * e0, low[n - j] * mp.exp(j * e0)) for j in range(1, n + 1)]


def approximate_infinite(groups):
    """1 − Π(1 − δ0)^n."""
    return -mp.expm1(sum((n * mp.log1p(-exact(d)) for d, n in groups), mpf(0)))


def product(*groups):
    """Rows of independent groups together (every combination)."""
    rows = [(mpf(0), mpf(1))]
    for g in groups:
        rows = [(l1 + l2, m1 * m2) for l1, m1 in rows for l2, m2 in g]
    return rows
