# SPDX-License-Identifier: Apache-2.0
"""Random allocation: P = (1/t)·Σ N(μe_i, I) against Q = N(0, I), from the definition.

With Y_i = e^{μx_i − μ²/2} and S = (Y_1 + … + Y_t)/t = dP/dQ, the divergence is E_Q[(S − e^ε)⁺] towards REMOVE and
E_Q[(1 − e^ε S)⁺] towards ADD. Two and three steps are integrated; more steps are estimated by importance sampling, of
which every term is bounded, so that the confidence interval holds for every sample size.
"""

from functools import lru_cache
from math import comb, factorial

import numpy as np
from mpmath import mp, mpf

from .number import Inexact

ALPHA = 1e-6  # the probability with which an interval misses


def put(mu, log_k):
    """E[(k − Y)⁺] of one normal term, k = e^log_k."""
    a = log_k / mu + mu / 2
    return mp.exp(log_k) * mp.ncdf(a) - mp.ncdf(a - mu)


def puts(mu, terms, log_k, h, reach):
    """E[(k − Y_1 − … − Y_terms)⁺] by the trapezoid rule in the logit of Y_1/k: all vanishes at both ends like a Gaussian."""
    if terms == 1:
        return put(mu, log_k)
    total = mpf(0)
    # The mass sits where ln Y_1 or ln(k − Y_1) is within reach standard deviations of its mean.
    wide = reach * mu + abs(log_k) + mu * mu
    n = int(wide / h) + 1
    for i in range(-n, n + 1):
        u = i * h
        left = -mp.log1p(mp.exp(-u)) if u > 0 else u - mp.log1p(mp.exp(u))  # ln w
        right = left - u  # ln(1 − w)
        x = (log_k + left) / mu + mu / 2
        y = (log_k + right) / mu + mu / 2
        if x < -reach or (terms == 2 and y < -reach):
            continue
        total += mp.npdf(x) * mp.exp(right) * puts(mu, terms - 1, log_k + right, h, reach)
    return total * h / mu


@lru_cache(maxsize=None)
def sum_put(mu, terms, log_k, digits):
    """The same to so many digits after the point, by two steps that must agree."""
    if terms == 1:
        return put(mu, log_k)
    with mp.workdps(digits + 10):
        reach = mp.sqrt(2 * mp.log(10) * digits) + 1
        h = min(mu * mp.sqrt(mpf(4) / digits), mpf(6) / digits)  # a Gaussian of width mu/√2; a singularity at iπ
        fine = puts(mu, terms, log_k, h, reach)
        coarse = puts(mu, terms, log_k, h * mpf("1.2"), reach)
        if abs(fine - coarse) > mpf(10) ** -(digits - 5) * max(1, fine):
            raise Inexact(f"{terms} terms, mu {mp.nstr(mu, 6)}, ln k {mp.nstr(log_k, 6)}: {mp.nstr(fine, 40)} and {mp.nstr(coarse, 40)}")
        return fine


def curve(mu, steps, epsilon, digits=45):
    """(δ towards REMOVE, δ towards ADD) of one epoch of one to three steps, absolute error 10^−digits."""
    with mp.workdps(digits + 15):
        mu, epsilon, t = mpf(mu), mpf(epsilon), mpf(steps)
        up = sum_put(mu, steps, mp.log(t) + epsilon, digits)
        down = sum_put(mu, steps, mp.log(t) - epsilon, digits)
        return up / t + 1 - mp.exp(epsilon), mp.exp(epsilon) * down / t


def laplace_put(b, log_k):
    """E[(k − Y)⁺] of Y = e^{(|x| − |x−1|)/b} under x ~ Laplace(b): atoms at both ends, between them ln Y = (2x − 1)/b."""
    k = mp.exp(log_k)
    if log_k <= -1 / b:
        return mpf(0)
    total = (k - mp.exp(-1 / b)) / 2
    x = min((log_k * b + 1) / 2, mpf(1))  # Y < k left of here
    e = mp.exp(-x / b)
    total += (k * (1 - e) - mp.exp(-1 / b) * (mp.exp(x / b) - 1)) / 2  # ∫₀ˣ (k − e^{(2u−1)/b}) e^{−u/b} du/(2b)
    if log_k > 1 / b:
        total += (k - mp.exp(1 / b)) * mp.exp(-1 / b) / 2
    return total


def laplace_two(b, log_k):
    """E[(k − Y_1 − Y_2)⁺], by pieces between the places where an end of one term is met."""
    k, low, high = mp.exp(log_k), mp.exp(-1 / b), mp.exp(1 / b)
    of = lambda y: laplace_put(b, mp.log(k - y)) if k > y else mpf(0)
    total = of(low) / 2 + of(high) * mp.exp(-1 / b) / 2
    places = {mpf(0), mpf(1)} | {(b * mp.log(k - y) + 1) / 2 for y in (low, high) if k > y}
    if k > 0:
        places |= {(b * log_k + 1) / 2}
    places = sorted(x for x in places if 0 <= x <= 1)
    return total + mp.quad(lambda x: of(mp.exp((2 * x - 1) / b)) * mp.exp(-x / b), places) / (2 * b)


def laplace_curve(b, steps, epsilon):
    b, epsilon, t = mpf(b), mpf(epsilon), mpf(steps)
    f = laplace_put if steps == 1 else laplace_two
    up, down = f(b, mp.log(t) + epsilon), f(b, mp.log(t) - epsilon)
    return up / t + 1 - mp.exp(epsilon), mp.exp(epsilon) * down / t


def partitions(n, largest=None):
    if n == 0:
        yield ()
        return
    for first in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - first, first):
            yield (first,) + rest


@lru_cache(maxsize=None)
def moment(mu, steps, order):
    """E_Q[S^order] for a whole order and what it is made of: S^m Q is a mixture of N(μn, I) over the counts n of m balls
    in t bins, weighted by e^{μ² Σ n_i(n_i − 1)/2}. Returns the moment and (counts, probability) of every partition."""
    mu, rows = mpf(mu), []
    for shape in partitions(order):
        if len(shape) > steps:
            continue
        ways = mpf(factorial(order))
        for n in shape:
            ways /= factorial(n)
        for i in range(len(shape)):
            ways *= steps - i
        for n in set(shape):
            ways /= factorial(shape.count(n))
        rows.append((shape, ways * mp.exp(mu * mu * sum(n * (n - 1) for n in shape) / 2) / mpf(steps) ** order))
    total = mp.fsum(w for _, w in rows)
    return total, [(s, float(w / total)) for s, w in rows]


def interval(values, most):
    """Mean of values in [0, most] with the empirical Bernstein bound (Maurer and Pontil 2009, Thm 4), both sides."""
    n, log = len(values), np.log(4 / ALPHA)
    mean = float(np.mean(values))
    spread = float(np.sqrt(2 * np.var(values, ddof=1) * log / n) + 7 * most * log / (3 * (n - 1)))
    return max(0.0, mean - spread), mean, min(most, mean + spread)


def log_ratio(x, mu, axis):
    """ln S along an axis, of already large numbers."""
    y = mu * x - mu * mu / 2
    top = y.max(axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.mean(np.exp(y - top), axis=axis))


def remove(mu, steps, epochs, epsilon, samples, seed):
    """δ towards REMOVE of several epochs: samples of ∏S_e^m·Q, exact draws, every term at most the bound that is returned.

    With c = e^ε and S the product: δ = E_R[(S − c)⁺ S^−m] M_m, and (s − c) s^−m is largest at s = cm/(m − 1)."""
    rng = np.random.Generator(np.random.PCG64(seed))
    c, best = mp.exp(mpf(epsilon)), None
    for m in range(1, 25):
        total, rows = moment(mu, steps, m)
        most = mpf(1) if m == 1 else total ** epochs * c ** (1 - m) * mpf(m - 1) ** (m - 1) / mpf(m) ** m
        if best is None or most < best[1]:
            best = (m, most, rows, float(mp.log(total)))
    m, most, rows, log_moment = best
    shapes, chances = [s for s, _ in rows], np.array([p for _, p in rows])
    parts = []
    for start in range(0, samples, max(1, 2_000_000 // steps)):
        count = min(max(1, 2_000_000 // steps), samples - start)
        loss = np.zeros(count)
        for _ in range(epochs):
            x = rng.standard_normal((count, steps))
            pick = rng.choice(len(shapes), size=count, p=chances / chances.sum())
            for k, shape in enumerate(shapes):  # which bins does not matter: the first ones
                chosen = np.flatnonzero(pick == k)
                if len(chosen):
                    x[chosen[:, None], np.arange(len(shape))] += mu * np.array(shape)
            loss += log_ratio(x, mu, 1)
        over = loss > epsilon
        parts.append(np.where(over, -np.expm1(np.where(over, epsilon - loss, 0.0)) * np.exp(epochs * log_moment + (1 - m) * loss), 0.0))
    low, mean, high = interval(np.concatenate(parts), float(most))
    return low, mean, high, m


def add(mu, steps, epochs, epsilon, samples, seed):
    """δ towards ADD, E_Q[(1 − e^ε S)⁺], by plain sampling: terms are at most 1."""
    rng = np.random.Generator(np.random.PCG64(seed))
    parts = []
    for start in range(0, samples, max(1, 2_000_000 // steps)):
        count = min(max(1, 2_000_000 // steps), samples - start)
        loss = sum(log_ratio(rng.standard_normal((count, steps)), mu, 1) for _ in range(epochs))
        parts.append(-np.expm1(np.minimum(loss + epsilon, 0.0)))
    return interval(np.concatenate(parts), 1.0)


def gaussian_steps(mu):
    """Draws of steps without the record, by how much it moves them, and ln Y of steps."""
    return lambda rng, shape: rng.standard_normal(shape), mu, lambda x: mu * x - mu * mu / 2


def laplace_steps(b):
    return lambda rng, shape: rng.laplace(0, b, shape), 1, lambda x: (np.abs(x) - np.abs(x - 1)) / b


def several(noise, steps, chosen, epsilon, samples, seed):
    """(REMOVE, ADD) where a record takes part in `chosen` of few steps, all choices as likely: S is the mean over them of
    the product of their Y. Plain sampling, terms at most 1."""
    rng = np.random.Generator(np.random.PCG64(seed))
    draw, moved, log_y = noise

    def loss(x):
        y = np.exp(log_y(x))
        polynomial = np.zeros((chosen + 1, len(x)))  # elementary symmetric functions of Y
        polynomial[0] = 1
        for i in range(steps):
            for k in range(chosen, 0, -1):
                polynomial[k] += y[:, i] * polynomial[k - 1]
        return np.log(polynomial[chosen] / comb(steps, chosen))
    x = draw(rng, (samples, steps))
    down = -np.expm1(np.minimum(loss(x) + epsilon, 0.0))
    x[:, :chosen] += moved
    up = -np.expm1(np.minimum(epsilon - loss(x), 0.0))
    return interval(up, 1.0), interval(down, 1.0)
