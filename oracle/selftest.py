# SPDX-License-Identifier: Apache-2.0
"""The oracle against itself by unrelated methods, and against a file of workloads with known truths."""

import json
import sys
import time

from mpmath import mp, mpc, mpf

from . import contour, engine, laplace, normal, single, steps
from . import mechanisms as m
from .cumulant import cumulant
from .ledger import event, sides, workload
from .number import agree, exact
from .pairs import ADD, ADD_OR_REMOVE, REMOVE


def tails():
    """ln Φ and the Gaussian curve: error function against quadrature of the density."""
    for x in (-1e6, -300.0, -38.5, -5.0, -0.3):
        agree(normal.log_cdf(exact(x)), normal.log_cdf_by_quadrature(exact(x)), 30, f"ln Φ({x})")
    for mu, e in ((1.0, 1.0), (1.0, 30.0), (0.1, 1.0), (5.0, 2.0), (0.01, 0.0), (1.0, -1.0)):
        agree(mp.exp(normal.gaussian_log_delta(mu, e)), mp.exp(normal.gaussian_log_delta_by_quadrature(mu, e)), 28, f"δ, mu={mu}, ε={e}")


def cumulants():
    """Quadrature against the closed forms of Gaussian and Laplace; the mirror of add and remove; a series at an integer order."""
    for s in (mpc(0.3, 2), mpc(7, 0), mpc(-0.4, 3)):
        agree(cumulant(m.pair_of(m.gaussian(2.0), ADD_OR_REMOVE, REMOVE), s), s * (s + 1) / 8, 28, "Gaussian K")
        e0 = mpf(1) / 2
        closed = mp.log(((s + 1) * mp.exp(s * e0) + s * mp.exp(-(s + 1) * e0)) / (2 * s + 1))
        agree(cumulant(m.pair_of(m.laplace(2.0), ADD_OR_REMOVE, REMOVE), s), closed, 28, "Laplace K")
        for q, sigma in ((0.01, 1.0), (1e-9, 0.6), (0.7, 3.0)):
            mech = m.sampled(q, m.gaussian(sigma))
            agree(cumulant(m.pair_of(mech, ADD_OR_REMOVE, ADD), s), cumulant(m.pair_of(mech, ADD_OR_REMOVE, REMOVE), -1 - s), 26, "mirror")


def mirrors():
    """δ_add(ε) = 1 − e^ε (1 − δ_remove(−ε))."""
    for q, e in ((0.3, 0.2), (0.01, 0.005), (0.9, 1.0)):
        shift, q, e = mpf(1), exact(q), exact(e)
        agree(single.sampled_gaussian_add(shift, q, e), 1 - mp.exp(e) * (1 - single.sampled_gaussian_remove(shift, q, -e)), 28, "mirror of curves")


def sampled_steps():
    """Two steps of sampled Laplaces: extrapolated convolution against the definition."""
    for q, direction, symmetric in ((0.1, REMOVE, False), (0.3, ADD, False), (0.2, REMOVE, True)):
        step = steps.of(mpf(1), q, direction, symmetric)
        for e, d, digits in steps.deltas(step, 2, [50, 66, 80]):
            agree(d, steps.two_steps(step, e), digits, "two steps of a sampled Laplace")


def _contour(work, epsilon, digits, tau=None, direction=REMOVE):
    side = engine.Side(sides(work)[direction], direction, (16, tau) if tau else None)
    return side._contour(lambda k, t: k.log_delta(exact(epsilon), t), side.saddle(exact(epsilon)), digits)


def contours():
    """The contour against definitions: Gaussians, Gaussians with finite losses, one and two steps of a subsampled Gaussian, in a window."""
    w = workload("", ADD_OR_REMOVE, event(m.gaussian(2.0), 3))
    agree(_contour(w, 1.5, 26), normal.gaussian_log_delta(mp.sqrt(3) / 2, 1.5), 25, "Gaussians")
    w = workload("", ADD_OR_REMOVE, event(m.gaussian(5.0), 10), event(m.pure(0.1), 20), event(m.approximate(0.3, 1e-3), 2))
    side = engine.Side(sides(w)[REMOVE], REMOVE)
    agree(_contour(w, 1.0, 26), side.log_delta(exact(1.0)), 25, "Gaussians and finite losses")
    w = workload("", ADD_OR_REMOVE, event(m.sampled(0.1, m.gaussian(1.0))))
    agree(_contour(w, 1.0, 16, 1 / 20), mp.log(single.sampled_gaussian_remove(mpf(1), exact(0.1), mpf(1))), 15, "one step, window")
    w = workload("", ADD_OR_REMOVE, event(m.sampled(0.1, m.gaussian(1.0)), 2))
    pair = (mpf(1), exact(0.1))
    agree(_contour(w, 1.0, 16, 1 / 20), mp.log(single.two_sampled_gaussians_remove(pair, pair, mpf(1), 18)), 15, "two steps, window")


def laplaces():
    """Residues against the definition of one Laplace, and with a binary loss."""
    for e in (-0.3, 0.0, 0.2, 0.69):
        agree(laplace.curve([(0.7, 1)], [(mpf(0), mpf(1))], 0, e), laplace.by_definition(0.7, e), 30, "Laplace")
    rows = [(mpf(1) / 4, mpf(6) / 10), (mpf(-1) / 4, mpf(4) / 10)]
    mixed = sum(mass * laplace.by_definition(0.7, exact(0.1) - loss) for loss, mass in rows)
    agree(laplace.curve([(0.7, 1)], rows, 0, 0.1), mixed, 30, "Laplace and two losses")


def run():
    with mp.workdps(50):
        for check in (tails, cumulants, mirrors, laplaces, sampled_steps, contours):
            start = time.time()
            check()
            print(f"{check.__name__}: agrees, {time.time() - start:.1f} s", flush=True)


def compare(path, names):
    """Relative differences from the truths of a workload file, and the largest."""
    worst = mpf(0)
    with open(path, encoding="utf-8") as f:
        workloads = json.load(f)
    with mp.workdps(60):
        for work in workloads:
            if names and not any(n in work["name"] for n in names):
                continue
            for row in work["truth"]:
                (given, x), (asked, truth) = row.items()
                value, direction, _ = engine.truth_row(work, (given, float(x)))
                value = mp.exp(value) if asked == "delta" else value
                apart = abs(value / mpf(truth) - 1)
                worst = max(worst, apart)
                print(f"{work['name']}: {given} {x}: {asked} {mp.nstr(value, 18)} ({direction}), apart {mp.nstr(apart, 2)}", flush=True)
    print(f"largest relative difference {mp.nstr(worst, 2)}")
    if worst > mpf("2e-10"):
        sys.exit("beyond the tolerance of 2e-10")
