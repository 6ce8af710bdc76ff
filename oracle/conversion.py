# SPDX-License-Identifier: Apache-2.0
"""From Rényi divergences to (ε, δ): Canonne, Kamath, Steinke 2020, Prop. 12, minimised over real orders.

With s = α − 1 and K the cumulant, the bound is
    ε(s) = [K(s) − ln δ − ln(1+s)]/s + ln(s/(1+s)),   ln δ(s) = K(s) − sε + s·ln s − (1+s)·ln(1+s).
The first has a single stationary point, sK'(s) − K(s) + ln δ + ln(1+s) = 0 (increasing in s by convexity of K);
the second is convex, K'(s) − ε + ln(s/(1+s)) = 0.
"""

from mpmath import mp, mpf

from .number import Inexact, root

STEER = 16  # digits of the order: the bound is flat there, so its value has twice as many


def epsilon_at(k, s, log_delta):
    """ε(s) for the value k = K(s)."""
    return (k - log_delta - mp.log1p(s)) / s + mp.log(s / (1 + s))


def log_delta_at(k, s, epsilon):
    """ln δ(s) for the value k = K(s)."""
    return k - s * epsilon + s * mp.log(s) - (1 + s) * mp.log1p(s)


def _bracket(f, start, limit):
    """[lo, hi] in (0, limit) around the sign change of an increasing f, by growing factors."""
    lo = hi = mpf(start)
    factor = mpf(4)
    if f(lo) > 0:
        while f(lo) > 0:
            hi, lo = lo, lo / factor
            factor = factor ** mpf(1.25)
            if lo < mpf(10) ** -10 ** 7:
                raise Inexact("no order: the bound falls towards α = 1")
    else:
        while f(hi) <= 0:
            lo, hi = hi, hi * factor
            factor = factor ** mpf(1.25)
            if hi > limit:
                raise Inexact("no order: the bound falls towards α = ∞")
    return lo, hi


def best_epsilon(slope, value, log_delta, start=1, limit=mpf(10) ** 1200, steer=STEER):
    """(ε, s = α − 1): the infimum over real α > 1, which may be negative. slope(s) = (K, K') roughly, value(s) = K exactly."""
    def f(s):
        k, dk = slope(s)
        return s * dk - k + log_delta + mp.log1p(s)
    s = root(f, *_bracket(f, start, limit), steer)
    return epsilon_at(value(s), s, log_delta), s


def best_log_delta(slope, value, epsilon, start=1, limit=mpf(10) ** 1200, steer=STEER):
    """(ln δ, s = α − 1): the infimum over real α > 1."""
    def f(s):
        return slope(s)[1] - epsilon + mp.log(s / (1 + s))
    s = root(f, *_bracket(f, start, limit), steer)
    return log_delta_at(value(s), s, epsilon), s


def concentrated(rho):
    """(slope, value) of ρ-zCDP: K(s) = ρ s (1+s)."""
    return (lambda s: (rho * s * (1 + s), rho * (1 + 2 * s))), (lambda s: rho * s * (1 + s))
