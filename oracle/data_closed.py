"""internal/pld/testdata/closed.json: one Laplace, groups of randomized response and pure-DP, (ε,δ) atoms — exact sums."""

from mpmath import mp, mpf

from . import atoms, laplace
from . import mechanisms as m
from .ledger import event, workload
from .number import agree, exact, text
from .pairs import ADD_OR_REMOVE, REPLACE

DELTAS = [1e-300, 1e-100, 1e-30, 1e-15, 1e-10, 1e-8, 1e-5, 1e-3, 0.05, 0.3, 0.9]


def _truth(curve, work, epsilons, deltas):
    rows = []
    for epsilon in epsilons:
        d = curve.delta(exact(epsilon))
        row = {"epsilon": epsilon, "delta": text(d)}
        if d > 0:
            row["logDelta"] = text(mp.log(d))
        rows.append(row)
    for delta in deltas:
        rows.append({"delta": delta, "epsilon": text(curve.epsilon(exact(delta)))})
    return {k: work[k] for k in ("name", "adjacency", "events")} | {"truth": rows}


class _OneLaplace:
    """The curve by definition, its inverse from Balle, Barthe, Gaboardi 2018, Thm 3, the two checked against each other."""

    def __init__(self, e0):
        self.e0 = exact(e0)

    def delta(self, epsilon):
        direct = laplace.by_definition(self.e0, epsilon)
        return agree(laplace.curve([(self.e0, 1)], [(mpf(0), mpf(1))], 0, epsilon), direct, 30, "one Laplace") if direct else direct

    def epsilon(self, delta):
        value = max(mpf(0), self.e0 + 2 * mp.log1p(-delta))
        if value:
            agree(laplace.by_definition(self.e0, value), delta, 40, "inverse of one Laplace")
        return value


def _epsilons(e0, n):
    """From the middle of the curve to its end, some exactly at losses, some between, one beyond."""
    reach = min(n * e0, e0 * (n * float(mp.tanh(e0 / 2)) + 6 * n ** 0.5))
    picks = [0.0, reach * 0.1, reach * 0.25, reach * 0.5, reach * 0.75, e0 * (n % 2), e0 * (n // 2), n * e0 * 0.999, n * e0 * 1.001]
    return sorted(set(round(x, 6) if x > 0.01 else x for x in picks))


def build():
    mp.dps = 400  # P and Q sums cancel to the size of δ
    rows = []
    for scale, sensitivity, adjacency in [(1.0, 1.0, ADD_OR_REMOVE), (0.1, 1.0, ADD_OR_REMOVE), (100.0, 1.0, ADD_OR_REMOVE), (1e6, 1.0, ADD_OR_REMOVE),
                                          (0.01, 1.0, ADD_OR_REMOVE), (3.0, 2.0, REPLACE)]:
        w = workload(f"laplace-{scale}-{adjacency}", adjacency, event(m.laplace(scale, sensitivity)))
        e0 = m.shift_of(w["events"][0]["mechanism"], adjacency)
        with mp.workdps(380):
            rows.append(_truth(_OneLaplace(e0), w, [float(e0) * f for f in (0.0, 0.1, 0.5, 0.9, 0.999999, 1.5)], DELTAS))
    for e0, n in [(1.0, 1), (0.1, 2), (0.1, 3), (0.05, 50), (1.0, 100), (2.0, 7), (10.0, 3), (30.0, 2), (0.01, 1000), (0.5, 1000), (1e-3, 10000), (0.1, 10000),
                  (1e-6, 1000), (1e-9, 100), (0.01, 100000), (1e-3, 100000), (3.0, 100000)]:
        w = workload(f"pure-{e0}x{n}", ADD_OR_REMOVE, event(m.pure(e0), n))
        with mp.workdps(400 + int(n * e0 / 2.3) if n * e0 < 400 else 420):
            rows.append(_truth(atoms.Steps(atoms.binary_rows(e0, n)), w, _epsilons(e0, n), DELTAS))
    for e0, n in [(0.1, 100), (1.0986122886681098, 100), (0.01, 5000)]:
        w = workload(f"response-{e0}x{n}", REPLACE, event(m.response(e0), n))
        rows.append(_truth(atoms.Steps(atoms.binary_rows(e0, n)), w, _epsilons(e0, n), DELTAS))
    for e0, k, n in [(1.0, 3, 1), (2.3978952727983707, 10, 20), (1.0, 4, 100), (0.1, 1000, 500), (5.0, 100, 10), (0.02, 3, 5000), (0.5, 1 << 40, 50)]:
        w = workload(f"response-{e0}-k{k}x{n}", REPLACE, event(m.response(e0, k), n))
        rows.append(_truth(atoms.Steps(atoms.trinomial_rows(e0, k, n)), w, _epsilons(e0, n), DELTAS))
    for e0, d0, n in [(0.05, 1e-9, 20), (1.0, 1e-6, 1), (1.0, 1e-6, 50), (0.1, 1e-18, 1000), (0.01, 1e-300, 100), (0.5, 0.5, 3), (0.1, 1e-12, 100000)]:
        w = workload(f"approximate-{e0}-{d0}x{n}", ADD_OR_REMOVE, event(m.approximate(e0, d0), n))
        curve = atoms.Steps(atoms.binary_rows(e0, n), atoms.approximate_infinite([(d0, n)]))
        rows.append(_truth(curve, w, _epsilons(e0, n), DELTAS))
    w = workload("pure-and-approximate-one-epsilon", ADD_OR_REMOVE, event(m.pure(0.1), 30), event(m.approximate(0.1, 1e-7), 20), event(m.approximate(0.1, 1e-5), 2))
    rows.append(_truth(atoms.Steps(atoms.binary_rows(0.1, 52), atoms.approximate_infinite([(1e-7, 20), (1e-5, 2)])), w, _epsilons(0.1, 52), DELTAS))
    return {"about": "Exact curves, 30 digits: truth rows give delta at epsilon (logDelta too; delta 0 is exact) or the least epsilon >= 0 at delta "
                     "(Infinity below delta_infinity). Inputs are binary64, taken exactly. Where epsilon is exactly a loss the sums with > and >= agree.",
            "rows": rows}


FILES = {"pld/testdata/closed.json": build}
