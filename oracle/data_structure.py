# SPDX-License-Identifier: Apache-2.0
"""Tables of losses and of Rényi divergences composed with others, and the best of a random number of runs, from their definitions."""

from functools import lru_cache, partial

from mpmath import mp, mpf

from . import mechanisms as m
from .number import exact, root, text
from .pairs import ADD_OR_REMOVE, REPLACE
from .writing import File


def event(mechanism, count=1):
    return {"mechanism": mechanism, "count": count}


def table(losses, masses, infinite=None):
    return {"privacyLossTable": {"losses": losses, "masses": masses} | ({"infiniteMass": infinite} if infinite else {})}


def renyi(orders, epsilons):
    return {"renyiDp": {"orders": orders, "epsilons": epsilons}}


# ---- Tables of losses: P has p_i, Q has p_i e^{-l_i}; each has what the other lacks.

def outcomes(mechanism, add):
    """(P mass, Q mass) of one release, the masses in proportion; what only P or only Q has among them."""
    f = mechanism["privacyLossTable"]
    losses, masses = [exact(x) for x in f["losses"]], [exact(x) for x in f["masses"]]
    infinite = exact(f.get("infiniteMass", 0))
    total = mp.fsum(masses) + infinite
    rows = [(p / total, p / total * mp.exp(-l)) for l, p in zip(losses, masses)]
    over = mp.fsum(q for _, q in rows)
    if over > 1:
        rows = [(p, q / over) for p, q in rows]
    rows += [(infinite / total, mpf(0)), (mpf(0), max(mpf(0), 1 - over))]
    return [(q, p) for p, q in rows] if add else rows


def listed(events, epsilon, add):
    """δ by listing every product outcome: Σ (P − e^ε Q)+, outcomes that only P has whole."""
    rows = [(mpf(1), mpf(1))]
    for e in events:
        for _ in range(e["count"]):
            rows = [(a * p, b * q) for a, b in rows for p, q in outcomes(e["mechanism"], add)]
            merged = {}
            for p, q in rows:  # equal ratios in one outcome
                if p == 0:
                    continue
                key = mp.nstr(q / p, 40)
                a, b = merged.get(key, (mpf(0), mpf(0)))
                merged[key] = (a + p, b + q)
            rows = list(merged.values())
    return mp.fsum(max(mpf(0), p - mp.exp(epsilon) * q) for p, q in rows)


def table_row(name, events, epsilons):
    truth = []
    for e in epsilons:
        delta = max(listed(events, exact(e), add) for add in (False, True))
        truth.append({"epsilon": e, "delta": text(delta, 20), "logDelta": text(mp.log(delta), 20)})
    return {"name": name, "adjacency": REPLACE, "events": events, "truth": truth}


def tables():
    even = table([-1.0, 0.5, 2.0], [0.125, 0.5, 0.25], 0.125)
    add_worse = table([-2.0, 0.75], [0.0625, 0.9375])
    fine = table([-0.3, -0.1, 0.0, 0.2, 0.25], [0.1, 0.2, 0.3, 0.2, 0.2])
    return [
        partial(table_row, "even", [event(even, 3)], [0.0, 1.0, 3.0]),
        partial(table_row, "add-is-worse", [event(add_worse, 5)], [0.0, 0.7, 2.0]),
        partial(table_row, "fine", [event(fine, 12)], [0.0, 0.5, 1.0]),
        partial(table_row, "two-kinds", [event(fine, 4), event(even, 2)], [0.1, 2.0]),
    ]


# ---- Tables of Rényi divergences: the least curve convex in e^ε and below the conversion in both directions.

class Known:
    """K(s) ≤ bound(s): Σρ s(s+1) and tables, each its lower hull through (0, 0)."""

    def __init__(self, events):
        self.rho = mp.fsum(exact(e["mechanism"]["zeroConcentratedDp"]["rho"]) * e["count"] for e in events if "zeroConcentratedDp" in e["mechanism"])
        self.tables = []
        for e in events:
            if "renyiDp" in e["mechanism"]:
                f = e["mechanism"]["renyiDp"]
                points = [(mpf(0), mpf(0))] + [(exact(a) - 1, (exact(a) - 1) * exact(v)) for a, v in zip(f["orders"], f["epsilons"])]
                self.tables.append((e["count"], points))
        self.end = min(points[-1][0] for _, points in self.tables)
        self.marks = sorted({s for _, points in self.tables for s, _ in points if 0 < s <= self.end})

    def bound(self, s):
        """Every chord between two given points holds."""
        total = self.rho * s * (s + 1)
        for n, points in self.tables:
            best = mp.inf
            for i, (a, ka) in enumerate(points):
                if a == s:
                    best = min(best, ka)
                for b, kb in points[i + 1:]:
                    if a < s < b:
                        best = min(best, ka + (kb - ka) * (s - a) / (b - a))
            total += n * best
        return total

    @lru_cache(maxsize=None)
    def curve(self, epsilon):
        """min over s of e^{K(s) − sε} s^s/(1+s)^{1+s}: golden sections between marks, where ln of it is convex."""
        def at(s):
            return self.bound(s) - s * epsilon + s * mp.log(s) - (1 + s) * mp.log1p(s)
        best, ratio = min(at(s) for s in self.marks), (mp.sqrt(5) - 1) / 2
        for lo, hi in zip([mpf(0)] + self.marks[:-1], self.marks):
            a, b = lo, hi
            for _ in range(110):
                c, d = b - ratio * (b - a), a + ratio * (b - a)
                a, b = (a, d) if at(c) < at(d) else (c, b)
            best = min(best, at((a + b) / 2))
        return mp.exp(best)

    def hull(self, epsilon):
        """The chord between ±t, where it touches the curve and its mirror image; the curve beyond."""
        t = self.touch()
        x, f = mp.exp(t), self.curve(t)
        if epsilon >= t:
            return self.curve(epsilon)
        if epsilon <= -t:
            return 1 - mp.exp(epsilon) + mp.exp(epsilon) * self.curve(-epsilon)
        a, fa = 1 / x, 1 - 1 / x + f / x
        return fa + (f - fa) * (mp.exp(epsilon) - a) / (x - a)

    @lru_cache(maxsize=None)
    def touch(self):
        def excess(e):
            x, h = mp.exp(e), mpf(10) ** -8
            slope = (self.curve(e + h) - self.curve(e - h)) / (2 * h) / x
            return 1 - self.curve(e) + slope * (x + 1)
        hi = mpf(1) / 8
        while excess(hi) < 0:
            hi *= 2
        return root(excess, mpf(10) ** -4, hi, 11)


def known_row(name, events, rest, epsilons):
    """rest: n pure-DP mechanisms of ε0, whose losses are (2k − n)ε0."""
    known, truth = Known(events), []
    n, e0 = (rest["count"], exact(rest["mechanism"]["pureDp"]["epsilon"])) if rest else (0, mpf(0))
    p = 1 / (1 + mp.exp(-e0))
    for e in epsilons:
        delta = mp.fsum(mp.binomial(n, k) * p ** k * (1 - p) ** (n - k) * known.hull(exact(e) - (2 * k - n) * e0) for k in range(n + 1))
        truth.append({"epsilon": e, "delta": text(delta, 9), "logDelta": text(mp.log(delta), 9)})
    return {"name": name, "adjacency": ADD_OR_REMOVE, "events": events + ([rest] if rest else []), "truth": truth}


def knowns():
    z = lambda rho: {"zeroConcentratedDp": {"rho": rho}}
    few = renyi([1.5, 2.0, 4.0, 16.0, 64.0], [0.03, 0.05, 0.1, 0.5, 2.0])
    bent = renyi([2.0, 3.0, 5.0, 33.0], [0.25, 0.5, 0.375, 4.0])
    return [
        partial(known_row, "one-table", [event(few, 2)], event(m.pure(0.1), 6), [0.0, 0.5, 2.0]),
        partial(known_row, "two-tables", [event(few, 3), event(bent)], event(m.pure(0.2), 3), [0.5, 3.0, 6.0]),
        partial(known_row, "with-rho", [event(bent), event(z(0.05), 2)], event(m.pure(0.3), 4), [0.2, 1.5, 4.0]),
    ]


# ---- The best of a random number of runs of k-ary randomized response.

def number_of_runs(f, k):
    """P(n = k)."""
    if "mean" in f:
        return mp.exp(-exact(f["mean"])) * exact(f["mean"]) ** k / mp.factorial(k)
    gamma, eta = exact(f["gamma"]), exact(f.get("eta", 0))
    if k == 0:
        return mpf(0)
    if eta == 0:
        return (1 - gamma) ** k / (k * mp.log(1 / gamma))
    return (1 - gamma) ** k / (gamma ** -eta - 1) * mp.fprod((l + eta) / (l + 1) for l in range(k))


def generating(f, x):
    if x == 0:
        return number_of_runs(f, 0)
    if "mean" in f:
        return mp.exp(exact(f["mean"]) * (x - 1))
    gamma, eta = exact(f["gamma"]), exact(f.get("eta", 0))
    if eta == 0:
        return mp.log(1 - (1 - gamma) * x) / mp.log(gamma)
    return ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma ** -eta - 1)


def best_of(f, answers):
    """Probabilities of each best answer, ranked as listed, and of none."""
    out, below = [generating(f, mpf(0))], mpf(0)
    for p in answers:
        out.append(generating(f, below + p) - generating(f, below))
        below += p
    return out


def selection_row(f, epsilon, buckets):
    e, k = mp.exp(exact(epsilon)), buckets
    mechanism = {"repeatAndSelect": {"mechanism": m.response(epsilon, buckets)} | f}
    points = []
    for s in (0.25, 1.0, 3.0, 15.0):
        worst = mpf(0)
        for i in range(k):
            for j in range(k):
                if i != j:
                    p, q = (best_of(f, [(e if x == truth else 1) / (e + k - 1) for x in range(k)]) for truth in (i, j))
                    worst = max(worst, mp.log(mp.fsum(a ** (1 + exact(s)) * b ** -exact(s) for a, b in zip(p, q) if a > 0)))
        points.append({"s": s, "k": text(worst, 20)})
    check = mp.fsum(number_of_runs(f, n) / mpf(4) ** n for n in range(50))
    if abs(check - generating(f, mpf(1) / 4)) > mpf(10) ** -25:
        raise ValueError(f"{f}: not the generating function")
    mean = mp.diff(lambda x: generating(f, x), 1)
    return {"mechanism": mechanism, "adjacency": REPLACE, "mean": text(mean, 12), "points": points}


def selections():
    kinds = [{"gamma": 0.1}, {"gamma": 0.01, "eta": 1.0}, {"gamma": 0.5, "eta": 2.5}, {"gamma": 0.2, "eta": -0.5}, {"mean": 10.0}, {"mean": 0.5}]
    return [partial(selection_row, f, e, k) for f in kinds for e, k in ((0.1, 2), (1.0, 4), (4.0, 3))]


FILES = {
    "pld/testdata/loss_tables.json": lambda: File(
        "Tables of privacy losses composed: every product outcome listed, both directions, the larger. 20 digits.", 60, {"rows": tables()}),
    "pld/testdata/renyi_tables.json": lambda: File(
        "Tables of Renyi divergences (lower hull of (alpha-1) epsilon) with rho-zCDP, converted at the best order in both directions, convex in e^epsilon, composed with pure-DP mechanisms. 9 digits.",
        40, {"rows": knowns()}),
    "loss/testdata/selections.json": lambda: File(
        "K(s) of the best of a random number of runs of k-ary randomized response, answers ranked by number, the largest over both truths: exact sums. mean: E[number]. 20 digits.",
        40, {"rows": selections()}),
}
