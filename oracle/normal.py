# SPDX-License-Identifier: Apache-2.0
"""ln of the normal distribution function and the exact Gaussian privacy curve."""

from mpmath import mp, mpf

from .number import Inexact, root


def log_cdf(x):
    """ln Φ(x), relative precision of the logarithm kept on both sides.

    Left: by erfc. Right: ln(1 − Φ(−x)) by log1p.
    """
    x = mpf(x)
    with mp.extradps(15):
        if x < 0:
            return +mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
        return +mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)


def log_cdf_by_quadrature(x):
    """ln Φ(x) from the density: ∫₀^∞ φ(x − v) dv = φ(x) ∫₀^∞ e^{xv − v²/2} dv; a check of log_cdf for x ≤ 0."""
    x = mpf(x)
    scale = max(mpf(1), -x)
    f = lambda w: mp.exp((x * w) / scale - (w / scale) ** 2 / 2)
    span = mpf(4)
    points = [span * j for j in range(int(mp.dps) * 3)]
    area = mp.quad(f, points) / scale
    return -x * x / 2 - mp.log(2 * mp.pi) / 2 + mp.log(area)


def quantile_from_log(logp):
    """x with ln Φ(x) = logp < 0."""
    logp = mpf(logp)
    if logp < -mp.log(2):
        lo, hi = -mp.sqrt(-2 * logp) - 1, mpf(0)
    else:
        lo, hi = mpf(0), mp.sqrt(-2 * mp.log(-logp / 2) if logp < -mpf(10) ** -3 else -2 * mp.log(-logp)) + 2
    return root(lambda x: log_cdf(x) - logp, lo, hi, mp.dps - 10)


def gaussian_log_delta(mu, epsilon):
    """ln δ(ε) of N(μ,1) against N(0,1): P(L > ε) − e^ε Q(L > ε) with L = μx − μ²/2, so x > ε/μ + μ/2.

    Precision is raised until the difference keeps the working digits.
    """
    mu, epsilon = mpf(mu), mpf(epsilon)
    extra = 40
    while True:
        with mp.extraprec(extra):
            a = log_cdf(mu / 2 - epsilon / mu)
            b = epsilon + log_cdf(-mu / 2 - epsilon / mu)
            # a and b are both large in size when δ is tiny: the digits before the point are lost too.
            lost = (int(mp.mag(a)) if a else 0) - (int(mp.mag(a - b)) if a != b else -mp.prec)
            value = a + mp.log(-mp.expm1(b - a)) if a > b else None
        if value is not None and extra > max(0, lost) + 20:
            return +value
        extra = max(2 * extra, lost + 60)
        if extra > 40000:
            raise Inexact(f"Gaussian curve: mu={mu}, epsilon={epsilon}")


def gaussian_log_delta_by_quadrature(mu, epsilon):
    """The same from the definition, ∫ (p − e^ε q)₊ dx; a check for moderate arguments."""
    mu, epsilon = mpf(mu), mpf(epsilon)
    edge = epsilon / mu + mu / 2
    scale = 1 / (1 + abs(edge - mu))
    # Divided by its size at the edge: the quadrature judges its error absolutely.
    f = lambda w: mp.exp(-(edge - mu) * w * scale - (w * scale) ** 2 / 2) * -mp.expm1(-mu * w * scale)
    reach = abs(edge - mu) + mp.sqrt(5 * mp.dps)
    points = [mpf(0)]
    while points[-1] * scale < reach + abs(edge) and len(points) < 400 and points[-1] < 4 * mp.dps:
        points.append(points[-1] + 2)
    return mp.log(scale * mp.quad(f, points)) + mp.log(mp.npdf(edge, mu, 1))


def gaussian_epsilon(mu, log_delta):
    """The least ε ≥ 0 with δ(ε) ≤ δ."""
    mu, log_delta = mpf(mu), mpf(log_delta)
    at_zero = gaussian_log_delta(mu, 0)
    if at_zero <= log_delta:
        return mpf(0)
    hi = mu * mu / 2 + mu * mp.sqrt(-2 * log_delta) + mu
    while gaussian_log_delta(mu, hi) > log_delta:
        hi *= 2
    return root(lambda e: log_delta - gaussian_log_delta(mu, e), mpf(0), hi, mp.dps - 12)
