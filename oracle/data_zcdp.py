"""internal/zcdp/testdata: the tight conversion of ρ-zCDP, infimum over real orders."""

from mpmath import mp

from .conversion import best_epsilon, best_log_delta, concentrated
from .number import exact, text

RHOS = [1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 1e3, 1e4]
DELTAS = [1e-300, 1e-200, 1e-100, 1e-50, 1e-30, 1e-20, 1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.5]

ABOUT = ("epsilonOfDelta: infimum over real alpha > 1 of tau + ln((alpha-1)/alpha) - (ln delta + ln alpha)/(alpha-1), tau = alpha rho "
         "(Canonne, Kamath, Steinke 2020, Prop. 12). infimum may be negative, epsilon is max(0, infimum); alphaMinusOne attains it. "
         "deltaOfEpsilon: the same bound solved for ln delta, minimised over alpha. Inputs are binary64, taken exactly; 30 digits.")


def build():
    mp.dps = 60
    down, up = [], []
    for rho in RHOS:
        slope, value = concentrated(exact(rho))
        for delta in DELTAS:
            epsilon, s = best_epsilon(slope, value, mp.log(exact(delta)))
            down.append({"rho": rho, "delta": delta, "epsilon": text(max(epsilon, 0)), "infimum": text(epsilon), "alphaMinusOne": text(s, 18)})
        for epsilon in [0.0, 1e-3, 0.1, 1.0, 3.0, 10.0, 100.0, 1e4, 1e6]:
            log_delta, s = best_log_delta(slope, value, exact(epsilon))
            up.append({"rho": rho, "epsilon": epsilon, "logDelta": text(log_delta), "alphaMinusOne": text(s, 18)})
    return {"about": ABOUT, "epsilonOfDelta": down, "deltaOfEpsilon": up}


FILES = {"zcdp/testdata/conversion.json": build}
