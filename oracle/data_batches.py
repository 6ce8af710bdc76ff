# SPDX-License-Identifier: Apache-2.0
"""Small cases of batches and of participation, counted out: what no bound may be below."""

import math
import random
from functools import partial
from itertools import combinations, permutations, product

from mpmath import mp, mpf

from . import mixtures
from .number import exact, text
from .pairs import ADD_OR_REMOVE, REPLACE
from .writing import File

ZERO_OUT = "ZERO_OUT"


def with_record(others, adjacency):
    """The contributions of all records, the one that differs first: with it, and of the neighbour."""
    return [1.0] + others, {ADD_OR_REMOVE: others, REPLACE: [-1.0] + others, ZERO_OUT: [0.0] + others}[adjacency]


def truncated_output(records, q, most, sigma):
    """(mean, weight) in units of the noise of the sum over a Poisson sample cut to a random subset of the largest size."""
    out = {}
    for size in range(len(records) + 1):
        for chosen in combinations(records, size):
            weight = q ** size * (1 - q) ** (len(records) - size)
            kept = list(combinations(chosen, min(size, most)))
            for batch in kept:
                mean = sum(batch) / sigma
                out[mean] = out.get(mean, 0) + weight / len(kept)
    return [(mpf(m), w) for m, w in sorted(out.items())]


def truncated_row(n, q, most, sigma, adjacency, epsilons):
    q, truth = exact(q), []
    for e in epsilons:
        worst = mpf(0)
        for others in product([-1.0, 0.0, 1.0], repeat=n - 1):
            if list(others) != sorted(others):
                continue
            a, b = (truncated_output(r, q, most, sigma) for r in with_record(list(others), adjacency))
            worst = max(worst, mixtures.curve((a, b), exact(e)), mixtures.curve((b, a), exact(e)))
        truth.append({"epsilon": e, "delta": text(worst, 20)})
    inner = {"gaussian": {"noiseMultiplier": sigma}}
    return {"name": f"truncated-{n}-{float(q)}-{most}-{sigma}-{adjacency}", "adjacency": adjacency, "events": [{"mechanism": {"truncatedPoissonSampled": {
        "samplingProbability": float(q), "datasetSize": n, "maximumBatchSize": most, "mechanism": inner}}, "count": 1}], "truth": truth}


def truncated():
    return [partial(truncated_row, n, q, most, sigma, a, [0.0, 0.1, 0.5, 1.0])
            for a in (ADD_OR_REMOVE, REPLACE, ZERO_OUT) for n, q, most, sigma in [(4, 0.25, 1, 1.0), (4, 0.5, 2, 2.0), (5, 0.3, 3, 1.0)]]


def shuffled_output(records, batch, steps):
    """{(sum of each batch): weight} over all orders."""
    out, count = {}, 0
    for order in permutations(range(len(records))):
        sums = tuple(sum(records[i] for i in order[batch * t:batch * (t + 1)]) for t in range(steps))
        out[sums] = out.get(sums, 0) + 1
        count += 1
    return {k: v / count for k, v in out.items()}


def plane(p, q, sigma, epsilon, h):
    """∫∫ (P − e^ε Q)₊ of two steps by the midpoint rule."""
    reach = max(abs(x) for k in [*p, *q] for x in k) / sigma + 7.5
    xs = [-reach + h * (i + 0.5) for i in range(int(2 * reach / h) + 1)]
    bell = {v: [math.exp(-(x - v / sigma) ** 2 / 2) for x in xs] for k in [*p, *q] for v in k}
    net = {k: p.get(k, 0) - math.exp(epsilon) * q.get(k, 0) for k in p.keys() | q.keys()}
    total = 0.0
    for i in range(len(xs)):
        row = {}
        for (a, b), w in net.items():
            row[b] = row.get(b, 0.0) + w * bell[a][i]
        cells = zip(*[[w * x for x in bell[b]] for b, w in row.items()])
        total += sum(v for v in map(sum, cells) if v > 0)
    return total * h * h / (2 * math.pi)


def shuffled_row(n, batch, sigma, adjacency, epsilons):
    truth = []
    for e in epsilons:
        worst = 0.0
        for others in product([-1.0, 0.0, 1.0], repeat=n - 1):
            if list(others) != sorted(others):
                continue
            a, b = (shuffled_output(r, batch, 2) for r in with_record(list(others), adjacency))
            worst = max(worst, plane(a, b, sigma, e, 0.1), plane(b, a, sigma, e, 0.1))
        truth.append({"epsilon": e, "delta": float(f"{worst:.5g}")})
    return {"name": f"shuffled-{n}-{batch}-{sigma}-{adjacency}", "adjacency": adjacency, "events": [{"mechanism": {"shuffled": {
        "batchSize": batch, "datasetSize": n, "mechanism": {"gaussian": {"noiseMultiplier": sigma}}}}, "count": 1}], "truth": truth}


def shuffled():
    return [partial(shuffled_row, n, b, sigma, a, [0.0, 0.5]) for a in (ADD_OR_REMOVE, REPLACE, ZERO_OUT) for n, b, sigma in [(4, 2, 1.0), (3, 2, 2.0)]]


def patterns(steps, participations, separation):
    """Every non-empty set of steps that one record may take part in."""
    def extend(chosen):
        yield chosen
        if len(chosen) < participations:
            for t in range(chosen[-1] + separation, steps):
                yield from extend(chosen + [t])
    for t in range(steps):
        yield from extend([t])


def tree_nodes(steps):
    size, nodes = 1, []
    while size <= steps:
        nodes += [range(a, a + size) for a in range(0, steps - size + 1, size)]
        size *= 2
    return nodes


def tree_row(steps, participations, separation):
    nodes = tree_nodes(steps)
    worst = max(sum(sum(t in node for t in p) ** 2 for node in nodes) for p in patterns(steps, participations, separation))
    return {"steps": steps, "participations": participations, "minimumSeparation": separation, "squares": worst}


def fixed_epochs(steps, period):
    """The steps of one place in every epoch."""
    return [list(range(first, steps, period)) for first in range(min(period, steps))]


def gram(rows):
    """CᵀC of a matrix of whole numbers."""
    columns = list(zip(*rows))
    return [[sum(a * b for a, b in zip(x, y)) for y in columns] for x in columns]


def toeplitz_rows(c, steps):
    return [[c[i - j] if 0 <= i - j < len(c) else 0 for j in range(steps)] for i in range(steps)]


def worst_sums(x, chosen):
    """The largest Σ|X_st| over the patterns, and the largest of Σ ±±X_st over signs: contributions along one line."""
    most = reached = 0
    for p in chosen:
        total = sum(abs(x[s][t]) for s in p for t in p)
        most = max(most, total)
        if all(x[s][t] >= 0 for s in p for t in p):
            reached = max(reached, total)
            continue
        for signs in product([1, -1], repeat=len(p) - 1):
            reached = max(reached, sum(a * b * x[s][t] for s, a in zip(p, (1,) + signs) for t, b in zip(p, (1,) + signs)))
    return most, reached


def matrix_row(rows, chosen, **about):
    """Of a matrix of whole 64ths: absolute is a bound for contributions of any dimension, signed is reached by numbers."""
    absolute, signed = worst_sums(gram(rows), chosen)
    return {**about, "absolute": absolute / 4096, "signed": signed / 4096}


def toeplitz_row(coefficients, steps, participations, separation):
    c = [int(x * 64) for x in coefficients]
    if participations == 0:
        chosen, about = fixed_epochs(steps, separation), {"period": separation}
    else:
        chosen, about = patterns(steps, participations, separation), {"participations": participations, "minimumSeparation": separation}
    return matrix_row(toeplitz_rows(c, steps), chosen, coefficients=coefficients, steps=steps, **about)


def dense_row(steps, seed, negative, participations, separation):
    draw = random.Random(seed)
    rows = [[draw.randint(-64 if negative else 0, 64) if j < i else draw.randint(1, 64) if j == i else 0 for j in range(steps)] for i in range(steps)]
    if participations == 0:
        chosen, about = fixed_epochs(steps, separation), {"period": separation}
    else:
        chosen, about = patterns(steps, participations, separation), {"participations": participations, "minimumSeparation": separation}
    entries = [rows[i][j] / 64 for i in range(steps) for j in range(i + 1)]
    return matrix_row(rows, chosen, entries=entries, steps=steps, **about)


RISING, HUMP, MIXED = [1.0, 0.5, 0.90625], [0.25, 0.5, 1.0, 0.75, 0.375, 0.125], [1.0, 0.75, -0.5, 0.25, -0.125]


def toeplitz():
    return [partial(toeplitz_row, c, n, k, s) for c in (RISING, HUMP, MIXED, SIGNED, [1.0] * 12) for n in (4, 7, 12)
            for k, s in [(1, 1), (2, 1), (3, 1), (3, 2), (4, 3), (12, 1), (0, 2), (0, 5)] if k <= n]


def dense():
    return [partial(dense_row, n, 100 * n + k, negative, k, s) for negative in (False, True) for n in (2, 5, 9)
            for k, s in [(1, 1), (2, 1), (3, 2), (9, 1), (4, 2), (0, 1), (0, 3)] if k <= n]


def banded_row(coefficients, steps, participations, separation):
    """The largest ‖Σ ±C's column‖² over patterns and signs, exactly in rationals of the coefficients' halves."""
    c = [int(x * 64) for x in coefficients]
    assert all(x * 64 == y for x, y in zip(coefficients, c))
    worst = 0
    for p in patterns(steps, participations, separation):
        for signs in product([1, -1], repeat=len(p) - 1):
            rows = [0] * steps
            for t, sign in zip(p, (1,) + signs):
                for u, v in enumerate(c):
                    if t + u < steps:
                        rows[t + u] += sign * v
            worst = max(worst, sum(r * r for r in rows))
    return {"coefficients": coefficients, "steps": steps, "participations": participations, "minimumSeparation": separation, "squares": worst / 4096}


FALLING, ROUGH, SIGNED = [1.0, 0.5, 0.375, 0.3125, 0.25], [1.0, 0.25, 0.5, 0.125], [1.0, -0.5, 0.25, -0.125]


def trees():
    return [partial(tree_row, n, k, s) for n in (1, 2, 3, 5, 7, 8, 12, 13) for k, s in [(1, 1), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3), (13, 1)] if k <= n]


def bands():
    return [partial(banded_row, c, n, k, s) for c in (FALLING, ROUGH, SIGNED, FALLING[:1], FALLING[:2]) for n in (1, 3, 6, 9)
            for k, s in [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (2, 5), (4, 1)] if k <= n]


FILES = {
    "pld/testdata/batches.json": lambda: File(
        "delta(epsilon) of the mechanism itself on small datasets, the largest over the other records' contributions in {-1, 0, 1}: a bound may not be below. "
        "truncated: 20 digits. shuffled: two steps, by the midpoint rule in the plane, 4 digits.", 40, {"truncated": truncated(), "shuffled": shuffled()}),
    "loss/testdata/participation.json": lambda: File(
        "squares: the largest squared norm over all patterns of participation, and signs of them, counted out. "
        "absolute: the largest sum of the absolute products of the columns of a pattern. signed: the largest squared norm over patterns and signs.", 30, {"trees": trees(), "bands": bands(), "toeplitz": toeplitz(), "dense": dense()}),
}
