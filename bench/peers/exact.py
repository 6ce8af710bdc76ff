# SPDX-License-Identifier: Apache-2.0
"""Writes workloads.json: what the accountants are asked, with the exact ε.

    python exact.py

Most rows are copied from the reference workloads and from the oracle's testdata.
Two ledgers of Poisson-sampled Gaussians are computed here, by the contour integral
of docs/math/inversion.md §2 in plain NumPy; the same code must first reproduce reference
rows. It shares nothing with the Go code. Both steps are halved until nine
digits of ε stay.
"""

import json
import pathlib

import numpy as np
from scipy.optimize import brentq

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
REFERENCE = ROOT / "internal/accountant/testdata/workloads.json"
MIXTURES = ROOT / "internal/pld/testdata/engine_mixtures.json"
COPIED = [  # (file, name, δ)
    (REFERENCE, "gaussian-1", "1e-5"), (REFERENCE, "gaussian-1", "1e-30"), (REFERENCE, "gaussian-replace-one", "1e-5"),
    (REFERENCE, "gaussian-10000", "1e-6"), (REFERENCE, "gaussian-mixed-sigmas", "1e-5"),
    (MIXTURES, "laplace-10", 1e-3), (MIXTURES, "laplace-40", 1e-4), (REFERENCE, "randomized-response-100", "1e-5"),
    (REFERENCE, "pure-dp-50", "1e-6"), (MIXTURES, "pure-100", 1e-5), (REFERENCE, "approx-dp-20", "1e-6"),
    (REFERENCE, "dpsgd-1000", "1e-5"), (REFERENCE, "dpsgd-1000", "1e-8"), (REFERENCE, "dpsgd-1000", "1e-15"),
    (REFERENCE, "dpsgd-mnist-60-epochs", "1e-5"), (REFERENCE, "dpsgd-100000", "1e-5"), (REFERENCE, "dpsgd-million", "1e-6"),
    (REFERENCE, "dpsgd-million", "1e-10"), (REFERENCE, "dpsgd-half", "1e-5"), (REFERENCE, "dpsgd-replace-one", "1e-5"),
    (REFERENCE, "dpsgd-two-phases", "1e-5"), (REFERENCE, "mixed", "1e-5"),
]
COMPUTED = {  # name: [(q, σ/Δ, steps)], at δ = 1e−5
    "dpsgd-little-noise": [(0.1, 0.3, 100)],
    "dpsgd-1000-distinct": [(0.005 + 1e-5 * j, 0.8 + 1e-3 * j, 10) for j in range(1000)],
}
# By the oracle's contour; here too little is left of double precision.
TEN_MILLION = ([(1e-5, 0.7, 10**7)], "0.27516767874467725547")
CHECKED = [("dpsgd-1000", "1e-5"), ("dpsgd-half", "1e-5"), ("dpsgd-two-phases", "1e-5"), ("dpsgd-100000", "1e-5")]


def excess(q, sigma, remove, s, h):
    """M(s) − 1 for M(s) = E_P e^{sL}, by the trapezoid rule with step h: with r = q(e^{x/σ − 1/2σ²} − 1)
    it is ∫φ·((1+r)^{1+s} − 1) where P is with the record (remove), else ∫φ·((1+r)^{−s} − 1).

    ∫φ·r = 0 is taken off first: what is left is of the order of r², not of r.
    """
    power = 1 + s if remove else -s
    reach = 11 + max(0.0, power[0].real) / sigma
    x = np.arange(-11, reach, h)
    weight = np.exp(-x * x / 2) * h / np.sqrt(2 * np.pi)
    r = q * np.expm1(x / sigma - 1 / (2 * sigma * sigma))
    log = np.log1p(r)
    total = np.empty(len(s), complex)
    for i, p in enumerate(power):
        total[i] = np.sum(weight * (np.expm1(p * log) - p * r))
    return total


def cumulant(steps, remove, s, h):
    """K(s) = Σ n ln M(s), up to whole 2πi."""
    k = np.zeros(len(s), complex)
    for q, sigma, n in steps:
        k += n * np.log1p(excess(q, sigma, remove, s, h))
    return k


def epsilon_of(steps, remove, delta, h, width):
    """The ε with δ(ε) = (1/π)∫₀^∞ Re[e^{K(s)−sε}/(s(s+1))] dt, s = θ + it, in one direction."""
    line = lambda theta: float(cumulant(steps, remove, np.array([complex(theta)]), h)[0].real)
    renyi = lambda theta: (line(theta) - np.log(delta)) / theta - np.log1p(1 / theta) - np.log1p(theta) / theta
    thetas = np.exp(np.linspace(np.log(0.3), np.log(300), 60))
    if len(steps) > 10:
        thetas = thetas[10:40:2]
    values = [renyi(t) for t in thetas]
    best = int(np.nanargmin(values))
    theta, near = 0.7 * thetas[best], values[best]
    top = line(theta)
    step = 2 * np.pi / (width * max(1.0, near))
    nodes, size = [], 64
    while True:  # until the terms are negligible for good
        t = step * np.arange(len(nodes) * size, (len(nodes) + 1) * size)
        s = theta + 1j * t
        nodes.append(np.exp(cumulant(steps, remove, s, h) - top) / (s * (s + 1)))
        if np.max(np.abs(nodes[-1])) < 1e-15 * np.abs(nodes[0][0]):
            break
    values = np.concatenate(nodes)
    values[0] /= 2
    t = step * np.arange(len(values))
    curve = lambda e: np.log(np.sum((values * np.exp(-1j * t * e)).real) * step / np.pi) + top - theta * e - np.log(delta)
    hi = near
    lo = near
    while curve(lo) < 0:
        lo -= 0.05 * max(1.0, near)
    return brentq(curve, lo, hi + 1e-9, xtol=1e-13, rtol=1e-14)


def epsilon(steps, delta):
    """ε of the larger direction, to nine digits."""
    answers = []
    for remove in (True, False):
        if not remove and sum(-n * np.log1p(-q) for q, _, n in steps) < answers[0]:
            continue  # its losses are at most that
        last, h, width = 0.0, 0.1, 6
        for _ in range(4):
            e = epsilon_of(steps, remove, delta, h, width)
            if abs(e - last) < 1e-9 * e:
                break
            last, h, width = e, h / 2, width * 2
        else:
            raise SystemExit(f"{steps[0]} …: {last} and {e} after four halvings")
        answers.append(e)
    return max(answers)


def sampled(q, sigma, n):
    gaussian = {"gaussian": {"standardDeviation": sigma, "sensitivity": 1.0}}
    return {"mechanism": {"poissonSampled": {"samplingProbability": q, "mechanism": gaussian}}, "count": n}


def steps_of(events):
    out = []
    for e in events:
        p = e["mechanism"].get("poissonSampled", {"samplingProbability": 1.0, "mechanism": e["mechanism"]})
        g = p["mechanism"]["gaussian"]
        out.append((p["samplingProbability"], g["standardDeviation"] / g["sensitivity"], e["count"]))
    return out


def main():
    np.seterr(all="ignore")  # large θ overflow and are not chosen
    files = {path: json.loads(path.read_text()) for path in (REFERENCE, MIXTURES)}
    files[MIXTURES] = files[MIXTURES]["rows"]

    def find(path, name, delta):
        work = next(w for w in files[path] if w["name"] == name)
        row = next(r for r in work["truth"] if list(r)[0] == "delta" and float(r["delta"]) == float(delta))
        return work, row["epsilon"]

    for name, delta in CHECKED:
        work, exact = find(REFERENCE, name, delta)
        got = epsilon(steps_of(work["events"]), float(delta))
        print(f"{name}: {got:.13g}, reference {exact}", flush=True)
        if abs(got / float(exact) - 1) > 2e-10:
            raise SystemExit("the reference is not reproduced")
    rows = []
    for path, name, delta in COPIED:
        work, exact = find(path, name, delta)
        rows.append({"name": name, "adjacency": work["adjacency"], "delta": f"{float(delta):.0e}".replace("e-0", "e-"), "epsilon": exact,
                     "events": work["events"]})
    computed = {"dpsgd-ten-million": TEN_MILLION} | {name: (steps, f"{epsilon(steps, 1e-5):.13g}") for name, steps in COMPUTED.items()}
    for name, (steps, exact) in computed.items():
        print(f"{name}: {exact}", flush=True)
        rows.append({"name": name, "adjacency": "ADD_OR_REMOVE_ONE", "delta": "1e-5", "epsilon": exact, "events": [sampled(*s) for s in steps]})
    rows.sort(key=lambda r: r["name"] in ("dpsgd-million", "dpsgd-1000-distinct"))  # the longest last
    (HERE / "workloads.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
