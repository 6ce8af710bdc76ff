# SPDX-License-Identifier: Apache-2.0
"""Reports that everybody randomizes, in a random order: the clones' pair from its definition, and what attackers of small datasets see, counted out."""

import random
from collections import Counter
from functools import partial
from itertools import combinations_with_replacement, permutations

from mpmath import mp, mpf

from .number import exact, text
from .pairs import REPLACE
from .writing import File

EPSILONS = [0.0, 0.25, 1.0]


def hockey_stick(p, q, epsilon):
    return sum((max(mpf(0), x - mp.exp(epsilon) * q.get(key, mpf(0))) for key, x in p.items()), mpf(0))


def clones(e0, n):
    """(A + D, C - A + 1 - D) with C ~ Bin(n - 1, exp(-e0)), A ~ Bin(C, 1/2), D ~ Bernoulli, for both records."""
    share, own = mp.exp(-e0), mp.exp(e0) / (1 + mp.exp(e0))
    p, q = Counter(), Counter()
    for c in range(n):
        for a in range(c + 1):
            mass = mp.binomial(n - 1, c) * share ** c * (1 - share) ** (n - 1 - c) * mp.binomial(c, a) / mpf(2) ** c
            p[a + 1, c - a] += mass * own
            p[a, c - a + 1] += mass * (1 - own)
            q[a + 1, c - a] += mass * (1 - own)
            q[a, c - a + 1] += mass * own
    return p, q


def with_report(histograms, answers):
    """The histograms after one more report."""
    out = Counter()
    for histogram, mass in histograms.items():
        for answer, probability in enumerate(answers):
            more = list(histogram)
            more[answer] += 1
            out[tuple(more)] += mass * probability
    return out


def worst(randomizer, n):
    """The largest curve over all records of the others, and both values of the one record."""
    inputs, best = range(len(randomizer)), [mpf(0)] * len(EPSILONS)
    for others in combinations_with_replacement(inputs, n - 1):
        histograms = {(0,) * len(randomizer[0]): mpf(1)}
        for x in others:
            histograms = with_report(histograms, randomizer[x])
        seen = [with_report(histograms, randomizer[x]) for x in inputs]
        for a, b in permutations(inputs, 2):
            best = [max(old, hockey_stick(seen[a], seen[b], exact(e))) for old, e in zip(best, EPSILONS)]
    return best


def response(e0, k):
    return [[(mp.exp(e0) if i == j else mpf(1)) / (mp.exp(e0) + k - 1) for j in range(k)] for i in range(k)]


def some_randomizer(e0, inputs, answers, seed):
    """Probabilities between u and exp(e0) u of each answer, the upper or the lower end for most."""
    draw = random.Random(seed)
    while True:
        base = [mpf(draw.uniform(0.1, 1)) for _ in range(answers)]
        rows = [[u * draw.choice([1, mp.exp(e0)]) for u in base] for _ in range(inputs)]
        rows = [[x / sum(row) for x in row] for row in rows]
        most = max(a / b for r in rows for s in rows for a, b in zip(r, s))
        if most > 1:  # more noise, until it is exp(e0)-DP
            low, high = mpf(0), mpf(1)
            for _ in range(60):
                mid = (low + high) / 2
                mixed = [[(1 - mid) * x + mid / answers for x in row] for row in rows]
                if max(a / b for r in mixed for s in mixed for a, b in zip(r, s)) <= mp.exp(e0):
                    high = mid
                else:
                    low = mid
            return [[(1 - high) * x + high / answers for x in row] for row in rows]


def row(name, reports, inner, field, curve):
    truth = [{"epsilon": e, field: text(d if d > mpf(10) ** -30 else mpf(0), 15)} for e, d in zip(EPSILONS, curve)]  # 0 where rounding is left
    return {"name": name, "adjacency": REPLACE, "events": [{"mechanism": {"shuffledReports": {"reports": reports, "mechanism": inner}}, "count": 1}], "truth": truth}


def clones_row(e0, n):
    p, q = clones(exact(e0), n)
    return row(f"clones {e0} {n}", n, {"pureDp": {"epsilon": e0}}, "delta", [hockey_stick(p, q, exact(e)) for e in EPSILONS])


def response_row(e0, k, n):
    return row(f"response {e0} {k} {n}", n, {"randomizedResponse": {"epsilon": e0, "buckets": k}}, "reached", worst(response(exact(e0), k), n))


def member_row(e0, inputs, answers, n, seed):
    return row(f"member {e0} {inputs} {answers} {n} {seed}", n, {"pureDp": {"epsilon": e0}}, "reached", worst(some_randomizer(exact(e0), inputs, answers, seed), n))


FILES = {
    "pld/testdata/reports.json": lambda: File(
        "Reports in a random order. delta: what the pair of clones has, from its definition; reached: the largest over all records of the others, by counting out "
        "the histograms of reports, of randomized response and of randomizers drawn at random that are epsilon-DP.", 40, {
            "rows": [partial(clones_row, *x) for x in [(1.0, 2), (1.0, 5), (2.0, 5), (4.0, 8), (0.5, 20), (2.0, 40), (4.0, 200), (1.0, 150), (1.0, 600)]] +
                    [partial(response_row, *x) for x in [(1.0, 2, 2), (1.0, 2, 6), (2.0, 2, 12), (1.0, 3, 2), (1.0, 3, 4), (2.0, 3, 7), (2.0, 4, 5), (1.0, 5, 4),
                                                         (3.0, 4, 6), (1.0, 3, 10), (0.5, 4, 6), (4.0, 5, 4)]] +
                    [partial(member_row, *x) for x in [(1.0, 2, 3, 6, 1), (1.0, 3, 3, 5, 2), (2.0, 3, 4, 4, 3), (3.0, 3, 3, 6, 4), (0.5, 4, 3, 5, 5), (2.0, 2, 5, 5, 6),
                                                       (1.5, 4, 4, 4, 7), (4.0, 3, 3, 6, 8)]]}),
}
