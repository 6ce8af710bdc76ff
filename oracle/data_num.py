"""internal/num/testdata: logarithms of the normal distribution function and log-space arithmetic."""

import math
import random
from functools import partial

from mpmath import mp

from .normal import log_cdf, quantile_from_log
from .number import exact, log_sub, text
from .writing import File

def spread(seed, count, low, high):
    """count floats, log-uniform between low and high, fixed by the seed."""
    r = random.Random(seed)
    return [math.exp(r.uniform(math.log(low), math.log(high))) for _ in range(count)]


def log1mexp(x):
    """ln(1 − e^{−x}); for large x the logarithm of nearly 1."""
    with mp.workdps(60):
        return mp.log1p(-mp.exp(-x)) if x > 1 else mp.log(-mp.expm1(-x))


def log_add(a, b):
    with mp.workdps(400):
        return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def sub(a, b):
    with mp.workdps(400):
        return log_sub(a, b)


def choose(n, k):
    with mp.workdps(80):
        value = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1) if 0 < k < n else 0
    return {"n": n, "k": k, "value": text(value)}


def one(f, x, name="x"):
    return {name: x, "value": text(f(exact(x)))}


def two(f, a, b):
    return {"a": a, "b": b, "value": text(f(exact(a), exact(b)))}


def tables():
    out = {}
    xs = [-1e6, -1e5, -12345.678, -1e4, -1e3, -250.5, -100.0, -60.0, -40.0, -39.0, -38.6, -38.5, -38.0, -37.5, -30.0, -20.0,
          -15.0, -12.0, -10.0, -8.5, -8.0, -7.0, -6.0, -5.5, -5.0, -4.5, -4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.25, -1.0, -0.9,
          -0.75, -0.675, -0.5, -0.25, -0.1, -0.01, -1e-3, -1e-6, -1e-10, -1e-17, 0.0, 1e-300, 1e-17, 1e-10, 1e-6, 1e-3, 0.01, 0.1, 0.25, 0.5,
          0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 37.0, 38.0]
    xs += sorted([-x for x in spread(1, 60, 1e-3, 1e6)] + spread(2, 40, 1e-3, 37.0))
    xs += [38.5, 39.0, 40.0]  # the answer is subnormal or 0 in binary64
    out["logNormalCDF"] = [partial(one, log_cdf, x) for x in xs]

    logps = [-1e-300, -1e-100, -1e-30, -1e-16, -1e-10, -1e-5, -1e-3, -0.01, -0.1, -0.3, -0.5, -0.69, -0.6931471805599453, -0.7, -1.0, -2.0, -3.0,
             -5.0, -10.0, -11.512925464970229, -30.0, -100.0, -300.0, -690.7755278982137, -745.0, -1000.0, -1e4, -1e6, -1e9, -1e12]
    out["normalQuantileOfLog"] = [partial(one, quantile_from_log, p, "logp") for p in logps]

    positive = [1e-300, 1e-100, 1e-20, 1e-16, 1e-10, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.6931471805599453, 0.7, 1.0, 2.0, 5.0, 10.0, 20.0, 36.0, 37.5, 40.0,
                100.0, 500.0, 700.0, 744.0] + spread(3, 30, 1e-12, 700.0)
    out["log1mExp"] = [partial(one, log1mexp, x) for x in positive]
    signed = positive + [-x for x in positive] + [0.0]
    out["log1pExp"] = [partial(one, lambda x: mp.log1p(mp.exp(x)), x) for x in signed]
    out["expm1"] = [partial(one, mp.expm1, x) for x in signed if abs(x) < 700]
    out["logExpm1"] = [partial(one, lambda x: x + log1mexp(x), x) for x in positive]

    r = random.Random(4)
    pairs = [(0.0, 0.0), (0.0, -1.0), (-1000.0, -1001.0), (1000.0, 999.5), (-1e9, -1e9 - 3.0), (700.0, 710.0), (1e300, 1e299), (-745.0, -746.0), (0.0, -50.0),
             (-1e-9, -2e-9), (3.0, 3.0 - 2**-40), (-690.0, -690.0 - 2**-30)]
    pairs += [(a, a - b) for a, b in ((r.uniform(-2000, 2000), r.expovariate(0.2)) for _ in range(30))]
    out["logAddExp"] = [partial(two, log_add, a, b) for a, b in pairs]
    out["logSubExp"] = [partial(two, sub, a, b) for a, b in pairs if a > b]

    ns = [(1, 0), (1, 1), (10, 3), (100, 50), (1000, 1), (1000, 999), (10**5, 5), (10**5, 50000), (10**6, 123456), (10**9, 3), (10**9, 5 * 10**8), (10**9, 10**9 - 7)]
    out["logBinomial"] = [partial(choose, n, k) for n, k in ns]
    return out


ABOUT = ("30 digits; inputs are binary64, taken exactly. logNormalCDF: ln Phi(x). normalQuantileOfLog: x with ln Phi(x) = logp. "
         "log1mExp: ln(1 - e^-x), x > 0. log1pExp: ln(1 + e^x). logExpm1: ln(e^x - 1), x > 0. logAddExp, logSubExp: ln(e^a +- e^b). logBinomial: ln C(n,k).")

FILES = {"num/testdata/num.json": lambda: File(ABOUT, 50, tables())}
