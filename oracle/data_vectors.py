# SPDX-License-Identifier: Apache-2.0
"""Discrete Gaussian noise on several coordinates: every way to move whole numbers, chosen anew after each answer."""

from functools import lru_cache, partial

from mpmath import mp, mpf

from .discrete import gaussian_masses, gaussian_reach
from .number import exact, text
from .pairs import ADD_OR_REMOVE
from .writing import File

DIGITS = 40  # of what is left out of a coordinate's noise


def every_move(squared, coordinates):
    """All lists a_1 >= a_2 >= ... >= 1 of at most that many whole numbers with squares that sum to at most squared."""
    def grow(so_far, left):
        yield so_far
        for a in range(1, int(mp.sqrt(left)) + 1):
            if len(so_far) < coordinates and (not so_far or a <= so_far[-1]):
                yield from grow(so_far + (a,), left - a * a)
    return list(grow((), squared))


def loss_law(noise, moves):
    """P's law of the loss in units of 1/(2 sigma^2): the outcome a + z of a coordinate loses a(2z + a) of them."""
    law = {0: mpf(1)}
    for a in moves:
        after = {}
        for lost, p in law.items():
            for z, w in noise.items():
                k = lost + a * (2 * z + a)
                after[k] = after.get(k, 0) + p * w
        law = {k: p for k, p in after.items() if p > mpf(10) ** (-DIGITS - 5)}
    return law


def vector_row(sigma, distance, coordinates, times, epsilons):
    unit = 1 / (2 * exact(sigma) ** 2)
    noise = gaussian_masses(sigma, gaussian_reach(sigma, DIGITS))
    laws = [loss_law(noise, moves) for moves in every_move(int(mp.floor(exact(distance) ** 2)), coordinates)]
    truth = []
    for e in epsilons:
        epsilon = exact(e)

        @lru_cache(None)
        def most(left, lost):
            if left == 0:
                return max(mpf(0), 1 - mp.exp(epsilon - lost * unit))
            return max(mp.fsum(p * most(left - 1, lost + k) for k, p in law.items()) for law in laws)

        value = text(most(times, 0), 20)
        truth.append({"epsilon": e, "delta": value, "reached": value})
    return {"name": f"discrete Gaussian of {coordinates} coordinates, sigma {sigma}, distance {distance}, x {times}", "adjacency": ADD_OR_REMOVE,
            "events": [{"mechanism": {"discreteGaussian": {"standardDeviation": sigma, "distance": distance, "coordinates": str(coordinates)}}, "count": times}],
            "truth": truth}


def on_sample(law, unit, rate, add):
    """The law of the loss, with numbers for losses, of the pair with the law given on a Poisson sample: remove is ((1-q)Q + qP, Q), add is (P, (1-q)P + qQ)."""
    q = exact(rate)
    if add:  # the neighbours are exchanged: every discrete Gaussian is alike in both directions, so P has the law given
        return [(-mp.log(1 - q + q * mp.exp(-k * unit)), p) for k, p in law.items()]
    return [(mp.log(1 - q + q * mp.exp(k * unit)), p * (q + (1 - q) * mp.exp(-k * unit))) for k, p in law.items()]


def sampled_vector_row(sigma, distance, coordinates, rate, times, epsilons):
    unit = 1 / (2 * exact(sigma) ** 2)
    noise = gaussian_masses(sigma, gaussian_reach(sigma, DIGITS))
    moves = every_move(int(mp.floor(exact(distance) ** 2)), coordinates)
    directions = [[on_sample(loss_law(noise, m), unit, rate, add) for m in moves if m] for add in (False, True)]

    def most(laws, left, epsilon):
        if left == 0:
            return max(mpf(0), 1 - mp.exp(epsilon))
        return max(mp.fsum(p * most(laws, left - 1, epsilon - lost) for lost, p in law) for law in laws)

    truth = []
    for e in epsilons:
        value = text(max(most(laws, times, exact(e)) for laws in directions), 20)
        truth.append({"epsilon": e, "delta": value, "reached": value})
    return {"name": f"discrete Gaussian of {coordinates} coordinates, sigma {sigma}, distance {distance}, on samples of rate {rate}, x {times}", "adjacency": ADD_OR_REMOVE,
            "events": [{"mechanism": {"poissonSampled": {"samplingProbability": rate, "mechanism": {
                "discreteGaussian": {"standardDeviation": sigma, "sensitivity": distance, "coordinates": str(coordinates)}}}}, "count": times}],
            "truth": truth}


FILES = {
    "pld/testdata/sampled_vectors.json": lambda: File(
        "Discrete Gaussian noise on several coordinates on Poisson samples. delta and reached: the largest delta over every adaptive choice of which whole numbers move, by "
        "recursion over the loss so far, with all lists of moves, in either direction.", 50, {
            "rows": [partial(sampled_vector_row, 1.0, 2.0, 4, 0.1, 1, [0.0, 0.5, 3.0]), partial(sampled_vector_row, 2.0, 3.0, 9, 0.01, 1, [0.0, 0.1, 1.0]),
                     partial(sampled_vector_row, 0.5, 2.0, 3, 0.5, 1, [0.5, 5.0, 12.0]), partial(sampled_vector_row, 4.0, 4.0, 16, 0.01, 1, [0.0, 0.05, 0.3]),
                     partial(sampled_vector_row, 1.5, 2.5, 2, 1e-3, 1, [0.0, 1.0]), partial(sampled_vector_row, 1.0, 2.0, 4, 0.1, 2, [0.0, 0.5, 3.0]),
                     partial(sampled_vector_row, 0.7, 2.5, 3, 0.3, 2, [0.0, 6.0]), partial(sampled_vector_row, 2.5, 2.0, 4, 0.02, 2, [0.01, 0.2])]}),
    "pld/testdata/vectors.json": lambda: File(
        "Discrete Gaussian noise on several coordinates. delta and reached: the largest delta over every adaptive choice of which whole numbers move, by recursion over "
        "the loss so far, with all lists of moves.", 50, {
            "rows": [partial(vector_row, 1.0, 2.0, 4, 1, [0.0, 3.0, 8.0]), partial(vector_row, 0.5, 2.0, 4, 2, [0.0, 10.0, 25.0]),
                     partial(vector_row, 1.0, 2.0, 4, 3, [0.0, 5.3, 15.0]), partial(vector_row, 0.7, 3.0, 9, 2, [7.0, 25.0]),
                     partial(vector_row, 1.5, 2.5, 7, 2, [0.0, 4.0, 9.0]), partial(vector_row, 1.0, 3.0, 2, 2, [1.0, 9.7]),
                     partial(vector_row, 1.2, 1.5, 5, 3, [0.0, 2.0, 6.0]), partial(vector_row, 1.7, 3.0, 3, 1, [0.0, 2.0, 6.0]),
                     partial(vector_row, 0.3, 2.0, 4, 2, [30.0, 60.0]), partial(vector_row, 2.5, 2.0, 4, 2, [0.0, 1.0, 4.0])]}),
}
