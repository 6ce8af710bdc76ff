# SPDX-License-Identifier: Apache-2.0
"""internal/pld/testdata/sampled_steps.json: 1 to 50 steps of sampled Laplaces, responses and declared guarantees."""

from functools import partial

from mpmath import mp, mpf

from . import mechanisms as m
from .data_engine import row
from .ledger import event, workload
from .number import text
from .pairs import ADD, ADD_OR_REMOVE, REMOVE, REPLACE
from .steps import deltas, of
from .writing import File

S, L = m.sampled, m.laplace
# One direction's δ at losses that its grids share: fractions of the way from the smallest to the largest sum of losses.
FRACTIONS = (0.55, 0.7, 0.85)


def steps_row(name, q, scale, n, adjacency, direction):
    with mp.workdps(60):
        step = of(1 / mpf(scale), q, direction, adjacency == REPLACE)
        marks = [int(f * 48 * n) for f in FRACTIONS]
        curve = [row for row in deltas(step, n, marks) if row[1] > mpf(10) ** -60]
        mechanism = S(q, L(scale))
        return {"name": name, "adjacency": adjacency, "direction": direction, "events": [event(mechanism, n)],
                "points": [{"epsilon": text(e, 30), "delta": text(d, digits), "digits": digits} for e, d, digits in curve]}


def laplaces():
    rows = []
    for q, scale in ((0.01, 1.0), (0.5, 2.0), (0.1, 0.25)):
        for n in (1, 3, 50):
            for d in (REMOVE, ADD):
                rows.append(partial(steps_row, f"laplace-{q}-{scale}x{n}", q, scale, n, ADD_OR_REMOVE, d))
            rows.append(partial(steps_row, f"laplace-replace-{q}-{scale}x{n}", q, scale, n, REPLACE, REMOVE))
    return rows


def finite():
    rows = []
    for q, e, d in ((0.01, 1.0, 1e-6), (0.3, 0.5, 1e-3), (0.05, 3.0, 1e-9)):
        for n in (1, 2, 10, 50):
            top = n * mp.log1p(q * mp.expm1(e))
            at = [float(top * f) for f in (0.0, 0.2, 0.6)]
            rows.append(partial(row, workload(f"sampled-pure-{q}-{e}x{n}", ADD_OR_REMOVE, event(S(q, m.pure(e)), n)), at, [1e-5]))
            rows.append(partial(row, workload(f"sampled-approximate-{q}-{e}-{d}x{n}", ADD_OR_REMOVE, event(S(q, m.approximate(e, d)), n)), at, [2 * q * d * n]))
            rows.append(partial(row, workload(f"sampled-response-{q}-{e}x{n}", REPLACE, event(S(q, m.response(e, 5)), n)), [0.0, 0.2 * n * q * e, e], [1e-4]))
    return rows


ABOUT = ("points: delta of one direction at losses epsilon that all grids share, digits of it; epsilon itself is an answer, 30 digits, so compare within what its "
         "rounding moves. rows: the larger of both directions, 26 digits.")
FILES = {"pld/testdata/sampled_steps.json": lambda: File(ABOUT, 60, {"laplaces": laplaces(), "rows": finite()})}
