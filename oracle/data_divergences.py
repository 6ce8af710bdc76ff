# SPDX-License-Identifier: Apache-2.0
"""loss/testdata/divergences.json: what only Rényi divergences bound: zCDP on Poisson samples, and the first run above a threshold."""

from functools import partial

from mpmath import mp, mpf

from .number import exact, text
from .writing import File

ABOUT = ("sampled: K(s), s whole, of rho-zCDP on a Poisson sample: least is that of Gaussian noise with that rho, direction REMOVE, by its moments; "
         "most is the larger bound of both directions, or the unsampled K. threshold: runs until one is good, after every other one giving up with "
         "probability gamma: largest is the largest loss of runs of epsilon-DP, by search over the probability of a good run; k is K(s) of three "
         "outputs that nearly attain it, one of them good with probability rare. Inputs are binary64, taken exactly; 20 digits.")


def sampled_row(rho, rate, s):
    r, q = exact(rho), exact(rate)
    remove = mp.log(mp.fsum(mp.binomial(s + 1, j) * (1 - q)**(s + 1 - j) * q**j * mp.exp(r * j * (j - 1)) for j in range(s + 2)))
    chi = mp.expm1(2 * r)  # two outcomes with likelihood ratios 0 and 1 + chi have the mean 1 and that variance
    add = mp.log((chi * (1 - q)**(-s) + (1 - q + q * (1 + chi))**(-s)) / (1 + chi))
    return {"rho": rho, "rate": rate, "s": s, "least": text(remove, 20), "most": text(min(max(remove, add), r * s * (s + 1)), 20)}


def good_after(epsilon, p):
    """The largest probability of a good run on the neighbour's data, given p."""
    return min(mp.exp(epsilon) * p, 1 - mp.exp(-epsilon) * (1 - p))


def last(gamma, p):
    """The probability that a run is the last one."""
    return gamma + (1 - gamma) * p


def threshold_row(epsilon, gamma, s, rare):
    e, g, a = exact(epsilon), exact(gamma), exact(rare)
    ratio = lambda p: last(g, good_after(e, p)) / last(g, p)  # noqa: E731
    low, high = mpf(0), mpf(1)
    for _ in range(400):
        x, y = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, y) if ratio(x) > ratio(y) else (x, high)
    p = (low + high) / 2
    first = [a * mp.exp(e), p, 1 - p - a * mp.exp(e)]  # the rare output, the other good one, what is not good
    second = [a, good_after(e, p), 1 - good_after(e, p) - a]
    out = lambda w: [w[0] / (w[0] + w[1] + g * w[2]), w[1] / (w[0] + w[1] + g * w[2]), g * w[2] / (w[0] + w[1] + g * w[2])]  # noqa: E731
    k = mp.log(mp.fsum(x**(1 + exact(s)) * y**(-exact(s)) for x, y in zip(out(first), out(second))))
    return {"epsilon": epsilon, "gamma": gamma, "s": s, "rare": rare, "largest": text(e + mp.log(ratio(p)), 20), "k": text(k, 20)}


def tables():
    return {"sampled": [partial(sampled_row, rho, rate, s) for rho in (0.005, 0.125, 0.5, 2.0) for rate in (1e-4, 0.01, 0.2, 0.9) for s in (1, 2, 7, 31)],
            "threshold": [partial(threshold_row, e, g, s, 1e-9) for e in (0.01, 0.5, 1.0, 4.0) for g in (1e-3, 0.1, 0.9) for s in (0.5, 3.0, 40.0)]}


FILES = {"loss/testdata/divergences.json": lambda: File(ABOUT, 80, tables())}
