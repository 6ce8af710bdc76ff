# SPDX-License-Identifier: Apache-2.0
"""Classes of mechanisms that one pair dominates: what that pair has, and what members of the class reach, found by search."""

import random
from functools import lru_cache, partial

from mpmath import mp, mpf

from .number import exact, text
from .pairs import ADD_OR_REMOVE, REPLACE
from .writing import File


def gaussian_curve(mu, epsilon):
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


# ---- Batches of a fixed size with Gaussian noise: the neighbours' sums are mu apart where the record is in the batch.

def remove(gamma, mu, epsilon):
    """sup P - e^eps Q of ((1-gamma) N(0) + gamma N(mu), N(0))."""
    x = 1 + (mp.exp(epsilon) - 1) / gamma
    return gamma * gaussian_curve(mu, mp.log(x)) if x > 0 else 1 - mp.exp(epsilon)


def add(gamma, mu, epsilon):
    return 1 - mp.exp(epsilon) + mp.exp(epsilon) * remove(gamma, mu, -epsilon)


def worse(gamma, mu, epsilon):
    return remove(gamma, mu, epsilon) if epsilon >= 0 else add(gamma, mu, epsilon)


def ratio(gamma, mu, z):
    return 1 - gamma + gamma * mp.exp(mu * z - mu * mu / 2)


def after(gamma, mu, epsilon, curve, outcomes):
    """The integral of curve(eps - L) over the outcomes of one release: (density of P at z, L at z, from, to)."""
    total = mpf(0)
    for density, loss, low, high in outcomes:
        points = [low] + [p for p in (mpf(-4), mpf(-1), mpf(0), mu / 2, mu, mu + 2, mu + 4) if low < p < high] + [high]
        total += mp.quad(lambda z: density(z) * curve(epsilon - loss(z)), points)
    return total


def pair_outcomes(gamma, mu, which):
    far = mpf(14)
    r = partial(ratio, gamma, mu)
    up = (lambda z: mp.npdf(z) * r(z), lambda z: mp.log(r(z)))
    down = (lambda z: mp.npdf(z), lambda z: -mp.log(r(z)))
    if which == "remove":
        return [(*up, -far, mu + far)]
    if which == "add":
        return [(*down, -far, mu + far)]
    none = (1 - gamma) * (mp.ncdf(mu / 2) - mp.ncdf(-mu / 2))
    return [(*up, mu / 2, mu + far), (*down, mu / 2, mu + far), (lambda z: none, lambda z: mpf(0), mpf(0), mpf(1))]


def fixed_size_row(batch, dataset, sigma, epsilons, steps):
    gamma, mu = mpf(batch) / dataset, 2 / exact(sigma)
    truth = []
    for e in epsilons:
        epsilon = exact(e)
        if steps == 1:
            value, reached = worse(gamma, mu, epsilon), max(remove(gamma, mu, epsilon), add(gamma, mu, epsilon))
        else:
            value = after(gamma, mu, epsilon, partial(worse, gamma, mu), pair_outcomes(gamma, mu, "both"))
            # An adversary chooses, for the second step, the direction that is worse after what the first one told.
            either = lambda x: max(remove(gamma, mu, x), add(gamma, mu, x))
            reached = max(after(gamma, mu, epsilon, either, pair_outcomes(gamma, mu, w)) for w in ("remove", "add"))
        truth.append({"epsilon": e, "delta": text(value, 10), "reached": text(reached, 10)})
    return {"name": f"{steps} batches of {batch} of {dataset}, sigma {sigma}", "adjacency": REPLACE, "events": [{"mechanism": {"fixedSizeSampled": {
        "batchSize": batch, "datasetSize": dataset, "mechanism": {"gaussian": {"noiseMultiplier": sigma}}}}, "count": steps}], "truth": truth}


# ---- Noisy maxima: the winner's probabilities, and a climb for scores whose delta is large.

def wins(scores):
    """With exponential noise of scale 1: a_i times the integral of prod (1 - z a_j) over z in (0, 1)."""
    top = max(scores)
    weights = [mp.exp(u - top) for u in scores]
    out = []
    for i, a in enumerate(weights):
        poly = [mpf(1)]
        for j, b in enumerate(weights):
            if j != i:
                poly = [x - b * y for x, y in zip(poly + [mpf(0)], [mpf(0)] + poly)]
        out.append(a * mp.fsum(c / (k + 1) for k, c in enumerate(poly)))
    return out


def score_delta(u, v, epsilon):
    return mp.fsum(max(mpf(0), p - mp.exp(epsilon) * q) for p, q in zip(wins(u), wins(v)))


def climb(candidates, spread, epsilon, r, rounds):
    best, state = mpf(-1), None
    for k in range(rounds):
        if state is None or k % 50 == 0 and k < rounds / 2:
            u = [mpf(r.uniform(-3, 3)) * spread for _ in range(candidates)]
            moved = [mpf(r.choice([0, 1])) for _ in range(candidates)]
        else:
            width = mpf(10) ** -r.uniform(0, 6)
            u = [x + width * spread * mpf(r.gauss(0, 1)) for x in state[0]]
            moved = [min(mpf(1), max(mpf(0), x + (width * mpf(r.gauss(0, 1)) if r.random() < 0.3 else 0))) for x in state[1]]
        d = score_delta(u, [x - m * spread for x, m in zip(u, moved)], epsilon)
        if d > best:
            best, state = d, (u, moved)
    return best


def noisy_max_row(spread, candidates, epsilons, seed):
    r, e0, truth = random.Random(seed), exact(spread), []
    for e in epsilons:
        epsilon = exact(e)
        truth.append({"epsilon": e, "delta": text(1 - mp.exp((epsilon - e0) / 2), 20), "reached": text(climb(candidates, e0, epsilon, r, 400), 20)})
    return {"name": f"permute-and-flip of {candidates}, {spread}", "adjacency": ADD_OR_REMOVE, "events": [{"mechanism": {"reportNoisyMax": {
        "distribution": "EXPONENTIAL", "epsilon": spread}}, "count": 1}], "truth": truth}


# ---- The exponential mechanism: the best a player does who picks, after each answer, how two candidates' scores lie.

def range_play(eta, epsilon, times, grid):
    """Losses t and t - eta, P(t) = (1 - e^(t-eta))/(1 - e^-eta); t among whole multiples of eta/grid. Exact on that grid."""
    step = eta / grid

    @lru_cache(maxsize=None)
    def value(left, at):
        if left == 0:
            return max(mpf(0), 1 - mp.exp(epsilon - at * step))
        best = mpf(0)
        for k in range(grid + 1):
            p = (1 - mp.exp(k * step - eta)) / (1 - mp.exp(-eta))
            best = max(best, p * value(left - 1, at + k) + (1 - p) * value(left - 1, at + k - grid))
        return best

    return value(times, 0)


def exponential_row(eta, times, epsilons, grid):
    truth = []
    for e in epsilons:
        row = {"epsilon": e, "reached": text(range_play(exact(eta), exact(e), times, grid), 20)}
        if times == 1:
            row["delta"] = text((1 - mp.exp((exact(e) - exact(eta)) / 2)) ** 2 / (1 - mp.exp(-exact(eta))), 20)
        truth.append(row)
    return {"name": f"exponential {eta} x {times}", "adjacency": ADD_OR_REMOVE, "events": [{"mechanism": {"exponential": {"epsilon": eta}}, "count": times}], "truth": truth}


FILES = {
    "pld/testdata/dominated.json": lambda: File(
        "Mechanisms of which a report names a class. delta: what the pair has that dominates the class; reached: what a search found a member, or an adaptive player, "
        "to reach. Fixed-size batches: two steps by quadrature, the player choosing the direction of the second after the first. Noisy maxima: scores by a climb. "
        "Exponential mechanism: a player on a grid of losses, exactly.", 30, {
            "rows": [partial(fixed_size_row, 10, 1000, 1.0, [0.0, 0.1, 1.0], 1), partial(fixed_size_row, 3, 10, 2.0, [0.0, 0.3, 1.5], 1),
                     partial(fixed_size_row, 10, 1000, 1.0, [0.0, 0.05, 1.0], 2), partial(fixed_size_row, 3, 10, 2.0, [0.0, 0.3, 1.0], 2),
                     partial(fixed_size_row, 1, 2, 4.0, [0.1, 0.5], 2),
                     partial(noisy_max_row, 1.0, 2, [0.0, 0.5, 0.9], 1), partial(noisy_max_row, 1.0, 4, [0.0, 0.5, 0.9], 2),
                     partial(noisy_max_row, 3.0, 3, [0.1, 2.0], 3), partial(noisy_max_row, 0.1, 6, [0.05], 4),
                     partial(exponential_row, 1.0, 1, [0.0, 0.5, 0.9], 40), partial(exponential_row, 1.0, 3, [0.0, 0.5, 1.5], 40),
                     partial(exponential_row, 0.1, 30, [0.1, 0.6], 10), partial(exponential_row, 2.0, 5, [1.0, 4.0], 40)]}),
}
