# SPDX-License-Identifier: Apache-2.0
"""Runs through a matrix on batches that are drawn at random: mixtures of normals over all places of a record, small cases."""

import math
from functools import partial
from itertools import product

import numpy as np

from .data_batches import ZERO_OUT
from .pairs import ADD_OR_REMOVE, REPLACE
from .writing import File

EPSILONS = [0.0, 0.25, 1.0]


def span(means):
    """An orthonormal basis."""
    basis = []
    for mean in means:
        rest = mean - sum(((mean @ b) * b for b in basis), np.zeros(len(mean)))
        if np.linalg.norm(rest) > 1e-9:
            basis.append(rest / np.linalg.norm(rest))
    return basis


def hockey_stick(p, q, sigma, epsilon, step):
    """sup (P(S) − e^ε Q(S)) of two mixtures of normals, [(weight, mean)], by the midpoint rule in the span of their means."""
    basis = span([m for _, m in p + q])
    p, q = ([(w, tuple(float(m @ b) / sigma for b in basis)) for w, m in x] for x in (p, q))
    axes = []
    for i in range(len(basis)):
        at = [m[i] for _, m in p + q]
        axes.append(np.arange(min(at) - 6.5 + step / 2, max(at) + 6.5, step))
    ones = {m: [np.exp(-(x - c) ** 2 / 2) / math.sqrt(2 * math.pi) * step for x, c in zip(axes, m)] for _, m in p + q}

    def density(mixture, first):
        total = 0.0
        for w, m in mixture:
            part = ones[m][0][first]
            for factor in ones[m][1:]:
                part = np.multiply.outer(part, factor)
            total = total + w * part
        return total

    return sum(float(np.sum(np.maximum(density(p, i) - math.exp(epsilon) * density(q, i), 0.0))) for i in range(len(axes[0])))


def column(c, t, steps):
    return np.array([c[i - t] if 0 <= i - t < len(c) else 0.0 for i in range(steps)])


def row(name, adjacency, mechanism, pairs, sigma, step):
    """The larger one of both directions, of the record whose place is the worst."""
    truth = []
    for e in EPSILONS:
        worst = max(max(hockey_stick(p, q, sigma, e, step), hockey_stick(q, p, sigma, e, step)) for p, q in pairs)
        truth.append({"epsilon": e, "delta": float(f"{worst:.5g}")})
    return {"name": f"{name}-{adjacency}", "adjacency": adjacency, "events": [{"mechanism": mechanism, "count": 1}], "truth": truth}


def sampled_row(c, steps, groups, q, sigma, step, adjacency):
    def mixture(group, sign):
        turns = range(group, steps, groups)
        return [(math.prod(q if x else 1 - q for x in taken), sign * sum((column(c, t, steps) for t, x in zip(turns, taken) if x), np.zeros(steps)))
                for taken in product([0, 1], repeat=len(turns))]

    nothing = [(1.0, np.zeros(steps))]
    pairs = [(mixture(g, 1), mixture(g, -1) if adjacency == REPLACE else nothing) for g in range(min(groups, steps))]
    return row(f"sampled-{steps}-{groups}-{q}", adjacency, {"sampledMatrix": {
        "noiseMultiplier": sigma, "coefficients": c, "steps": steps, "groups": groups, "samplingProbability": q}}, pairs, sigma, step)


def allocated_row(c, steps, period, sigma, step, adjacency):
    places = [(1 / period, sum((column(c, t, steps) for t in range(i, steps, period)), np.zeros(steps))) for i in range(period)]
    return row(f"allocated-{len(c)}-{steps}-{period}", adjacency, {"allocatedMatrix": {
        "noiseMultiplier": sigma, "coefficients": c, "steps": steps, "period": period}}, [(places, [(1.0, np.zeros(steps))])], sigma, step)


def sampled():
    shapes = [([1.0, 0.5], 3, 2, 0.25, 0.8, 0.04), ([0.5, -1.0], 4, 2, 0.5, 1.0, 0.04), ([1.0], 2, 1, 0.125, 0.7, 0.04), ([1.0, 0.5], 5, 2, 0.25, 1.0, 0.1),
              ([1.0, 0.5, 0.25], 6, 3, 0.5, 1.5, 0.04), ([1.0, 0.5], 3, 3, 0.25, 0.6, 0.01)]
    return [partial(sampled_row, *shape, a) for a in (ADD_OR_REMOVE, REPLACE, ZERO_OUT) for shape in shapes]


def allocated():
    shapes = [([1.0, 0.5], 4, 2, 1.0, 0.04), ([1.0, 0.5], 3, 3, 0.8, 0.1), ([1.0, -0.5], 4, 4, 1.0, 0.2), ([1.0], 4, 2, 1.0, 0.04), ([1.0], 5, 3, 1.25, 0.1),
              ([1.0, 0.5], 2, 4, 0.8, 0.04)]
    return [partial(allocated_row, *shape, a) for a in (ADD_OR_REMOVE, ZERO_OUT) for shape in shapes]


FILES = {
    "pld/testdata/matrices.json": lambda: File(
        "delta(epsilon) of runs through a matrix whose batches are drawn at random, by the midpoint rule in the span of the means; 3 digits. "
        "The record contributes 1 to each step it takes part in, and -1 if it is replaced.", 20, {"sampled": sampled(), "allocated": allocated()}),
}
