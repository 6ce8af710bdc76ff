# SPDX-License-Identifier: Apache-2.0
"""internal/gdp/testdata: the exact Gaussian curve and its inverse."""

from functools import partial

from mpmath import mp

from .normal import gaussian_epsilon, gaussian_log_delta, log_cdf
from .number import exact, text
from .writing import File

MUS = [1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0, 1.7, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0]
EPSILONS = [0.0, 1e-8, 1e-4, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 100.0, 700.0, 800.0, 5e3, 1e5, 1e6]
NEGATIVE = [-1e-3, -0.1, -1.0, -5.0, -40.0]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-50, 1e-30, 1e-20, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999]

ABOUT = ("delta(epsilon) of N(mu,1) against N(0,1). deltaOfEpsilon: ln delta at epsilon (of any sign), and logOneMinusDelta = ln(1 - delta). "
         "epsilonOfDelta: the least epsilon >= 0 with delta(epsilon) <= delta (0 when delta(0) <= delta). "
         "epsilonOfLogDelta: the same for delta given by its logarithm. Inputs are binary64, taken exactly; 30 digits.")


def log_complement(mu, epsilon):
    """ln(1 − δ(ε)): 1 − δ_P(ε) = e^ε Φ(−μ/2 − ε/μ) + Φ(ε/μ − μ/2), two positive terms."""
    a = log_cdf(epsilon / mu - mu / 2)
    b = epsilon + log_cdf(-mu / 2 - epsilon / mu)
    return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def curve_row(mu, epsilon):
    x, e = exact(mu), exact(epsilon)
    return {"mu": mu, "epsilon": epsilon, "logDelta": text(gaussian_log_delta(x, e)), "logOneMinusDelta": text(log_complement(x, e))}


def inverse_row(mu, delta):
    return {"mu": mu, "delta": delta, "epsilon": text(gaussian_epsilon(exact(mu), mp.log(exact(delta))))}


def far_row(mu, log_delta):
    return {"mu": mu, "logDelta": log_delta, "epsilon": text(gaussian_epsilon(exact(mu), exact(log_delta)))}


def tables():
    return {"deltaOfEpsilon": [partial(curve_row, mu, epsilon) for mu in MUS for epsilon in EPSILONS + NEGATIVE],
            "epsilonOfDelta": [partial(inverse_row, mu, delta) for mu in MUS for delta in DELTAS],
            "epsilonOfLogDelta": [partial(far_row, mu, x) for mu in [0.1, 1.0, 10.0] for x in [-1e3, -1e4, -1e6, -1e9, -1e-3, -1e-6, -1e-9]]}


FILES = {"gdp/testdata/gaussian.json": lambda: File(ABOUT, 60, tables())}
