# SPDX-License-Identifier: Apache-2.0
"""Releases on disjoint parts: what an adversary reaches who decides after each output what comes next.

Every mechanism here has finitely many outputs, so that the best play is found by looking at all of it. The
adversary knows the outputs so far, that is the probabilities p and q of the record being there and not. He picks
which of the remaining releases is made next and, where the partition is his to choose, into which part the record
falls; at the end he has p − e^ε q if that is positive. If the partition was fixed in advance he picks one part for
every release before the first, and nothing afterwards but the order, which changes nothing.
"""

from functools import partial
from itertools import product

from mpmath import mp, mpf

from .number import exact, text
from .pairs import ADD_OR_REMOVE
from .writing import File


def event(mechanism, count=1):
    return {"mechanism": mechanism, "count": count}


def pure(epsilon):
    return {"pureDp": {"epsilon": epsilon}}


def approximate(epsilon, delta):
    return {"approximateDp": {"epsilon": epsilon, "delta": delta}}


def shame(delta):
    return {"nameAndShame": {"delta": delta}}


def table(losses, masses):
    return {"privacyLossTable": {"losses": losses, "masses": masses}}


def composed(*events):
    return {"composed": {"events": list(events)}}


def parallel(*parts, fixed=False):
    return {"parallel": {"parts": list(parts)} | ({"partitionFixedInAdvance": True} if fixed else {})}


def outcomes(mechanism, add):
    """Each output's probability (P, Q) with and without the record."""
    (kind, f), = mechanism.items()
    if kind == "pureDp" or kind == "approximateDp":
        e, d = mp.exp(exact(f["epsilon"])), exact(f.get("delta", 0))
        rows = [((1 - d) * e / (1 + e), (1 - d) / (1 + e)), ((1 - d) / (1 + e), (1 - d) * e / (1 + e))]
        rows += [(d, mpf(0)), (mpf(0), d)] if d else []
    elif kind == "nameAndShame":
        d = exact(f["delta"])
        rows = [(1 - d, 1 - d), (d, mpf(0)), (mpf(0), d)]
    elif kind == "privacyLossTable":
        total = mp.fsum(exact(p) for p in f["masses"])
        rows = [(exact(p) / total, exact(p) / total * mp.exp(-exact(l))) for l, p in zip(f["losses"], f["masses"])]
        over = mp.fsum(q for _, q in rows)
        rows = [(p, q / max(over, 1)) for p, q in rows] + ([(mpf(0), 1 - over)] if over < 1 else [])
        rows = [(q, p) for p, q in rows] if add else rows
    elif kind == "composed":
        rows = [(mpf(1), mpf(1))]
        for e in f["events"]:
            for _ in range(e.get("count", 1)):
                rows = [(a * p, b * q) for a, b in rows for p, q in outcomes(e["mechanism"], add)]
    else:
        raise ValueError(kind)
    return rows


def choices(mechanism, add):
    """The outcomes of each part that the record may fall into."""
    if "parallel" in mechanism:
        return [c for part in mechanism["parallel"]["parts"] for c in choices(part, add)]
    return [outcomes(mechanism, add)]


def reached(releases, epsilon):
    """The most that an adversary reaches who chooses the order and the parts as he goes."""
    alpha, known = mp.exp(epsilon), {}

    def most(left, p, q):  # left: how many of each release are left to be made
        if p == 0:
            return mpf(0)
        if q == 0 or not any(left):
            return max(mpf(0), p - alpha * q)
        key = (left, mp.nstr(q / p, 30))
        if key not in known:
            best = mpf(0)
            for i, n in enumerate(left):
                if n:
                    rest = left[:i] + (n - 1,) + left[i + 1:]
                    for rows in releases[i][0]:
                        best = max(best, mp.fsum(most(rest, a, q / p * b) for a, b in rows))
            known[key] = best
        return p * known[key]

    return most(tuple(n for _, n in releases), mpf(1), mpf(1))


def played(events, epsilon, add):
    releases, fixed = [], []
    for e in events:
        m, n = e["mechanism"], e["count"]
        if m.get("parallel", {}).get("partitionFixedInAdvance"):
            fixed += [choices(m, add)] * n
        else:
            releases.append((choices(m, add), n))
    return max(reached(releases + [([rows], 1) for rows in chosen], epsilon) for chosen in product(*fixed))


def row(name, events, epsilons):
    truth = []
    for e in epsilons:
        delta = max(played(events, exact(e), add) for add in (False, True))
        truth.append({"epsilon": e, "delta": text(delta, 25), "logDelta": text(mp.log(delta), 25)})
    return {"name": name, "adjacency": ADD_OR_REMOVE, "events": events, "truth": truth}


def rows():
    known = parallel(pure(1.0), shame(0.1))
    skewed = table([-0.5, 0.25, 1.0], [0.3, 0.4, 0.3])
    other = table([-1.25, 0.375], [0.0625, 0.9375])
    three = table([-1.0, 0.0, 1.0], [0.125, 0.5, 0.375])
    answers = parallel(table([-1.5, 0.0, 1.5], [0.0625, 0.65625, 0.28125]), approximate(0.25, 0.01))
    at = [0.0, 0.5, 1.0, 1.75]
    return [
        partial(row, "after one output", [event(pure(1.0)), event(known)], at),
        partial(row, "the same, fixed in advance", [event(pure(1.0)), event(parallel(pure(1.0), shame(0.1), fixed=True))], at),
        partial(row, "after three outputs", [event(pure(0.5), 3), event(known)], at),
        partial(row, "after three kinds of answers", [event(three, 2), event(answers)], at),
        partial(row, "uneven", [event(pure(0.75)), event(parallel(skewed, other))], at),
        partial(row, "three parts", [event(pure(0.75), 2), event(parallel(pure(1.5), shame(0.0625), table([-1.75, 0.0, 1.75], [0.0625, 0.5, 0.4375])))], at),
        partial(row, "composed parts", [event(pure(0.5)), event(parallel(composed(event(pure(0.25), 3)), approximate(0.5, 0.02)))], at),
        partial(row, "parts of parts", [event(pure(1.0)), event(parallel(pure(0.25), parallel(pure(1.0), shame(0.1))))], at),
        partial(row, "twice", [event(pure(1.0)), event(known, 2)], at),
        partial(row, "twice, fixed in advance", [event(pure(1.0)), event(parallel(pure(1.0), shame(0.1), fixed=True), 2)], at),
        partial(row, "two kinds", [event(pure(0.5)), event(known), event(answers)], at),
        partial(row, "three times", [event(pure(0.5)), event(parallel(pure(0.75), shame(0.05)), 3)], at),
        partial(row, "one fixed, one not", [event(pure(0.5)), event(known), event(parallel(pure(0.75), shame(0.2), fixed=True))], at),
        partial(row, "two fixed partitions", [event(parallel(pure(1.0), shame(0.1), fixed=True)), event(parallel(shame(0.2), pure(0.75), fixed=True))], at),
    ]


FILES = {
    "pld/testdata/parallel.json": lambda: File(
        "Releases on disjoint parts: the largest δ that an adversary reaches who picks the next release, and the part of an unfixed partition, after each output; every play tried. 25 digits.",
        60, {"rows": rows()}),
}
