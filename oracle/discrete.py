# SPDX-License-Identifier: Apache-2.0
"""Noise on whole numbers and cut-off noise, from their definitions: probabilities one by one, sums of n by exact integers."""

import bisect

from mpmath import mp, mpf

from .number import exact

BITS = 420  # of a probability's fixed point


def gaussian_masses(sigma, far):
    """e^{−x²/2σ²}/Z for |x| ≤ far, as a dict."""
    sigma = exact(sigma)
    weights = {x: mp.exp(-mpf(x * x) / (2 * sigma * sigma)) for x in range(-far, far + 1)}
    total = mp.fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


def gaussian_reach(sigma, digits):
    """Beyond it the probabilities are below 10^−digits."""
    return int(mp.ceil(exact(sigma) * mp.sqrt(2 * digits * mp.log(10)))) + 2


def laplace_outcomes(scale, d):
    """(P, L) of e^{−|x−d|/b} against e^{−|x|/b}, what lies beyond both centres summed up."""
    b = exact(scale)
    r = mp.exp(-1 / b)
    one = lambda x: (1 - r) / (1 + r) * mp.exp(-abs(mpf(x)) / b)
    rows = [(mp.exp(-mpf(d) / b) / (1 + r), -mpf(d) / b)]  # x ≤ 0
    rows += [(one(x - d), (mpf(x) - (d - x)) / b) for x in range(1, d)]
    rows.append((1 / (1 + r), mpf(d) / b))  # x ≥ d
    return rows


def power(masses, n):
    """The distribution of the sum of n independent whole numbers ≥ 0 with probabilities masses: polynomials packed into integers."""
    unit = mpf(2) ** BITS
    fixed = [int(mp.nint(m * unit)) for m in masses]
    # Slots of twice the width hold a product's coefficients without carries.
    slot = 2 * BITS + 80

    def multiply(a, b):
        z = _pack(a, slot) * _pack(b, slot)
        raw = z.to_bytes((z.bit_length() + 7) // 8 + 1, "little")
        size = slot // 8
        return [int.from_bytes(raw[i * size:(i + 1) * size], "little") >> BITS for i in range(len(a) + len(b) - 1)]

    result, base = [1 << BITS], fixed
    while n:
        if n & 1:
            result = multiply(result, base)
        base, n = multiply(base, base) if n > 1 else base, n >> 1
    return [mpf(v) / unit for v in result]


def _pack(values, slot):
    size = slot // 8
    return int.from_bytes(b"".join(v.to_bytes(size, "little") for v in values), "little")


class Curve:
    """δ(ε) of outcomes (P, L) by sums over those above ε, kept for every ε; digits are lost as 1/δ grows."""

    def __init__(self, rows):
        self.rows = sorted((r for r in rows if r[0] > mpf(10) ** -100), key=lambda r: r[1])
        self.losses = [l for _, l in self.rows]
        self.above = [(mpf(0), mpf(0))]
        for p, l in reversed(self.rows):
            a, b = self.above[-1]
            self.above.append((a + p, b + p * mp.exp(-l)))

    def delta(self, epsilon):
        p, q = self.above[len(self.rows) - bisect.bisect_right(self.losses, epsilon)]
        return p - mp.exp(epsilon) * q


def delta_of(rows, epsilon):
    """Σ P(1 − e^{ε−L})₊."""
    return mp.fsum(p * -mp.expm1(epsilon - l) for p, l in rows if l > epsilon)


def truncated_terms(scale, bound, d):
    """Noise ∝ e^{−|x|/λ} on [−τ, τ] at a distance d: P(L = ∞), and break points with both densities on the overlap."""
    lam, tau, d = exact(scale), exact(bound), exact(d)
    total = 2 * lam * (-mp.expm1(-tau / lam))
    noise = lambda x: mp.exp(-abs(x) / lam) / total
    breaks = sorted({d - tau, mpf(0), d, tau} & {x for x in (d - tau, mpf(0), d, tau) if d - tau <= x <= tau})
    infinite = mp.quad(lambda x: noise(x - d), sorted({tau, max(tau, d), d + tau}), method="gauss-legendre")
    return infinite, breaks, (lambda x: noise(x - d)), noise


def worst_of_range(eta, value, least=0):
    """The largest value(rows) over randomized response with the losses t and t − η, least < t < η: the extremes of losses in a range of width η."""
    eta = exact(eta)

    def rows(t):
        # P-probabilities p, 1 − p with p·e^{−t} + (1 − p)·e^{η−t} = 1.
        p = mp.expm1(eta - t) / (mp.exp(eta - t) - mp.exp(-t))
        return [(p, t), (1 - p, t - eta)]

    golden = (mp.sqrt(5) - 1) / 2
    lo, hi = mpf(least), eta
    a, b = hi - golden * (hi - lo), lo + golden * (hi - lo)
    fa, fb = value(rows(a)), value(rows(b))
    for _ in range(140):
        if fa < fb:
            lo, a, fa = a, b, fb
            b = lo + golden * (hi - lo)
            fb = value(rows(b))
        else:
            hi, b, fb = b, a, fa
            a = hi - golden * (hi - lo)
            fa = value(rows(a))
    return max(fa, fb)
