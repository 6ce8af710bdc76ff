"""δ(ε) of a composition by the contour integral, in multiprecision, with every step halved as a check.

δ = (1/π) ∫₀^∞ Re[e^{K(s)−sε}/(s(s+1))] dt on s = θ + it, θ > 0, half weight at t = 0. The trapezoid sum with step Δt equals
Σ_m e^{mθW} δ(ε + mW), W = 2π/Δt, all terms ≥ 0; so agreement of Δt with Δt/2 bounds the excess of both.
"""

from mpmath import mp, mpc, mpf

from .cumulant import log_finite, moment
from .ledger import Composition
from .number import Inexact, root
from .pairs import Atoms, Line


class Contour:
    """K at the nodes of one line Re s = θ: the curve near the ε that θ suits, as often as one likes."""

    def __init__(self, composition, theta, step, digits, level=0, stop=None):
        """digits: of δ, relative. level: of the quadrature of M. stop: number of nodes, else found."""
        self.theta, self.step, self.digits = mpf(theta), mpf(step), digits
        self.composition, self.level = composition, level
        self.work = digits + 8 + len(str(sum(n for n, _ in composition.parts)))
        self.nodes = []  # (s, K(s) − K(θ) , ln 1/(s(s+1)))
        with mp.workdps(self.work + 25):
            self.top = self._k(mpc(self.theta, 0)).real
            self._fill(stop)

    def _k(self, s):
        """Σ n (ln M − ln P(L<∞)) modulo 2πi."""
        total = mpc(0)
        for n, pair in self.composition.parts:
            m = moment(pair, s, self.work, self.level)
            if m == 0:
                return None
            total += n * (mp.log(m) - log_finite(pair))
        return total

    def _fill(self, stop, limit=300000):
        quiet, j = 0, 0
        small = -(self.digits + 3) * mp.log(10)
        base = mp.log(self.theta * (1 + self.theta))
        while stop is None or j < stop:
            s = mpc(self.theta, self.step * j)
            k = self._k(s)
            size = -mp.inf if k is None else k.real - self.top - mp.log(abs(s * (s + 1))) + base
            if k is not None:
                self.nodes.append((s, k - self.top - mp.log(s) - mp.log(s + 1)))
            j += 1
            if stop is None:
                # All of a stretch as long as half of what came before must be below the floor.
                quiet = quiet + 1 if size < small - mp.log(j) else 0
                if quiet > 12 and quiet > j / 3:
                    break
                if j > limit:
                    raise Inexact(f"the contour does not end within {limit} nodes")
        self.count = j

    def log_delta(self, epsilon):
        """ln of the finite part's δ(ε)."""
        with mp.workdps(self.work + 25):
            total = mpf(0)
            for s, v in self.nodes:
                e = mp.exp(v - mpc(0, s.imag * epsilon)).real
                total += e / 2 if s.imag == 0 else e
            if total <= 0:
                raise Inexact("contour sum is not positive: θ does not suit ε")
            return mp.log(total * self.step / mp.pi) + self.top - self.theta * epsilon


def gaussian_floor(composition):
    """Σ n μ² of plain Gaussians: then |e^K| falls at least like e^{−t²μ²/2}."""
    return sum((n * pair.centres[-1] ** 2 for n, pair in composition.parts
                if isinstance(pair, Line) and mp.isinf(pair.width)), mpf(0))


def converged(composition, theta, guess, evaluate, digits):
    """evaluate(contour) with steps halved until two agree on `digits` digits; returns (value, nodes)."""
    # A first period: e^{−θW} below the accuracy, at least the spread of the loss itself.
    theta = mpf(theta)
    period = (digits + 3) * mp.log(10) / theta
    deviation = _deviation(composition, theta)
    width = max(min(period, 40 * deviation + abs(guess) * 2), 8 * deviation)
    step = 2 * mp.pi / width
    previous = None
    for halving in range(12):
        c = Contour(composition, theta, step, digits + 2, level=min(halving, 1))
        value = evaluate(c)
        if previous is not None and abs(value - previous) <= mpf(10) ** -digits * max(1, abs(value)):
            return value, c.count
        previous, step = value, step / 2
    raise Inexact("contour: halving the step does not settle")


def _deviation(composition, theta):
    """Standard deviation of the tilted loss, roughly, by a second difference."""
    h = min(theta / 4, mpf(1) / 100)
    digits = composition.steer_digits()
    up = composition.slope(theta + h, digits)[1]
    down = composition.slope(theta - h, digits)[1]
    return mp.sqrt(abs(up - down) / (2 * h))
