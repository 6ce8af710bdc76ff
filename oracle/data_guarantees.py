# SPDX-License-Identifier: Apache-2.0
"""internal/accountant/testdata/guarantees.json: the least mu of Gaussian DP, of discrete Gaussians and replaced samples too, Rényi divergences, and the least rho of (xi, rho)-zCDP."""

from functools import partial

from mpmath import mp, mpf

from .normal import gaussian_log_delta
from .number import exact, text
from .writing import File

ABOUT = ("mu: the least mu whose Gaussian curve is nowhere below that of count releases, by search over epsilon of the mu that meets the curve "
         "there. discrete: the largest z(Q(T >= t)) - z(P(T >= t)), z the normal quantile from above, over whole t, of the sum T of count discrete "
         "Gaussians that are moved by d each. replaced: the same over real a of one Gaussian with sensitivity 1 on a Poisson sample, a record replaced, "
         "or its limit. renyi: D_alpha of one release, the larger one of both directions. rho: the supremum over alpha > 1 of (D_alpha - xi)/alpha of "
         "count Laplace releases. Inputs are binary64, taken exactly; 15 digits.")

GOLDEN = mpf("0.61803398874989484820458683436563811772")


def laplace_curve(e0):
    return lambda e: 1 - mp.exp((e - e0) / 2) if e < e0 else mpf(0)


def response_curve(e0, n):
    """Each loss is e0 with probability p, otherwise −e0."""
    p = mp.exp(e0) / (1 + mp.exp(e0))
    return lambda e: mp.fsum(mp.binomial(n, k) * p**k * (1 - p)**(n - k) * (1 - mp.exp(e - (2 * k - n) * e0))
                             for k in range(n + 1) if (2 * k - n) * e0 > e)


def meeting(epsilon, delta):
    """The mu with that delta at epsilon."""
    if delta <= 0:
        return mpf(0)
    target, low, high = mp.log(delta), mpf("1e-30"), mpf(1)
    while gaussian_log_delta(high, epsilon) < target:
        high *= 2
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_log_delta(middle, epsilon) < target else (low, middle)
    return high


def largest(f, low, high):
    """The largest value of f, unimodal between low and high."""
    for _ in range(80):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, b) if f(a) > f(b) else (a, high)
    return f((low + high) / 2)


def mu_row(kind, parameter, count):
    e0 = exact(parameter)
    curve = {"laplace": lambda: laplace_curve(e0), "pure": lambda: response_curve(e0, count)}[kind]()
    top, n = e0 * count, 60 * count
    f = lambda e: meeting(e, curve(e))  # noqa: E731
    best = max(range(n), key=lambda i: f(top * i / n))
    return {"kind": kind, "parameter": parameter, "count": count,
            "mu": text(max(f(top * best / n), largest(f, top * max(0, best - 1) / n, top * (best + 1) / n)), 15)}


def score(p):
    """The z >= 0 with that probability beyond it."""
    target, z = -mp.log(p), mp.sqrt(-2 * mp.log(p))
    for _ in range(100):
        tail = mp.erfc(z / mp.sqrt(2)) / 2
        step = (-mp.log(tail) - target) * tail * mp.sqrt(2 * mp.pi) * mp.exp(z * z / 2)
        z -= step
        if abs(step) < mpf(10)**-38:
            return z
    raise ValueError("Newton's method did not converge")


def largest_whole(z, apart, last):
    """The largest z(t) - z(t - apart); z(t) = -z(1 - t)."""
    at = lambda t: z[t] if t >= 1 else -z[1 - t]  # noqa: E731
    return max(at(t) - at(t - apart) for t in range(apart // 2 + 1, last + 1))


def discrete_row(sigma, d, count):
    """Probabilities of the sum one by one, by convolution."""
    s, apart = exact(sigma), d * count
    variance = count * s * s
    last = apart + int(16 * variance + 16 * mp.sqrt(variance)) + 16
    top = last + int(100 * variance / last) + 20
    reach = top // count + int(16 * s) + 10
    one = [mp.exp(-mpf(x) * x / (2 * s * s)) for x in range(-reach, reach + 1)]
    law, low = [mpf(1)], 0  # of low, low + 1, …
    for _ in range(count):
        law = [mp.fdot((law[i - j], one[j]) for j in range(max(0, i - len(law) + 1), min(len(one), i + 1)))
               for i in range(len(law) + len(one) - 1)]
        low -= reach
    total, tail, z = mp.fsum(law), mp.fsum(law[top - low:]), [None] * (last + 1)
    for t in range(top - 1, 0, -1):
        tail += law[t - low]
        if t <= last:
            z[t] = score(tail / total)
    return {"sigma": sigma, "distance": d, "count": count, "mu": text(largest_whole(z, apart, last), 15)}


def replaced_row(rate, sigma):
    q, c = exact(rate), 1 / exact(sigma)
    beyond = lambda a: mp.erfc(a / mp.sqrt(2)) / 2  # noqa: E731

    def f(a):
        p, other = ((1 - q) * beyond(a) + q * beyond(a - m * c) for m in (1, -1))
        return score(other) - (score(p) if p < mpf(1) / 2 else -score(1 - p))
    n = 600
    best = max(range(n), key=lambda i: f(mpf(i) / 20))
    found = largest(f, mpf(max(0, best - 1)) / 20, mpf(best + 1) / 20)
    return {"rate": rate, "sigma": sigma, "mu": text(max(found, c), 15), "limit": text(c, 15)}


def renyi_row(rate, sigma, order):
    """A Poisson-sampled Gaussian with sensitivity 1, by its densities."""
    q, s, a = exact(rate), exact(sigma), exact(order)
    ratio = lambda z: 1 - q + q * mp.exp((2 * z - 1) / (2 * s * s))  # noqa: E731
    density = lambda z: mp.exp(-z * z / (2 * s * s)) / (s * mp.sqrt(2 * mp.pi))  # noqa: E731
    points = [-40 * s, -10 * s, -3 * s, 0, a / 2, a, a + 3 * s, a + 10 * s, a + 40 * s]
    both = [mp.log(mp.quad(lambda z, p=p: density(z) * ratio(z)**p, points)) for p in (a, 1 - a)]
    return {"rate": rate, "sigma": sigma, "order": order, "divergence": text(max(both) / (a - 1), 15)}


def laplace_divergence(e0, alpha):
    return mp.log(alpha / (2 * alpha - 1) * mp.exp((alpha - 1) * e0) + (alpha - 1) / (2 * alpha - 1) * mp.exp(-alpha * e0)) / (alpha - 1)


def rho_row(parameter, count, xi):
    e0, x = exact(parameter), exact(xi)
    f = lambda s: (count * laplace_divergence(e0, 1 + s) - x) / (1 + s)  # noqa: E731
    at = lambda i: mpf(2)**(mpf(i) / 8)  # noqa: E731
    best = max(range(-320, 160), key=lambda i: f(at(i)))
    return {"parameter": parameter, "count": count, "xi": xi,
            "rho": text(max(f(at(best)), largest(f, at(best - 1), at(best + 1))), 15)}


def tables():
    return {"mu": [partial(mu_row, *row) for row in [("laplace", 1.0, 1), ("laplace", 0.1, 1), ("laplace", 5.0, 1), ("laplace", 1e-3, 1),
                                                     ("pure", 1.0, 1), ("pure", 0.5, 3), ("pure", 0.1, 20), ("pure", 2.0, 5)]],
            "discrete": [partial(discrete_row, *row) for row in [(1.0, 1, 1), (1.0, 1, 4), (1.0, 2, 1), (0.5, 1, 1), (0.5, 3, 2), (0.1, 1, 1),
                                                                 (0.25, 1, 7), (2.0, 1, 1), (2.0, 3, 5), (4.5, 1, 1), (10.0, 1, 1), (10.0, 7, 1)]],
            "replaced": [partial(replaced_row, *row) for row in [(0.5, 2.0), (0.01, 1.0), (0.25, 0.5), (0.5, 0.25), (0.6, 2.0), (0.75, 0.5),
                                                                 (0.999, 1.0)]],
            "renyi": [partial(renyi_row, *row) for row in [(0.1, 1.0, 2.0), (0.01, 0.75, 7.5), (0.5, 2.0, 1.25), (0.001, 1.0, 1.0625),
                                                           (0.25, 4.0, 40.0)]],
            "rho": [partial(rho_row, *row) for row in [(1.0, 1, 0.0), (1.0, 4, 1.0), (0.5, 10, 0.25), (0.125, 100, 0.5), (3.0, 1, 0.5)]]}


FILES = {"accountant/testdata/guarantees.json": lambda: File(ABOUT, 45, tables())}
