# SPDX-License-Identifier: Apache-2.0
"""δ(ε) straight from the definition: one mechanism, or two of them, on the line."""

from mpmath import mp, mpf

from .number import Inexact, root


def threshold(shift, q, epsilon):
    """x with ln[(1−q) + q e^u] = ε, u = shift·x − shift²/2; −∞ if the loss exceeds ε everywhere."""
    r = (mp.exp(epsilon) - 1 + q) / q
    return (mp.log(r) + shift * shift / 2) / shift if r > 0 else -mp.inf


def sampled_gaussian_remove(shift, q, epsilon):
    """P(L > ε) − e^ε Q(L > ε), P = (1−q)N(0,1) + qN(shift,1), Q = N(0,1)."""
    with mp.extradps(30):
        x = threshold(shift, q, epsilon)
        if x == -mp.inf:
            return -mp.expm1(epsilon)
        upper = lambda z: mp.erfc(z / mp.sqrt(2)) / 2
        return q * upper(x - shift) - (mp.expm1(epsilon) + q) * upper(x)


def sampled_gaussian_add(shift, q, epsilon):
    """P = N(0,1), Q the mixture: L = −ln r > ε where r < e^{−ε}, left of the threshold for −ε."""
    with mp.extradps(30):
        x = threshold(shift, q, -epsilon)
        if x == -mp.inf:
            return mpf(0)
        lower = lambda z: mp.erfc(-z / mp.sqrt(2)) / 2
        return lower(x) * (1 - mp.exp(epsilon) * (1 - q)) - mp.exp(epsilon) * q * lower(x - shift)


def sampled_gaussian_replace(shift, q, epsilon):
    """P, Q mixtures to either side: L rises with x; the threshold by search."""
    with mp.extradps(30):
        log_r = lambda x, m: mp.log((1 - q) + q * mp.exp(m * x - m * m / 2))
        loss = lambda x: log_r(x, shift) - log_r(x, -shift)
        far = mpf(8)
        while loss(far) < abs(epsilon):
            far *= 2
            if far > mpf(10) ** 12:
                raise Inexact("loss does not reach ε")
        x = root(lambda v: loss(v) - epsilon, -far, far, mp.dps - 12) if epsilon else mpf(0)
        upper = lambda z: mp.erfc(z / mp.sqrt(2)) / 2
        p = (1 - q) * upper(x) + q * upper(x - shift)
        w = (1 - q) * upper(x) + q * upper(x + shift)
        return p - mp.exp(epsilon) * w


def two_sampled_gaussians_remove(first, second, epsilon, digits):
    """Two subsampled Gaussians (shift, q) composed: δ(ε) = E_{x ~ P1}[δ2(ε − L1(x))], the trapezoid rule in x.

    δ2 is smooth but not analytic where ε − L1 meets ln(1−q2): the step is halved until two sums agree.
    """
    shift, q = first
    def term(x):
        r = mp.log((1 - q) + q * mp.exp(shift * x - shift * shift / 2))
        return mp.npdf(x) * mp.exp(r) * sampled_gaussian_remove(second[0], second[1], epsilon - r)
    lo = -mp.sqrt(2 * (digits + 12) * mp.log(10)) - 1
    hi = -lo + shift
    step = mpf(1) / 8
    total = step * mp.fsum(term(lo + step * j) for j in range(int((hi - lo) / step) + 1))
    for _ in range(12):
        n = int((hi - lo) / step) + 1
        odd = step * mp.fsum(term(lo + step * j + step / 2) for j in range(n))
        finer = (total + odd) / 2
        if abs(finer - total) < abs(finer) * mpf(10) ** -digits:
            return finer
        total, step = finer, step / 2
    raise Inexact("convolution does not settle")
