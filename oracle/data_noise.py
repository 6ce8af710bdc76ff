# SPDX-License-Identifier: Apache-2.0
"""Discrete and cut-off noise and selections: internal/loss/testdata/noise.json (K) and internal/pld/testdata/noise.json (curves)."""

from functools import partial

from mpmath import mp, mpc, mpf

from . import discrete
from .ledger import event, workload
from .normal import gaussian_log_delta
from .number import exact, root, text
from .pairs import ADD_OR_REMOVE, REMOVE, REPLACE
from .writing import File

REAL = [-0.9, -0.5, -0.3, -1e-3, 1e-4, 0.1, 0.7, 1.0, 3.2, 11.0, 40.0]
COMPLEX = [(-0.5, 0.7), (-0.25, 4.0), (0.3, 1e-3), (0.3, 2.5), (1.0, 30.0), (2.0, 0.4), (7.5, 3.0)]


def _part(z, x):
    return text(x if abs(x) > abs(z) * mpf(10) ** -31 else 0)


def gaussian(sigma, sensitivity):
    return {"discreteGaussian": {"standardDeviation": sigma, "sensitivity": sensitivity}}


def laplace(scale, sensitivity):
    return {"discreteLaplace": {"scale": scale, "sensitivity": sensitivity}}


def truncated(scale, bound, sensitivity):
    return {"truncatedLaplace": {"scale": scale, "bound": bound, "sensitivity": sensitivity}}


def exponential(epsilon):
    return {"exponential": {"epsilon": epsilon}}


def _distance(fields, adjacency):
    d = exact(fields["sensitivity"]) * (2 if adjacency == REPLACE else 1)
    return d


def _moment(mechanism, adjacency, s):
    """E[e^{sL} | L < ∞]."""
    (name, f), = mechanism.items()
    if name == "discreteGaussian":
        d = int(_distance(f, adjacency))
        sigma = exact(f["standardDeviation"])
        # Terms e^{−(x−d)²/2σ²}·e^{sL(x)}, L(x) = d(2x − d)/2σ²: around (1 + Re s)d, far enough.
        centre = int(mp.nint((1 + s.real) * d))
        far = int(mp.ceil(sigma * mp.sqrt(2 * (mp.dps + 10) * mp.log(10)))) + 2
        top = mp.fsum(mp.exp(-mpf((x - d) ** 2) / (2 * sigma ** 2) + s * d * (2 * x - d) / (2 * sigma ** 2)) for x in range(centre - far, centre + far + 1))
        bottom = mp.fsum(mp.exp(-mpf(x * x) / (2 * sigma ** 2)) for x in range(-far, far + 1))
        return top / bottom
    if name == "discreteLaplace":
        return mp.fsum(p * mp.exp(s * l) for p, l in discrete.laplace_outcomes(f["scale"], int(_distance(f, adjacency))))
    if name == "truncatedLaplace":
        infinite, breaks, p, q = discrete.truncated_terms(f["scale"], f["bound"], _distance(f, adjacency))
        lam = exact(f["scale"])
        points = []
        for a, b in zip(breaks, breaks[1:]):  # parts in which nothing turns much
            n = 1 + int(abs(s) * (b - a) / lam / 4)
            points += [a + (b - a) * k / n for k in range(n)]
        points.append(breaks[-1])
        return mp.quad(lambda x: p(x) * mp.exp(s * mp.log(p(x) / q(x))), points, method="gauss-legendre") / (1 - infinite)
    raise ValueError(name)


def k_row(mechanism, adjacency, points):
    with mp.workdps(42):
        out = []
        for re, im in points:
            z = mp.log(_moment(mechanism, adjacency, mpc(re, im)))
            out.append({"s": [re, im], "k": [_part(z, z.real), _part(z, z.imag)]})
    return {"mechanism": mechanism, "adjacency": adjacency, "direction": REMOVE, "points": out}


def renyi_row(epsilon, orders):
    """The largest K(s) of any mechanism whose losses lie in a range of width ε, at s > 0."""
    with mp.workdps(60):
        return {"epsilon": epsilon, "points": [
            {"s": s, "k": text(mp.log(discrete.worst_of_range(epsilon, lambda rows: mp.fsum(p * mp.exp(exact(s) * l) for p, l in rows))), 26)} for s in orders]}


def range_row(epsilon, points):
    """The largest δ(ε') of any one of them."""
    with mp.workdps(60):
        return {"epsilon": epsilon, "points": [
            {"epsilon": e, "delta": text(discrete.worst_of_range(epsilon, lambda rows: discrete.delta_of(rows, exact(e)), max(0, exact(e))), 26)} for e in points]}


def cumulants():
    every = [(x, 0.0) for x in REAL] + COMPLEX
    rows = [partial(k_row, gaussian(sigma, d), adjacency, every)
            for sigma, d, adjacency in [(0.08, 1.0, ADD_OR_REMOVE), (0.3, 1.0, ADD_OR_REMOVE), (0.499, 2.0, ADD_OR_REMOVE), (0.5, 1.0, ADD_OR_REMOVE), (0.8, 3.0, REPLACE),
                                        (3.0, 1.0, ADD_OR_REMOVE), (3.0, 1.0, REPLACE), (50.0, 7.0, ADD_OR_REMOVE), (200.0, 1.0, ADD_OR_REMOVE)]]
    rows += [partial(k_row, laplace(b, d), adjacency, every)
             for b, d, adjacency in [(0.4, 2.0, ADD_OR_REMOVE), (1.0, 1.0, REPLACE), (2.0, 5.0, ADD_OR_REMOVE), (30.0, 3.0, ADD_OR_REMOVE), (100.0, 250.0, ADD_OR_REMOVE), (1e4, 4.0, REPLACE), (1e6, 2.0, ADD_OR_REMOVE)]]
    rows += [partial(k_row, truncated(b, t, d), adjacency, [(x, 0.0) for x in (-0.3, 1e-4, 0.7, 11.0)] + [(-0.25, 4.0), (0.3, 2.5), (7.5, 3.0)])
             for b, t, d, adjacency in [(1.0, 12.0, 1.0, ADD_OR_REMOVE), (1.0, 3.0, 1.0, REPLACE), (2.0, 4.0, 3.9, ADD_OR_REMOVE), (0.5, 1.0, 1.5, ADD_OR_REMOVE), (1e3, 2e4, 1.0, ADD_OR_REMOVE), (10.0, 15.0, 14.0, REPLACE)]]
    return rows


def renyi():
    orders = [1e-3, 0.5, 1.0, 3.0, 10.0, 63.0, 1e3]
    return [partial(renyi_row, e, orders) for e in (1e-3, 0.1, 1.0, 4.0, 12.0)]


def ranges():
    return [partial(range_row, e, [-0.5 * e, 0.0, 0.1 * e, 0.5 * e, 0.9 * e, 0.999 * e]) for e in (0.01, 1.0, 5.0)]


DELTAS = [1e-40, 1e-20, 1e-10, 1e-5, 1e-3, 0.1, 0.6]


def _curve(rows, work, deltas=DELTAS):
    """Truths of a curve of outcomes (P, L), finite losses only."""
    curve = discrete.Curve(rows)
    truth = []
    for delta in deltas:
        if exact(delta) >= curve.delta(mpf(0)):
            truth.append({"delta": delta, "epsilon": "0"})
            continue
        e = root(lambda x: exact(delta) - curve.delta(x), 0, curve.losses[-1], 30)
        truth.append({"delta": delta, "epsilon": text(e, 26)})
        at = float(e) * 0.97  # not at a loss, where the curve is steep
        d = curve.delta(exact(at))
        truth.append({"epsilon": at, "delta": text(d, 26), "logDelta": text(mp.log(d), 26)})
    return {k: work[k] for k in ("name", "adjacency", "events")} | {"truth": truth}


def gaussian_rows(sigma, d, n):
    sigma2 = exact(sigma) ** 2
    far = discrete.gaussian_reach(sigma, 100)
    masses = discrete.gaussian_masses(sigma, far)
    total = discrete.power([masses[x] for x in range(-far, far + 1)], n)
    # P is centred at d: the sum of the noises is y − nd where the sum of the outputs is y; ΣL = d(2y − nd)/2σ².
    return [(p, mpf(d) * (2 * (i - n * far + n * d) - n * d) / (2 * sigma2)) for i, p in enumerate(total)]


def gaussians(sigma, sensitivity, n, adjacency=ADD_OR_REMOVE):
    with mp.workdps(110):
        d = int(sensitivity) * (2 if adjacency == REPLACE else 1)
        return _curve(gaussian_rows(sigma, d, n), workload(f"discrete-gaussian-{sigma}-{sensitivity}-{adjacency}x{n}", adjacency, event(gaussian(sigma, sensitivity), n)))


def laplaces(scale, sensitivity, n):
    with mp.workdps(110):
        d = int(sensitivity)
        total = discrete.power([p for p, _ in discrete.laplace_outcomes(scale, d)], n)
        rows = [(p, mpf(2 * i - n * d) / exact(scale)) for i, p in enumerate(total)]
        return _curve(rows, workload(f"discrete-laplace-{scale}-{sensitivity}x{n}", ADD_OR_REMOVE, event(laplace(scale, sensitivity), n)))


def with_pure(scale, sensitivity, n, epsilons):
    """Lattices that do not fit together, all outcomes listed."""
    with mp.workdps(120):
        d = int(sensitivity)
        total = discrete.power([p for p, _ in discrete.laplace_outcomes(scale, d)], n)
        rows = [(p, mpf(2 * i - n * d) / exact(scale)) for i, p in enumerate(total)]
        for e in epsilons:
            x = exact(e)
            high = 1 / (1 + mp.exp(-x))
            rows = [(p * w, l + k) for p, l in rows for w, k in ((high, x), (1 - high, -x))]
        events = [event(laplace(scale, sensitivity), n)] + [event({"pureDp": {"epsilon": e}}) for e in epsilons]
        return _curve(rows, workload(f"discrete-laplace-{scale}-{sensitivity}x{n} with {len(epsilons)} pure", ADD_OR_REMOVE, *events), [1e-10, 1e-5, 1e-2])


def with_gaussian(sigma, sensitivity, n, mu, steps):
    """The Gaussian curve averaged over the discrete losses."""
    with mp.workdps(60):
        rows = [r for r in gaussian_rows(sigma, int(sensitivity), n) if r[0] > mpf(10) ** -36]
        whole = exact(mu) * mp.sqrt(steps)

        def delta(e):
            return mp.fsum(p * mp.exp(gaussian_log_delta(whole, e - l)) for p, l in rows)

        work = workload(f"discrete-gaussian-{sigma}-{sensitivity}x{n} with gaussians", ADD_OR_REMOVE, event(gaussian(sigma, sensitivity), n), event({"gaussianDp": {"mu": mu}}, steps))
        truth = []
        for e in (0.25, 2.0, 6.0):
            v = delta(exact(e))
            truth.append({"epsilon": e, "delta": text(v, 26), "logDelta": text(mp.log(v), 26)})
        return work | {"truth": truth}


def truncateds(scale, bound, sensitivity, adjacency):
    """One release, by quadrature of (p − e^ε·q)₊."""
    with mp.workdps(60):
        d = _distance({"sensitivity": sensitivity}, adjacency)
        infinite, breaks, p, q = discrete.truncated_terms(scale, bound, d)
        lam, e0 = exact(scale), d / exact(scale)

        def delta(e):
            # L rises: it passes e where 2x − d = eλ, between the centres.
            x = min(max((e * lam + d) / 2, breaks[0]), breaks[-1])
            if e >= e0:
                return infinite
            points = [x] + [b for b in breaks if b > x]
            return infinite + (mp.quad(lambda y: p(y) - mp.exp(e) * q(y), points) if len(points) > 1 else 0)

        work = workload(f"truncated-laplace-{scale}-{bound}-{sensitivity}-{adjacency}", adjacency, event(truncated(scale, bound, sensitivity)))
        truth = []
        for f in (0.0, 0.3, 0.8, 0.99, 1.5):
            e = float(e0) * f
            v = delta(exact(e))
            truth.append({"epsilon": e, "delta": text(v, 26), "logDelta": text(mp.log(v), 26)})
        return work | {"truth": truth}


def curves():
    rows = [partial(gaussians, sigma, d, n) for sigma, d, n in [(3.0, 1.0, 1), (3.0, 1.0, 50), (0.7, 1.0, 4), (0.25, 1.0, 2), (12.0, 5.0, 30), (40.0, 7.0, 3), (600.0, 400.0, 1)]]
    rows += [partial(gaussians, 3.0, 1.0, 20, REPLACE)]
    rows += [partial(laplaces, b, d, n) for b, d, n in [(2.0, 1.0, 30), (2.0, 3.0, 50), (30.0, 40.0, 5), (200.0, 300.0, 1)]]
    rows += [partial(with_pure, 1.5, 2.0, 4, [0.7, 0.31, 1.1]), partial(with_pure, 3.0, 5.0, 20, [0.7, 0.31])]
    rows += [partial(with_gaussian, 1.0, 1.0, 3, 0.25, 10)]
    rows += [partial(truncateds, *a) for a in [(1.0, 12.0, 1.0, ADD_OR_REMOVE), (1.0, 12.0, 1.0, REPLACE), (2.0, 4.0, 3.9, ADD_OR_REMOVE), (0.5, 1.0, 1.5, ADD_OR_REMOVE), (1e3, 2e4, 1.0, ADD_OR_REMOVE)]]
    return rows


FILES = {
    "loss/testdata/noise.json": lambda: File(
        "K(s) as in plain.json, of noise on whole numbers and of cut-off Laplace noise, from probabilities one by one and from densities; renyi: the largest K(s) of "
        "randomized response with losses in a range of width epsilon; ranges: the largest delta of one of them. 30 and 26 digits.",
        60, {"rows": cumulants(), "renyi": renyi(), "ranges": ranges()}),
    "pld/testdata/noise.json": lambda: File(
        "Curves of the same: sums of n whole numbers by exact integers, all outcomes listed, a Gaussian curve averaged over them, one truncated release by quadrature. 26 digits.",
        60, {"rows": curves()}),
}
