# SPDX-License-Identifier: Apache-2.0
"""Writes cases.json: what an accountant is asked, and the truth.

    python conformance/make.py

Nothing here asks an accountant. A truth is one of these:
  - a closed form, or a sum over all outcomes, worked out below with mpmath in 60 digits;
  - a row of the oracle (../oracle, multiprecision, written from the definitions), picked by its name.
Where only an adversary is known, the truth is an interval: "least" is what the adversary reaches.
"""

import glob
import json
import math
import pathlib

from mpmath import binomial, erfc, exp, expm1, fsum, inf, log, mp, mpf, sqrt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
mp.dps = 60

ADD, REPLACE, ZERO_OUT = "ADD_OR_REMOVE_ONE", "REPLACE_ONE", "ZERO_OUT"
BW = "Balle and Wang 2018 (arXiv 1805.06530), Theorem 8"
ZDW = "Zhu, Dong and Wang 2022 (arXiv 2106.08567), Theorem 11"
KOV = "Kairouz, Oh and Viswanath 2015 (arXiv 1311.0776), Theorem 3.3"


# ---- Curves: each returns δ(ε) of the larger direction for ε ≥ 0.

def normal_cdf(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def gaussian(mu):
    """Neighbours whose outputs are N(0, 1) and N(μ, 1)."""
    return lambda e: normal_cdf(mu / 2 - e / mu) - exp(e) * normal_cdf(-mu / 2 - e / mu)


def sampled_gaussian(q, mu):
    """One Poisson-sampled release: (1 − q) N(0) + q N(μ) against N(0), the larger direction where ε ≥ 0."""
    plain = gaussian(mu)
    return lambda e: q * plain(log(1 + expm1(e) / q))


def laplace(shift):
    return lambda e: -expm1((e - shift) / 2) if e < shift else mpf(0)


def responses(epsilon, buckets, count):
    """k-ary randomized response: every number of true, of the neighbour's and of other answers."""
    top = exp(epsilon) / (exp(epsilon) + buckets - 1)
    low = 1 / (exp(epsilon) + buckets - 1)
    rows = []
    for a in range(count + 1):
        for b in range(count + 1 - a):
            c = count - a - b
            if c and buckets == 2:
                continue
            ways = binomial(count, a) * binomial(count - a, b)
            rows.append(((a - b) * mpf(epsilon), ways * top**a * low**b * ((buckets - 2) * low) ** c))
    return of_losses(rows)


def of_losses(rows):
    """δ(ε) of outcomes (loss, probability)."""
    return lambda e: fsum(p * -expm1(e - l) for l, p in rows if l > e)


def discrete_gaussian(sigma, sensitivity):
    far = int(math.ceil(sigma * 17)) + sensitivity
    masses = {x: exp(-mpf(x * x) / (2 * mpf(sigma) ** 2)) for x in range(-far, far + 1)}
    total = fsum(masses.values())
    return of_losses([(mpf(sensitivity) * (2 * x + sensitivity) / (2 * mpf(sigma) ** 2), m / total) for x, m in masses.items()])


def discrete_laplace(scale, sensitivity):
    a = exp(-1 / mpf(scale))
    far = int(scale * 90)
    norm = (1 - a) / (1 + a)
    at = lambda x: norm * a ** abs(x)
    return of_losses([((abs(x + sensitivity) - abs(x)) / mpf(scale), at(x)) for x in range(-far, far + 1)])


def sampled_pure(q, epsilon):
    """One Poisson-sampled ε-DP release: losses ln(1 + q (e^±ε − 1)), or their negatives."""
    p = exp(epsilon) / (1 + exp(epsilon))
    with_record = [(log(1 + q * expm1(epsilon)), 1 - q + q * (p / (1 - p)) , 1 - p), (log(1 + q * expm1(-epsilon)), 1 - q + q * ((1 - p) / p), p)]
    remove = of_losses([(l, w * ratio) for l, ratio, w in with_record])
    add = of_losses([(-l, w) for l, _, w in with_record])
    return lambda e: max(remove(e), add(e))


def epsilon_at(curve, delta):
    """The least ε ≥ 0 with δ(ε) ≤ delta, by bisection to 40 digits."""
    delta = mpf(delta)
    if curve(mpf(0)) <= delta:
        return mpf(0)
    low, high = mpf(0), mpf(1)
    while curve(high) > delta:
        low, high = high, 2 * high
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high


# ---- Cases

def event(count=1, **mechanism):
    (kind, fields), = mechanism.items()
    return {"mechanism": {kind: fields}, "count": count}


def normal(sigma, sensitivity=1.0):
    return {"standardDeviation": sigma, "sensitivity": sensitivity}


def sampled(q, sigma, count=1):
    return event(count, poissonSampled={"samplingProbability": q, "mechanism": {"gaussian": normal(sigma)}})


def case(name, adjacency, events, delta, truth, how, source, catches):
    """truth: a number, or (least, most) with None for what is not known."""
    least, most = truth if isinstance(truth, tuple) else (truth, truth)
    text = lambda x: None if x is None else x if isinstance(x, str) else mp.nstr(x, 16)
    return {"name": name, "adjacency": adjacency, "events": events, "delta": delta, "least": text(least), "most": text(most),
            "how": how, "source": source, "catches": catches}


def closed(name, adjacency, events, delta, curve, source, catches, how="closed form"):
    return case(name, adjacency, events, delta, epsilon_at(curve, delta), how, source, catches)


def closed_forms():
    g, one = gaussian, mpf(1)
    tail, count, factor, sens = ("the tail is lost: 1 − CDF is 0 there", "a mechanism is composed once, whatever its count",
                                 "a replaced record moves the sum twice as far", "the sensitivity is taken for 1")
    yield closed("gaussian", ADD, [event(gaussian=normal(1.0))], 1e-5, g(one), BW, "a classical bound in the place of the exact curve")
    yield closed("gaussian, little noise", ADD, [event(gaussian=normal(0.1))], 1e-5, g(1 / mpf(0.1)), BW, "a formula that holds for ε ≤ 1 only")
    yield closed("gaussian, much noise", ADD, [event(gaussian=normal(100.0))], 1e-5, g(one / 100), BW, "two large numbers that cancel")
    for delta in (1e-12, 1e-17, 1e-40, 1e-100):
        yield closed(f"gaussian, δ = {delta:g}", ADD, [event(gaussian=normal(1.0))], delta, g(one), BW, tail)
    yield closed("gaussian, sensitivity 3", ADD, [event(gaussian=normal(2.0, 3.0))], 1e-6, g(mpf(3) / 2), BW, sens)
    yield closed("gaussian, a record replaced", REPLACE, [event(gaussian=normal(1.0))], 1e-5, g(mpf(2)), BW, factor)
    yield closed("gaussian, 1,000 times", ADD, [event(1000, gaussian=normal(50.0))], 1e-5, g(sqrt(mpf(1000)) / 50), BW, count)
    yield closed("gaussian, 1,000 times, a record replaced", REPLACE, [event(1000, gaussian=normal(50.0))], 1e-5, g(2 * sqrt(mpf(1000)) / 50), BW, factor)
    yield closed("gaussians of two scales", ADD, [event(3, gaussian=normal(4.0)), event(50, gaussian=normal(20.0))], 1e-6,
                 g(sqrt(3 / mpf(16) + 50 / mpf(400))), BW, "the mean of the noise in the place of the sum of its squares")
    yield closed("tree of 8 steps", ZERO_OUT, [event(treeAggregation={"steps": 8, "noiseMultiplier": 3.0})], 1e-6, g(mpf(2) / 3), BW,
                 "a record is counted in one node, not in one of each level", "closed form: a record is in 4 nodes")
    for n, scale in ((1, 1.0), (1, 0.2)):
        yield closed(f"laplace of scale {scale}", ADD, [event(n, laplace={"scale": scale, "sensitivity": 1.0})], 1e-3, laplace(1 / mpf(scale)), "its definition",
                     "ε = Δ/b at every δ")
    yield closed("laplace, a record replaced", REPLACE, [event(laplace={"scale": 2.0, "sensitivity": 1.0})], 1e-3, laplace(mpf(1)), "its definition", factor)
    for e, k, n in ((1.0, 2, 1), (0.1, 2, 100), (0.5, 2, 30), (2.0, 2, 5)):
        yield closed(f"randomized response of ε = {e:g}, {n} times", REPLACE, [event(n, randomizedResponse={"epsilon": e})], 1e-6, responses(e, k, n), KOV, count,
                     "sum over all outcomes")
    for e, k, n in ((1.0, 10, 1), (0.5, 5, 20)):
        yield closed(f"{k}-ary response of ε = {e:g}, {n} times", REPLACE, [event(n, randomizedResponse={"epsilon": e, "buckets": k})], 1e-6, responses(e, k, n),
                     "its definition", "a response with many answers is taken for one with two", "sum over all outcomes")
    for e, n in ((1.0, 10), (0.01, 1000), (3.0, 4)):
        yield closed(f"pure DP of ε = {e:g}, {n} times", ADD, [event(n, pureDp={"epsilon": e})], 1e-6, responses(e, 2, n), KOV, count, "sum over all outcomes")
    for sigma, d in ((3.0, 1), (0.4, 1), (0.25, 1), (5.0, 7)):
        yield closed(f"discrete gaussian, σ = {sigma:g}, Δ = {d}", ADD, [event(discreteGaussian={"standardDeviation": sigma, "sensitivity": float(d)})], 1e-6,
                     discrete_gaussian(sigma, d), "Canonne, Kamath and Steinke 2020 (arXiv 2004.00010), Definition 1",
                     "the continuous curve in the place of the discrete one", "sum over all outcomes")
    for scale, d in ((2.0, 1), (1.5, 4)):
        yield closed(f"geometric noise of scale {scale:g}, Δ = {d}", ADD, [event(discreteLaplace={"scale": scale, "sensitivity": float(d)})], 1e-3,
                     discrete_laplace(scale, d), "Ghosh, Roughgarden and Sundararajan 2009 (arXiv 0811.2841)", "the continuous curve in the place of the discrete one",
                     "sum over all outcomes")
    for q, sigma, delta in ((0.01, 1.0, 1e-5), (0.5, 2.0, 1e-5), (1e-4, 0.7, 1e-6), (0.01, 0.3, 1e-3), (0.01, 1.0, 1e-20), (0.9, 1.0, 1e-8)):
        yield closed(f"one sampled step, q = {q:g}, σ = {sigma:g}, δ = {delta:g}", ADD, [sampled(q, sigma)], delta, sampled_gaussian(mpf(q), 1 / mpf(sigma)), ZDW,
                     "a Rényi order that does not exist, or too few orders" if sigma < 1 else tail if delta < 1e-17 else "a bound for small q only")
    yield closed("one sampled step, q = 1", ADD, [sampled(1.0, 2.0)], 1e-5, g(1 / mpf(2)), BW, "a division by 1 − q")
    for q, e in ((0.1, 1.0), (0.5, 3.0)):
        yield closed(f"one sampled release of pure DP, q = {q:g}, ε = {e:g}", ADD, [event(poissonSampled={"samplingProbability": q, "mechanism": {"pureDp": {"epsilon": e}}})],
                     1e-3, sampled_pure(mpf(q), mpf(e)), "Balle, Barthe and Gaboardi 2018 (arXiv 1807.01647), Theorem 8", "sampling at the wrong rate", "sum over all outcomes")
    lost = "the δ of every part is lost"
    yield case("approximate DP, δ below what is lost", ADD, [event(20, approximateDp={"epsilon": 0.05, "delta": 1e-9})], 1.9e-8, inf, "closed form: 1 − (1 − 1e-9)^20 > δ", KOV, lost)


PICKED = [  # (oracle file, table, row, its name here, which truth, catches)
    ("accountant/testdata/workloads", None, "dpsgd-1000", "DP-SGD, 1,000 steps, q = 0.01, σ = 1", "1e-5", "a bound that is far from tight"),
    ("accountant/testdata/workloads", None, "dpsgd-1000", "DP-SGD, 1,000 steps, q = 0.01, σ = 1", "1e-8", "a bound that is far from tight"),
    ("accountant/testdata/workloads", None, "dpsgd-1000", "DP-SGD, 1,000 steps, q = 0.01, σ = 1", "1e-15", "a convolution whose errors are larger than δ"),
    ("accountant/testdata/traps", "rows", "dpsgd-deep", "DP-SGD, 1,000 steps, q = 0.01, σ = 1", 1e-20, "a convolution whose errors are larger than δ"),
    ("accountant/testdata/workloads", None, "dpsgd-mnist-60-epochs", "DP-SGD, 60 epochs of MNIST", "1e-5", "a bound that is far from tight"),
    ("accountant/testdata/workloads", None, "dpsgd-100000", "DP-SGD, 100,000 steps, q = 0.001, σ = 0.8", "1e-5", "a convolution that wraps around"),
    ("accountant/testdata/workloads", None, "dpsgd-million", "DP-SGD, a million steps, q = 0.0001, σ = 0.6", "1e-6", "a convolution that wraps around"),
    ("accountant/testdata/workloads", None, "dpsgd-half", "DP-SGD, half of the data a step, σ = 4", "1e-5", "an answer that is only asymptotic"),
    ("accountant/testdata/workloads", None, "dpsgd-replace-one", "DP-SGD, a record replaced", "1e-5", "a replaced record on a sample is not a moved one"),
    ("accountant/testdata/workloads", None, "dpsgd-two-phases", "DP-SGD in two phases", "1e-5", "two phases of training are charged as one"),
    ("accountant/testdata/workloads", None, "mixed", "gaussians, laplaces and DP-SGD together", "1e-5", "kinds that are not composed together"),
    ("accountant/testdata/workloads", None, "laplace-20", "laplace of scale 20, 20 times", 0.8, "a classical bound in the place of the exact curve"),
    ("accountant/testdata/traps", "rows", "sampled-approximate", "two sampled releases of approximate DP", 0.3, "only the direction in which the record is removed"),
    ("accountant/testdata/traps", "rows", "dpsgd-rate-one-replace", "DP-SGD, q = 1, a record replaced", 1e-5, "a division by 1 − q"),
    ("accountant/testdata/traps", "rows", "dpsgd-split", "DP-SGD, split by other releases", 1e-5, "the order of events matters"),
    ("accountant/testdata/traps", "rows", "approximate-20", "approximate DP, 20 times", 2.1e-8, "the δ of every part is lost"),
    ("pld/testdata/engine_mixtures", "rows", "laplace-10", "laplace of scale 5, 10 times", 1e-3, "a classical bound in the place of the exact curve"),
    ("pld/testdata/engine_mixtures", "rows", "laplace-40", "laplace of scale 20, 40 times", 1e-4, "a classical bound in the place of the exact curve"),
    ("pld/testdata/engine_mixtures", "rows", "pure-two-groups", "pure DP of two sizes, 80 times", 1e-12, "a mean of ε in the place of the composition"),
    ("pld/testdata/engine_mixtures", "rows", "gaussian-pure", "gaussians and pure DP", 1e-20, "kinds that are not composed together"),
    ("pld/testdata/engine_mixtures", "rows", "gaussian-laplace-many", "100 gaussians and 100 laplaces", 1e-5, "kinds that are not composed together"),
    ("pld/testdata/engine_mixtures", "rows", "gaussian-huge-noise", "gaussian, σ = 1,000,000, 10 times", 1e-6, "two large numbers that cancel"),
    ("pld/testdata/engine_mixtures", "rows", "sampled-laplace-1000", "sampled laplace, 1,000 times", 1e-5, "sampling at the wrong rate"),
    ("pld/testdata/engine_mixtures", "rows", "sampled-pure-100", "sampled pure DP, 100 times", 1e-5, "sampling at the wrong rate"),
    ("pld/testdata/noise", "rows", "discrete-gaussian-3.0-1.0-ADD_OR_REMOVE_ONEx50", "discrete gaussian, σ = 3, 50 times", 1e-5, "a mechanism is composed once, whatever its count"),
    ("pld/testdata/noise", "rows", "discrete-gaussian-0.25-1.0-ADD_OR_REMOVE_ONEx2", "discrete gaussian, σ = 0.25, twice", 1e-5, "the continuous curve in the place of the discrete one"),
    ("pld/testdata/noise", "rows", "discrete-gaussian-3.0-1.0-REPLACE_ONEx20", "discrete gaussian, σ = 3, 20 times, a record replaced", 1e-5, "a replaced record moves the sum twice as far"),
    ("pld/testdata/noise", "rows", "discrete-laplace-2.0-1.0x30", "geometric noise of scale 2, 30 times", 1e-5, "a mechanism is composed once, whatever its count"),
    ("pld/testdata/dominated", "rows", "1 batches of 10 of 1000, sigma 1.0", "one batch of just 10 of 1,000, a record replaced", 1.0, "batches of a fixed size are charged as Poisson samples"),
    ("pld/testdata/dominated", "rows", "2 batches of 10 of 1000, sigma 1.0", "two batches of just 10 of 1,000, a record replaced", 1.0, "batches of a fixed size are charged as Poisson samples"),
    ("pld/testdata/mixtures", "once", "mixture-0-ADD_OR_REMOVE_ONE", "mixture of gaussians, three sensitivities", 1.0, "only the largest or the mean sensitivity of a mixture"),
    ("pld/testdata/mixtures", "once", "mixture-2-ADD_OR_REMOVE_ONE", "mixture of gaussians, rare contributions", 0.1, "only the largest or the mean sensitivity of a mixture"),
    ("pld/testdata/batches", "truncated", "truncated-4-0.25-1-1.0-ADD_OR_REMOVE_ONE", "a sampled batch cut at 1 of 4", 1.0, "a batch that is cut off is charged as one that is not"),
    ("pld/testdata/batches", "truncated", "truncated-4-0.5-2-2.0-ADD_OR_REMOVE_ONE", "a sampled batch cut at 2 of 4", 0.5, "a batch that is cut off is charged as one that is not"),
    ("pld/testdata/allocation", "rows", "2 steps, sigma 1.0", "a record in one of 2 steps", 1.0, "a record in one of several steps is charged as a Poisson sample"),
    ("pld/testdata/allocation", "rows", "3 steps, sigma 1.0", "a record in one of 3 steps", 1.0, "a record in one of several steps is charged as a Poisson sample"),
    ("pld/testdata/best", "rows", "('poisson', 0.5357), seed 2", "the best of a Poisson number of gaussians", 1.28, "the best of several runs is charged as one run"),
]


def picked():
    for path, table, picked_row, name, given, catches in PICKED:
        found, = glob.glob(str(ROOT / "internal" / (path + ".json")))
        rows = json.loads(pathlib.Path(found).read_text())
        row = next(r for r in (rows[table] if table else rows) if r["name"] == picked_row)
        truth = next(t for t in row["truth"] if float(next(iter(t.values()))) == float(given))
        low = truth.get("low", truth.get("reached"))
        if list(truth)[0] == "delta":
            delta, answer = float(truth["delta"]), truth["epsilon"]
        else:
            # δ at a given ε, asked the other way round: the curve falls, so the least ε at what is reached there is that ε.
            delta, answer = float(low or truth["delta"]), float(truth["epsilon"])
            answer = repr(answer)
        known = (answer, None) if low or "batches" in path else answer
        yield case(name, row["adjacency"], row["events"], delta, known,
                   "multiprecision, by the oracle" + (": what an adversary reaches" if isinstance(known, tuple) else ""),
                   f"oracle, internal/{path}.json", catches)


def main():
    cases = [*closed_forms(), *picked()]
    assert len({c["name"] + str(c["delta"]) for c in cases}) == len(cases)
    text = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    (HERE / "cases.json").write_text("[\n" + text + "\n]\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
