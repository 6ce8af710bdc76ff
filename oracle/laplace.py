# SPDX-License-Identifier: Apache-2.0
"""Exact curves of compositions of Laplace mechanisms and finite losses, by residues.

M(s) = E_P[e^{sL}] of one Laplace mechanism is [(s+1)e^{s·e0} + s·e^{−(s+1)e0}]/(2s+1): two exponentials with rational
factors. A composition's M is therefore a sum of terms c·s^a (s+1)^b (2s+1)^{−n} e^{sl}, and
    δ(ε) = (1/2πi) ∫ M(s) e^{−sε}/(s(s+1)) ds  over Re s = θ > 0
is the sum over terms with l > ε of the residues at 0, −1 and −1/2; terms with l < ε give nothing.
The residues at −1/2 cancel heavily: the working precision is raised until two precisions agree.
"""

from math import comb

from mpmath import mp, mpf

from .number import agree, exact


def curve(laplaces, rows, infinite, epsilon, digits=32):
    """δ(ε). laplaces: (Δ/b, n); rows: (loss, P mass) of everything finite; infinite: mass at +∞."""
    previous = None
    dps = 60 + sum(n for _, n in laplaces)
    while True:
        with mp.workdps(dps):
            value = _curve(laplaces, rows() if callable(rows) else rows, exact(epsilon))
            value = infinite + (1 - infinite) * value
        if previous is not None and abs(value - previous) <= abs(value) * mpf(10) ** -digits:
            return value
        previous, dps = value, int(dps * 1.4)
        if dps > 6000:
            return agree(previous, mpf(0), digits, "Laplace residues")


def _curve(laplaces, rows, epsilon):
    order = sum(n for _, n in laplaces)
    # (shift of the exponent, power of s, power of s+1) → coefficient, all Laplace groups together
    terms = [(mpf(0), 0, 0, mpf(1))]
    for e0, n in laplaces:
        e0 = exact(e0)
        terms = [(l + e0 * (2 * j - n), a + n - j, b + j, c * comb(n, j) * mp.exp(-e0 * (n - j)))
                 for l, a, b, c in terms for j in range(n + 1)]
    total = mpf(0)
    for l, a, b, c in terms:
        factor = _HalfPole(a, b, order)
        for loss, mass in rows:
            x = l + loss - epsilon
            if x > 0:
                total += c * mass * factor.residues(x)
    return total


class _HalfPole:
    """Residues of s^{a−1}(s+1)^{b−1}(2s+1)^{−n} e^{sx} for x > 0: all poles lie at 0, −1 and −1/2."""

    def __init__(self, a, b, n):
        self.a, self.b, self.n = a, b, n
        # With s = −1/2 + v: (v − 1/2)^{a−1} (v + 1/2)^{b−1}, Taylor coefficients up to v^{n−1}.
        f = _binomial_series(mpf(-1) / 2, a - 1, n)
        g = _binomial_series(mpf(1) / 2, b - 1, n)
        self.taylor = [mp.fsum(f[i] * g[k - i] for i in range(k + 1)) for k in range(n)]

    def residues(self, x):
        total = mpf(0)
        if self.a == 0:
            total += 1  # s = 0: (0+1)^{b−1}(1)^{−n}
        if self.b == 0:
            total += mpf(-1) ** (self.a - 1) * mpf(-1) ** self.n * mp.exp(-x)
        power, series = mpf(1), mpf(0)
        for i in range(self.n):
            series += self.taylor[self.n - 1 - i] * power
            power = power * x / (i + 1)
        return total + series * mp.exp(-x / 2) / mpf(2) ** self.n


def _binomial_series(c, power, n):
    """(v + c)^power = Σ C(power, i) c^{power−i} v^i for i < n, power ≥ −1."""
    out, term = [], c ** power
    for i in range(n):
        out.append(term)
        term = term * (power - i) / ((i + 1) * c)
    return out


def by_definition(e0, epsilon):
    """δ(ε) of one Laplace mechanism: ∫ (p − e^ε q)₊ from the densities e^{−|x−e0|}/2 and e^{−|x|}/2."""
    e0, epsilon = exact(e0), exact(epsilon)
    if epsilon >= e0:
        return mpf(0)
    p = lambda x: mp.exp(-abs(x - e0)) / 2
    w = lambda x: mp.exp(-abs(x)) / 2
    # L = |x| − |x − e0| rises from −e0 (x ≤ 0) to e0 (x ≥ e0): the part beyond e0 in closed form, between by quadrature.
    total = (1 - mp.exp(epsilon - e0)) / 2
    start = (epsilon + e0) / 2 if epsilon > -e0 else mpf(0)
    total += mp.quad(lambda x: p(x) - mp.exp(epsilon) * w(x), [start, e0])
    if epsilon <= -e0:
        total += mp.exp(-e0) / 2 - mp.exp(epsilon) / 2
    return total
