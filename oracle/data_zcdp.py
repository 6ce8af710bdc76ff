# SPDX-License-Identifier: Apache-2.0
"""internal/zcdp/testdata: the tight conversion of ρ-zCDP, infimum over real orders."""

from functools import partial

from mpmath import mp

from .conversion import best_epsilon, best_log_delta, concentrated
from .number import exact, text
from .writing import File

RHOS = [1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 1e3, 1e4]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-50, 1e-30, 1e-20, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5]
EPSILONS = [0.0, 1e-3, 0.1, 1.0, 3.0, 10.0, 100.0, 1e4, 1e6]

ABOUT = ("epsilonOfDelta: infimum over real alpha > 1 of tau + ln((alpha-1)/alpha) - (ln delta + ln alpha)/(alpha-1), tau = alpha rho "
         "(Canonne, Kamath, Steinke 2020, Prop. 12). infimum may be negative, epsilon is max(0, infimum); alphaMinusOne attains it. "
         "deltaOfEpsilon: the same bound solved for ln delta, minimised over alpha. Inputs are binary64, taken exactly; 30 digits.")


def epsilon_row(rho, delta):
    epsilon, s = best_epsilon(*concentrated(exact(rho)), mp.log(exact(delta)))
    return {"rho": rho, "delta": delta, "epsilon": text(max(epsilon, 0)), "infimum": text(epsilon), "alphaMinusOne": text(s, 12)}


def delta_row(rho, epsilon):
    log_delta, s = best_log_delta(*concentrated(exact(rho)), exact(epsilon))
    return {"rho": rho, "epsilon": epsilon, "logDelta": text(log_delta), "alphaMinusOne": text(s, 12)}


def tables():
    return {"epsilonOfDelta": [partial(epsilon_row, rho, delta) for rho in RHOS for delta in DELTAS],
            "deltaOfEpsilon": [partial(delta_row, rho, epsilon) for rho in RHOS for epsilon in EPSILONS]}


FILES = {"zcdp/testdata/conversion.json": lambda: File(ABOUT, 60, tables())}
