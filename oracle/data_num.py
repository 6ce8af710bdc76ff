# SPDX-License-Identifier: Apache-2.0
"""internal/num/testdata: logarithms of the normal distribution function and log-space arithmetic."""

import math
import random
from functools import partial

from mpmath import mp

from .normal import log_cdf, quantile_from_log
from .number import exact, log_sub, text
from .writing import File

def spread(seed, count, low, high):
    """count floats, log-uniform between low and high, fixed by the seed."""
    r = random.Random(seed)
    return [math.exp(r.uniform(math.log(low), math.log(high))) for _ in range(count)]


def log1mexp(x):
    """ln(1 − e^{−x}); for large x the logarithm of nearly 1."""
    with mp.workdps(60):
        return mp.log1p(-mp.exp(-x)) if x > 1 else mp.log(-mp.expm1(-x))


def log_add(a, b):
    with mp.workdps(400):
        return max(a, b) + mp.log1p(mp.exp(-abs(a - b)))


def sub(a, b):
    with mp.workdps(400):
        return log_sub(a, b)


def choose(n, k):
    with mp.workdps(80):
        value = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1) if 0 < k < n else 0
    return {"n": n, "k": k, "value": text(value)}


def one(f, x, name="x"):
    return {name: x, "value": text(f(exact(x)))}


def two(f, a, b):
    return {"a": a, "b": b, "value": text(f(exact(a), exact(b)))}


def tables():
    out = {}
    xs = [-1e6, -1e5, -12345.678, -1e4, -1e3, -250.5, -100.0, -60.0, -40.0, -39.0, -38.6, -38.5, -38.0, -37.5, -30.0, -20.0,
          -15.0, -12.0, -10.0, -8.5, -8.0, -7.0, -6.0, -5.5, -5.0, -4.5, -4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.25, -1.0, -0.9,
          -0.75, -0.675, -0.5, -0.25, -0.1, -0.01, -1e-3, -1e-6, -1e-10, -1e-17, 0.0, 1e-300, 1e-17, 1e-10, 1e-6, 1e-3, 0.01, 0.1, 0.25, 0.5,
          0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 37.0, 38.0]
    xs += sorted([-x for x in spread(1, 60, 1e-3, 1e6)] + spread(2, 40, 1e-3, 37.0))
    xs += [38.5, 39.0, 40.0]  # the answer is subnormal or 0 in binary64
    out["logNormalCDF"] = [partial(one, log_cdf, x) for x in xs]

    logps = [-1e-300, -1e-100, -1e-30, -1e-16, -1e-10, -1e-5, -1e-3, -0.01, -0.1, -0.3, -0.5, -0.69, -0.6931471805599453, -0.7, -1.0, -2.0, -3.0,
             -5.0, -10.0, -11.512925464970229, -30.0, -100.0, -300.0, -690.7755278982137, -745.0, -1000.0, -1e4, -1e6, -1e9, -1e12]
    out["normalQuantileOfLog"] = [partial(one, quantile_from_log, p, "logp") for p in logps]

    positive = [1e-300, 1e-100, 1e-20, 1e-16, 1e-10, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.6931471805599453, 0.7, 1.0, 2.0, 5.0, 10.0, 20.0, 36.0, 37.5, 40.0,
                100.0, 500.0, 700.0, 744.0] + spread(3, 30, 1e-12, 700.0)
    out["log1mExp"] = [partial(one, log1mexp, x) for x in positive]
    signed = positive + [-x for x in positive] + [0.0]
    out["log1pExp"] = [partial(one, lambda x: mp.log1p(mp.exp(x)), x) for x in signed]
    out["expm1"] = [partial(one, mp.expm1, x) for x in signed if abs(x) < 700]
    out["logExpm1"] = [partial(one, lambda x: x + log1mexp(x), x) for x in positive]

    r = random.Random(4)
    pairs = [(0.0, 0.0), (0.0, -1.0), (-1000.0, -1001.0), (1000.0, 999.5), (-1e9, -1e9 - 3.0), (700.0, 710.0), (1e300, 1e299), (-745.0, -746.0), (0.0, -50.0),
             (-1e-9, -2e-9), (3.0, 3.0 - 2**-40), (-690.0, -690.0 - 2**-30)]
    pairs += [(a, a - b) for a, b in ((r.uniform(-2000, 2000), r.expovariate(0.2)) for _ in range(30))]
    out["logAddExp"] = [partial(two, log_add, a, b) for a, b in pairs]
    out["logSubExp"] = [partial(two, sub, a, b) for a, b in pairs if a > b]

    ns = [(1, 0), (1, 1), (10, 3), (100, 50), (1000, 1), (1000, 999), (10**5, 5), (10**5, 50000), (10**6, 123456), (10**9, 3), (10**9, 5 * 10**8), (10**9, 10**9 - 7)]
    out["logBinomial"] = [partial(choose, n, k) for n, k in ns]
    return out


ABOUT = ("30 digits; inputs are binary64, taken exactly. logNormalCDF: ln Phi(x). normalQuantileOfLog: x with ln Phi(x) = logp. "
         "log1mExp: ln(1 - e^-x), x > 0. log1pExp: ln(1 + e^x). logExpm1: ln(e^x - 1), x > 0. logAddExp, logSubExp: ln(e^a +- e^b). logBinomial: ln C(n,k).")

# Where Go's functions err most, of some 300,000 random points each and on three kinds of machine: found by measuring, so they are listed.
HARD = {
    "exp": [
        -709.0574926974961, -708.7439891546073, -708.0831256903505, -708.0829579895, -708.0272396262042, -708.0265470906464,
        -708.0261694225203, -708.0231310770081, -595.0489534269179, -577.8047577668541, -308.8014786371864, -198.55247190637266,
        -72.40811581064145, -65.47351932824381, -17.672446640623285, -16.21075001214857, -0.9976151684744132, -0.9698424338447558,
        -0.37471922007317215, -0.3708929519380221, -0.36605819099311054, -0.3653564151440186, -0.3582796163402828, -0.35380663076833313,
        -0.34716889650241833, -0.3275524059273971, -0.3264297136337294, -0.316090888597062, 0.2801753485965622, 0.3551537735149596,
        0.3894237489613651, 0.41945488996756447, 0.9467995566441132, 3.8200097524281063, 20.45128070333749, 20.490403654122964,
        24.600885815130866, 28.045653752768246, 32.23187631946411, 37.683918568165225, 60.69636999923125, 671.3061559199925,
    ],
    "log": [
        0.6226177288407786, 0.62313578874001, 0.6286647422140509, 0.6305559944713733, 0.6343422924487675, 0.6417501670408303,
        0.6990842455071014, 0.7010897752974165, 0.7011350189354165, 0.7028405189020729, 0.7043345926680502, 1.3696128033210402,
        1.4017065864354386, 1.403466751260912, 1.5603020244444505, 1.563112358234665,
    ],
    "log1p": [
        -0.6476175019136505, -0.6305581010692448, -0.6297075639838321, -0.6143751099044362, -0.6114790653270992, -0.611108970555329,
        -0.3648336822162578, -0.3644803495184793, -0.3008438204543734, -0.29703501072813815, -0.2937112324322344, 0.2755996952885062,
        0.28383770261596003, 0.39668634885811155, 0.4000578574698332, 0.4081843643974534, 0.4109814332277571, 0.5657478822878863,
        0.5984795443059031, 0.6047733734687546, 0.6256611597750514,
    ],
    "expm1": [
        -1.3835390399928797, -0.38315334586489036, 0.34681070856680685, 0.35003765769652095, 0.35574335027356296, 0.36340670287463206,
        0.37656770041472154, 0.3879773610507291, 0.908518293092657, 0.9136168846579786, 0.9480958830969515, 0.9549653139224676,
        0.9954433881140926, 15.600326641921704, 15.600356162604292, 33.625659781157715, 37.134533356065475, 95.31192165962788,
        421.7890483107822,
    ],
}


def elementary():
    r = random.Random(5)
    small = lambda low: math.copysign(math.exp(r.uniform(math.log(low), 0)), r.random() - 0.5)
    sets = {
        "exp": (mp.exp, [r.uniform(-708, 709) for _ in range(40)] + [r.uniform(-745, -708) for _ in range(15)] + [r.uniform(-1, 1) for _ in range(20)]
                + [small(1e-18) for _ in range(15)] + [k * math.log(2) for k in range(-8, 9) if k]),
        "log": (mp.log, spread(6, 40, 2.3e-308, 1.7e308) + [r.uniform(0.5, 2) for _ in range(20)] + [1 + small(1e-15) / 2 for _ in range(20)]
                + [2.0**-1030, 5e-324, 1e-310] + [math.exp(2.0**k) for k in range(-6, 9)]),
        "log1p": (mp.log1p, spread(7, 30, 1e-300, 1e308) + [r.uniform(-1, 0) for _ in range(20)] + [small(1e-18) * 0.9 for _ in range(20)]
                  + [-1 + x for x in spread(8, 15, 1e-15, 0.5)] + [math.expm1(2.0**k) for k in range(-6, 9)]),
        "expm1": (mp.expm1, [small(1e-300) for _ in range(30)] + [r.uniform(-40, 709) for _ in range(30)] + [r.uniform(-1, 1) for _ in range(30)]
                  + [math.log1p(2.0**k) for k in range(-8, 12)] + [math.log1p(-(2.0**k)) for k in range(-8, 0)]),
    }
    return {name: [partial(one, f, x) for x in HARD[name] + xs] for name, (f, xs) in sets.items()}


def complex_points(name, r):
    """Arguments of every size, around the places where a formula changes or cancels, and for ln(1 + z) around −1."""
    turned = lambda size: (size * math.cos(a := r.uniform(0, 2 * math.pi)), size * math.sin(a))
    points = [turned(math.exp(r.uniform(math.log(1e-18), 0))) for _ in range(60)] + [turned(r.uniform(0.9, 1.1)) for _ in range(30)]
    points += [turned(math.exp(r.uniform(0, math.log(40)))) for _ in range(40)]
    if name == "log1p":
        points += [(-1 + x, y) for x, y in (turned(math.exp(r.uniform(-30, -0.1))) for _ in range(30))]
        points += [turned(math.exp(r.uniform(0, 600))) for _ in range(20)]
        circle = [r.uniform(-math.pi / 2, math.pi / 2) for _ in range(30)]  # |1 + z| near 1
        return points + [(math.cos(a) - 1, math.sin(a)) for a in circle]
    points += [(r.uniform(-700, 700), r.uniform(-10, 10)) for _ in range(30)]
    points += [(r.uniform(-1, 1), k * math.pi / 2) for k in range(-12, 13)]
    return points + [(r.uniform(-2, 2), math.exp(r.uniform(2, 34))) for _ in range(20)]


def complex_one(f, x, y):
    value = f(mp.mpc(exact(x), exact(y)))
    return {"x": x, "y": y, "re": text(value.real), "im": text(value.imag)}


def complexes():
    log1p = lambda z: mp.log(1 + z)
    functions = {"expm1": lambda z: mp.exp(z) - 1, "log1p": log1p, "expm2": lambda z: mp.exp(z) - 1 - z, "sinh": mp.sinh}
    r = random.Random(11)
    return {name: [partial(complex_one, f, x, y) for x, y in complex_points(name, r)] for name, f in functions.items()}


COMPLEX = "30 digits; inputs are binary64, taken exactly."
ELEMENTARY = "30 digits; inputs are binary64, taken exactly. The first rows of each table are where Go's function errs most."

FILES = {
    "num/testdata/num.json": lambda: File(ABOUT, 50, tables()),
    "num/testdata/elementary.json": lambda: File(ELEMENTARY, 50, elementary()),
    "num/testdata/complex.json": lambda: File(COMPLEX, 120, complexes()),
}
