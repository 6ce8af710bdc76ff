# SPDX-License-Identifier: Apache-2.0
"""Random allocation: epochs of one to three steps by integration, of more by sampling with stated confidence."""

from functools import partial
from random import Random

from mpmath import mp, mpf

from . import allocation, allocation_orders
from .ledger import event, workload
from .number import exact, text
from .pairs import ADD_OR_REMOVE
from .writing import File


def allocated(steps, inner, selected=None, passes=None):
    return {"randomAllocation": {"steps": steps, "mechanism": inner} | ({"selected": selected} if selected else {}) | ({"passes": passes} if passes else {})}


def gaussian(sigma):
    return {"gaussian": {"noiseMultiplier": sigma}}


def laplace(scale):
    return {"laplace": {"scale": scale, "sensitivity": 1.0}}


def row(name, mechanism, curve, epsilons, digits):
    """Both directions, and the larger one, where it is not below 1e-25."""
    truth = []
    for e in epsilons:
        remove, add = curve(exact(e))
        if remove > mpf(10) ** -25:
            truth.append({"epsilon": e, "delta": text(max(remove, add), digits), "remove": text(remove, digits), "add": text(add, digits),
                          "logDelta": text(mp.log(max(remove, add)), digits)})
    return workload(name, ADD_OR_REMOVE, event(mechanism)) | {"truth": truth}


EPSILONS = [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 7.0, 10.0]
SIGMAS = [20.0, 5.0, 2.0, 1.0, 0.5, 0.2]


def one_to_three():
    rows = []
    for sigma in SIGMAS:
        for steps in (1, 2):
            rows.append(partial(row, f"{steps} steps, sigma {sigma}", allocated(steps, gaussian(sigma)), partial(allocation.curve, 1 / exact(sigma), steps), EPSILONS, 20))
    for sigma, epsilons in ((20.0, [0.05]), (2.0, [0.3]), (1.0, [1.0]), (0.7, [3.0])):
        rows.append(partial(row, f"3 steps, sigma {sigma}", allocated(3, gaussian(sigma)), lambda e, s=sigma: allocation.curve(1 / exact(s), 3, e, 24), epsilons, 15))
    for scale in (10.0, 2.0, 1.0, 0.4, 0.15):
        for steps in (1, 2):
            rows.append(partial(row, f"{steps} steps, Laplace {scale}", allocated(steps, laplace(scale)), partial(allocation.laplace_curve, exact(scale), steps), EPSILONS, 20))
    return rows


def seven(x):
    return float(f"{x:.7g}")


def sampled_row(number, steps, epochs, sigma, epsilon, samples):
    with mp.workdps(30):
        mu = 1 / exact(sigma)
        low, mean, high, m = allocation.remove(float(mu), steps, epochs, epsilon, samples, number)
        low_add, _, high_add = allocation.add(float(mu), steps, epochs, epsilon, samples // 2, number + 1000)
    return workload(f"{epochs} epochs of {steps} steps, sigma {sigma}", ADD_OR_REMOVE, event(allocated(steps, gaussian(sigma)), epochs)) | {
        "epsilon": epsilon, "low": seven(max(low, low_add)), "high": seven(max(high, high_add)), "mean": text(mean, 6), "order": m}


def several_row(number, steps, selected, noise, scale, adjacency, epsilon, samples):
    of, said = {"gaussian": (lambda: allocation.gaussian_steps(1 / scale), gaussian(scale)),
                "laplace": (lambda: allocation.laplace_steps(scale), laplace(scale))}[noise]
    (low, mean, high), (low_add, _, high_add) = allocation.several(of(), steps, selected, epsilon, samples, number)
    name = f"{selected} of {steps} steps, " + (f"sigma {scale}" if noise == "gaussian" else f"Laplace {scale}")
    return workload(name, adjacency, event(allocated(steps, said, selected))) | {
        "epsilon": epsilon, "low": seven(max(low, low_add)), "high": seven(max(high, high_add)), "mean": text(mean, 6), "order": 1}


SAMPLED = [
    (10, 1, 1.0, 0.5, 400_000), (10, 1, 1.0, 2.0, 400_000), (10, 1, 0.4, 3.0, 400_000), (10, 1, 5.0, 0.1, 400_000), (10, 1, 2.0, 1.5, 400_000),
    (10, 2, 1.0, 1.0, 200_000), (10, 5, 1.0, 3.0, 100_000), (10, 5, 3.0, 1.0, 100_000), (10, 2, 0.3, 12.0, 200_000),
    (100, 1, 1.0, 0.2, 60_000), (100, 1, 1.0, 1.5, 60_000), (100, 1, 0.4, 2.0, 60_000), (100, 2, 0.8, 1.0, 30_000), (100, 5, 1.0, 1.0, 20_000),
    (100, 5, 0.5, 4.0, 20_000), (1000, 1, 1.0, 0.1, 8_000), (1000, 1, 0.6, 1.0, 8_000), (1000, 1, 0.3, 3.0, 8_000), (1000, 2, 0.6, 0.5, 5_000),
    (1000, 5, 0.5, 1.0, 3_000), (10_000, 1, 0.5, 0.1, 1_500), (10_000, 1, 0.3, 2.0, 1_500), (10_000, 2, 0.3, 1.0, 1_000),
]
SEVERAL = [(3, 2, 1.0, 0.5, 200_000), (4, 2, 1.0, 0.5, 200_000), (5, 3, 0.8, 1.0, 200_000), (10, 9, 2.0, 0.5, 200_000), (3, 3, 1.0, 1.0, 200_000)]


def drawn(rows):
    """Shapes of all kinds: few and many steps, few and nearly all of them chosen, little and much noise."""
    rng = Random(29)
    for _ in range(rows):
        steps = rng.choice([3, 4, 5, 7, 10, 16, 40])
        selected = rng.randint(2, steps - 1)
        sigma = seven(10 ** rng.uniform(-0.4, 0.8))
        yield steps, selected, sigma, seven(rng.uniform(0, 1.5) * (selected / sigma / steps**0.5 + 0.1)), 60_000


def by_sampling():
    return [partial(sampled_row, i, *x) for i, x in enumerate(SAMPLED)]


def several():
    shapes = SEVERAL + list(drawn(250))
    one = [(steps, selected, "gaussian", sigma, ADD_OR_REMOVE, *rest) for steps, selected, sigma, *rest in shapes]
    zero = [(steps, selected, "gaussian", sigma, "ZERO_OUT", *rest) for steps, selected, sigma, *rest in shapes[:45]]
    other = [(steps, selected, "laplace", scale, ("ZERO_OUT", ADD_OR_REMOVE)[i % 2], *rest)
             for i, (steps, selected, scale, *rest) in enumerate(shapes[45:125])]
    return [partial(several_row, 500 + i, *x) for i, x in enumerate(one + zero + other)]


def orders_row(number, noise, steps, selected, passes, alpha):
    """Divergences of one order; those that are exact, and lower bounds."""
    if "gaussian" in noise:
        of = allocation_orders.Gaussian(mp.sqrt(passes) / exact(noise["gaussian"]["noiseMultiplier"]))
    else:
        of = allocation_orders.Laplace(exact(noise["laplace"]["scale"]))
    row = workload(f"{selected} of {steps}, {passes} passes, {noise}, order {alpha}", ADD_OR_REMOVE,
                   event(allocated(steps, noise, selected if selected > 1 else None, passes if passes > 1 else None))) | {"order": alpha}
    for way, found in zip(("remove", "add"), allocation_orders.divergences(of, steps, selected, alpha, number)):
        if found:
            row[way if found[1] else way + "Low"] = text(found[0], 15) if found[1] else seven(float(found[0]))
    return row


def orders():
    rows = []
    for noise in [gaussian(x) for x in (10.0, 1.0, 0.3)] + [laplace(x) for x in (2.0, 0.3)]:
        shapes = [(1, 1, 1), (2, 1, 1), (10, 1, 1), (1000, 1, 1), (100_000, 1, 1), (3, 2, 1), (5, 3, 1), (4, 4, 1)]
        if "gaussian" in noise:
            shapes += [(10, 1, 3), (5, 2, 2)]
        for steps, selected, passes in shapes:
            for alpha in (1.25, 2.0, 3.5, 8.0, 40.0):
                if alpha < 10 or selected == 1 or selected == steps:
                    rows.append(partial(orders_row, len(rows), noise, steps, selected, passes, alpha))
    return rows


ABOUT_ORDERS = ("Rényi divergences of random allocation at one order, in both directions, from the definition, 15 digits: whole orders by "
                "binomial theorems, others by Laplace transforms. removeLow, addLow: at least so much, by sampling with terms that are "
                "cut; empirical Bernstein bounds that miss with probability 1e-6.")
ABOUT = ("Random allocation. rows: delta(epsilon) in both directions, from the definition: one step in closed form, two and three by the "
         "trapezoid rule, 20 and 15 digits. sampled, several: delta of the larger direction lies in [low, high]: importance sampling of "
         "products S^order Q with bounded terms, empirical Bernstein bounds that miss with probability 1e-6 a row and direction. "
         "several: a record takes part in a uniform subset of so many steps, with Gaussian and with Laplace noise.")
FILES = {"accountant/testdata/allocation.json": lambda: File(ABOUT_ORDERS, 50, {"orders": orders()}),
         "pld/testdata/allocation.json": lambda: File(ABOUT, 50, {"rows": one_to_three(), "sampled": by_sampling(), "several": several()})}
