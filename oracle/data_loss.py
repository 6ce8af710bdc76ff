# SPDX-License-Identifier: Apache-2.0
"""internal/loss/testdata: K(s) of single mechanisms at real and complex s."""

import random
from functools import partial

from mpmath import mp, mpc, mpf

from . import mechanisms as m
from .cumulant import cumulant
from .number import Inexact, text
from .pairs import ADD, ADD_OR_REMOVE, REMOVE, REPLACE
from .writing import File

REAL = [-0.999, -0.75, -0.5, -0.1, -1e-3, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 3.7, 7.0, 15.5, 31.0, 60.0]
COMPLEX = [(-0.9, 0.3), (-0.5, 1.0), (-0.5, 37.0), (-0.25, 4.0), (-0.1, 250.0), (0.1, 0.01), (0.3, 5.0), (0.5, 100.0), (0.5, 1000.0), (1.0, 1e-4), (1.0, 1.0),
           (1.5, 20.0), (2.0, 3.0), (3.7, 60.0), (5.0, 1000.0), (8.0, 2.0), (12.5, 0.7), (20.0, 300.0), (31.5, 11.0), (45.0, 1.5), (60.0, 0.1), (60.0, 40.0)]


def component(z, part):
    """Re or Im as text; what lies below the accuracy of z is 0."""
    value = getattr(mpc(z), part)
    return text(value if abs(value) > abs(z) * mpf(10) ** -31 else 0)


def row(mechanism, adjacency, direction, points):
    with mp.workdps(150):
        pair = m.pair_of(mechanism, adjacency, direction)
    out = []
    for re, im in points:
        try:
            k = cumulant(pair, mpc(re, im))
        except Inexact:
            continue  # e^K below 10^−400 of its size on the real axis: no test needs its phase
        out.append({"s": [re, im], "k": [component(k, "real"), component(k, "imag")]})
    return {"mechanism": mechanism, "adjacency": adjacency, "direction": direction, "points": out}


def sample_points(r, reals, complexes):
    points = [(x, 0.0) for x in sorted(r.sample(REAL, reals))] + sorted(r.sample(COMPLEX, complexes))
    return points


def sampled_gaussian(q_values, sigmas, seed, reals, complexes, replace=False):
    r = random.Random(seed)
    rows = []
    for q in q_values:
        for sigma in sigmas:
            sensitivity = r.choice([1.0, 1.0, 0.5, 3.0])
            mech = m.sampled(q, m.gaussian(sigma * sensitivity, sensitivity))
            for direction in (REMOVE,) if replace else (REMOVE, ADD):
                rows.append(partial(row, mech, REPLACE if replace else ADD_OR_REMOVE, direction, sample_points(r, reals, complexes)))
    return rows


def plain():
    every = [(x, 0.0) for x in REAL] + COMPLEX
    rows = []
    for sigma, sensitivity in [(0.5, 1.0), (1.0, 1.0), (2.5, 0.7), (20.0, 1.0), (1e4, 1.0)]:
        rows.append(partial(row, m.gaussian(sigma, sensitivity), ADD_OR_REMOVE, REMOVE, every))
    rows.append(partial(row, m.gaussian(1.0, 1.0), ADD_OR_REMOVE, ADD, every[::3]))
    rows.append(partial(row, m.gaussian(3.0, 1.0), REPLACE, REMOVE, every[::2]))
    rows.append(partial(row, m.gaussian_dp(0.3), ADD_OR_REMOVE, REMOVE, every[::3]))
    for scale, sensitivity in [(0.1, 1.0), (1.0, 1.0), (3.0, 2.0), (50.0, 1.0), (1e4, 1.0), (1e8, 1.0)]:
        rows.append(partial(row, m.laplace(scale, sensitivity), ADD_OR_REMOVE, REMOVE, every[::1 if scale < 10 else 2] + [(-0.5, 0.0), (-0.5, 1e-3), (-0.49999, 0.0)]))
    rows.append(partial(row, m.laplace(1.0, 1.0), ADD_OR_REMOVE, ADD, every[::3]))
    rows.append(partial(row, m.laplace(5.0, 1.0), REPLACE, REMOVE, every[::2]))
    for e in [1e-9, 1e-5, 0.01, 0.1, 1.0, 5.0, 30.0]:
        rows.append(partial(row, m.pure(e), ADD_OR_REMOVE, REMOVE, every[::2]))
    rows.append(partial(row, m.pure(0.7), ADD_OR_REMOVE, ADD, every[::3]))
    for e in [0.1, 1.3]:
        rows.append(partial(row, m.response(e), REPLACE, REMOVE, every[::2]))
    for e, k in [(0.1, 3), (1.0, 4), (2.3978952727983707, 10), (1e-4, 7), (4.0, 1000)]:
        rows.append(partial(row, m.response(e, k), REPLACE, REMOVE, every[::2]))
    for e, d in [(0.05, 1e-9), (1.0, 0.01), (0.3, 0.5)]:
        rows.append(partial(row, m.approximate(e, d), ADD_OR_REMOVE, REMOVE, every[::4]))
    return rows


def sampled_other():
    rows = []
    every = [(x, 0.0) for x in REAL] + COMPLEX
    for q, inner in [(0.01, m.laplace(1.0)), (0.3, m.laplace(2.0)), (1e-6, m.laplace(0.5)), (0.01, m.pure(1.0)), (0.5, m.pure(0.2)), (1e-6, m.pure(0.5))]:
        for direction in (REMOVE, ADD):
            rows.append(partial(row, m.sampled(q, inner), ADD_OR_REMOVE, direction, every[::3]))
    return rows


def sampled_pairs():
    """Mostly on the real axis, where orders are searched."""
    points = [(x, 0.0) for x in REAL[1::3]] + [(-0.5, 1.0), (0.3, 5.0), (2.0, 3.0), (12.5, 0.7)]
    rows = []
    for q, inner in [(0.01, m.approximate(1.0, 1e-3)), (0.5, m.approximate(0.2, 0.1)), (1e-6, m.approximate(2.0, 1e-6)), (0.02, m.gaussian_dp(0.8)),
                     (1e-9, m.laplace(0.2)), (0.9, m.laplace(0.1)), (1e-12, m.pure(3.0))]:
        for direction in (REMOVE, ADD):
            rows.append(partial(row, m.sampled(q, inner), ADD_OR_REMOVE, direction, points))
    for q, inner in [(0.01, m.laplace(1.0)), (0.3, m.laplace(2.0)), (1e-6, m.laplace(0.5)), (0.8, m.laplace(0.15)), (0.01, m.response(1.0)),
                     (0.4, m.response(2.0, 7)), (1e-7, m.response(0.3, 3))]:
        rows.append(partial(row, m.sampled(q, inner), REPLACE, REMOVE, points))
    return rows


SMALL_Q = [1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4]
LARGE_Q = [1e-3, 0.004266666666666667, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0]
SIGMAS = [0.3, 0.5, 0.8, 1.0, 1.7, 4.0, 20.0]

ABOUT = ("K(s) = ln E_P[e^{sL} | L finite], L = ln dP/dQ, at s = s[0] + i s[1]; k = [Re K, Im K], a principal logarithm: "
         "compare Im modulo 2 pi. 30 digits of |K|. Inputs are binary64, taken exactly. REMOVE: P is the output with the record.")


FILES = {
    "loss/testdata/plain.json": lambda: File(ABOUT, 50, {"rows": plain()}),
    "loss/testdata/sampled_other.json": lambda: File(ABOUT, 50, {"rows": sampled_other()}),
    "loss/testdata/sampled_pairs.json": lambda: File(ABOUT, 50, {"rows": sampled_pairs()}),
    "loss/testdata/sampled_gaussian_small_q.json": lambda: File(ABOUT, 50, {"rows": sampled_gaussian(SMALL_Q, SIGMAS, 11, 3, 4)}),
    "loss/testdata/sampled_gaussian_large_q.json": lambda: File(ABOUT, 50, {"rows": sampled_gaussian(LARGE_Q, SIGMAS, 12, 3, 4)}),
    "loss/testdata/sampled_gaussian_replace_one.json": lambda: File(ABOUT, 50, {"rows": sampled_gaussian([1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.5, 1.0], SIGMAS, 13, 3, 4, replace=True)}),
}
