# SPDX-License-Identifier: Apache-2.0
"""The best of a random number of runs: what some order of the outputs reaches, from the definition.

A run has outcomes of probabilities p on one dataset and q on the other. The best output has the probability
f(P(not better) ) − f(P(worse)), f being the generating function of the number of runs; so δ(ε) of every order is at most that of
the worst. All orders are tried of few outcomes, and of many those that take the likeliest on the other dataset first up to
some place, and then the most telling ones. Equal outcomes may have different scores: of few, each is cut into parts as well.
"""

from itertools import permutations
from math import exp, expm1, log, log1p, sqrt

import numpy as np


def poisson(mean):
    """Where u is the probability of what is better, f(1 − u) − f(1 − u − a) = e^{−mean·u}(1 − e^{−mean·a})."""
    return lambda u, a: np.exp(-mean * u) * -np.expm1(-mean * a)


def negative_binomial(gamma, eta):
    """f(x) = ((1 − (1−γ)x)^−η − 1)/(γ^−η − 1), or ln(1 − (1−γ)x)/ln γ."""

    def part(u, a):
        z = gamma + (1 - gamma) * u
        grows = np.log1p((1 - gamma) * a / z)
        if eta == 0:
            return grows / log(1 / gamma)
        return z**-eta * -np.expm1(-eta * grows) / expm1(-eta * log(gamma))

    return part


def ordered(part, p, q, epsilon):
    """δ(ε) where the first outcome is the best."""
    first, second = (part(np.cumsum(x) - x, x) for x in (p, q))
    return float(np.sum(np.maximum(first - exp(epsilon) * second, 0)))


def above_threshold(gamma, p, q, epsilon, good):
    """δ(ε) where these outcomes are good and published, and a coin of probability γ ends the runs after any other."""
    a, b = np.where(good, p, 0), np.where(good, q, 0)
    za, zb = (gamma + (1 - gamma) * x.sum() for x in (a, b))
    given_up = gamma * (1 - a.sum()) / za - exp(epsilon) * gamma * (1 - b.sum()) / zb
    return float(np.sum(np.maximum(a / za - exp(epsilon) * b / zb, 0)) + max(given_up, 0))


def worst(number, p, q, epsilon, places=40):
    """The largest δ(ε) that is found, in one direction; number is ("poisson", mean), ("nb", γ, η) or ("first", γ)."""
    by_loss = np.argsort(np.log(p) - np.log(q))
    ends = np.unique(np.linspace(0, len(p), places).astype(int))
    if number[0] == "first":
        place = np.argsort(by_loss)
        bands = [(i, j) for i in ends for j in ends if i <= j]  # good are the first i and all from j on
        return max(above_threshold(number[1], p, q, epsilon, (place < i) | (place >= j)) for i, j in bands)
    part = poisson(number[1]) if number[0] == "poisson" else negative_binomial(*number[1:])
    if len(p) <= 6:
        orders = [list(x) for x in permutations(range(len(p)))]
    else:
        orders = [np.concatenate([by_loss[:i], by_loss[i:][::-1]]) for i in ends] + [np.concatenate([by_loss[j:], by_loss[:j]]) for j in ends]
    return max(ordered(part, p[list(x)], q[list(x)], epsilon) for x in orders)


def split(p, q, parts=240):
    """Each outcome as equal ones, of which a score can prefer some."""
    return np.repeat(p / parts, parts), np.repeat(q / parts, parts)


def family(number, p, q, epsilon, places=150):
    """The largest δ(ε), in one direction, of scores that put the outcomes with the smallest losses first, and then those with the
    largest; few outcomes are cut into parts."""
    if len(p) <= 6:
        p, q = split(p, q)
        places = 600
    return worst(number, p, q, epsilon, places)


def responses(epsilons):
    """Binary randomized response of each ε, together."""
    p = q = np.ones(1)
    for e in epsilons:
        one = np.array([exp(e), 1]) / (1 + exp(e))
        p, q = np.outer(p, one).ravel(), np.outer(q, one[::-1]).ravel()
    return p, q


def cells_of(pdf_p, pdf_q, low, high, n=400):
    """Outcomes gathered to cells, by Simpson's rule in each."""
    edges = np.linspace(low, high, n + 1)
    at = (edges[:-1] + edges[1:]) / 2
    simpson = lambda f: (f(edges[:-1]) + 4 * f(at) + f(edges[1:])) * (high - low) / (6 * n)
    p, q = simpson(pdf_p), simpson(pdf_q)
    return p / p.sum(), q / q.sum()


def normal(mean):
    return lambda x: np.exp(-((x - mean) ** 2) / 2) / sqrt(2 * np.pi)


def gaussian(mu):
    return cells_of(normal(mu), normal(0), -9, 9 + mu)


def sampled(rate, mu):
    return cells_of(lambda x: (1 - rate) * normal(0)(x) + rate * normal(mu)(x), normal(0), -9, 9 + mu)


def sampled_steps(rate, mu, steps, grid=2.0**-9):
    """Several steps: losses are gathered downwards to a grid and added up by a Fourier transform; each cell keeps its ratio."""
    n = 1 << 15
    x = np.linspace(-10, 10 + mu, 100_001)
    p, q = (1 - rate) * normal(0)(x) + rate * normal(mu)(x), normal(0)(x)
    at = np.floor((np.log(p) - np.log(q)) / grid).astype(int)
    sums = lambda w: np.bincount(at % n, weights=w / w.sum(), minlength=n)
    together = lambda w: np.maximum(np.fft.irfft(np.fft.rfft(sums(w)) ** steps, n), 0)
    p, q = together(p), together(q)
    keep = (p > 1e-12) & (q > 1e-12)  # the rest is one outcome
    rest = lambda w: np.append(w[keep], max(1 - w[keep].sum(), 1e-15))
    p, q = rest(p), rest(q)
    return p / p.sum(), q / q.sum()
