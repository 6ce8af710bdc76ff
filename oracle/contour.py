# SPDX-License-Identifier: Apache-2.0
"""δ(ε) of a composition by the contour integral, in multiprecision, with every step halved as a check.

δ = (1/π) ∫₀^∞ Re[e^{K(s)−sε}/(s(s+1))] dt on s = θ + it, θ > 0, half weight at t = 0. The trapezoid sum with step Δt equals
Σ_m e^{mθW} δ(ε + mW), W = 2π/Δt, all terms ≥ 0; so agreement of Δt with Δt/2 bounds the excess of both.

Where e^K falls too slowly (few steps of a small rate) the sum carries the window Γ(p, t²τ²/2)/Γ(p), flat to order 2p at 0. In ε it is
a convolution with a Gaussian times a Hermite polynomial that keeps all moments below 2p: harmless where e^{θε}δ(ε) is analytic
within a distance many τ, that is away from the least loss Σ n ln(1−q). Two windows of different width must agree.
"""

from mpmath import mp, mpc, mpf

from .cumulant import log_finite, moment, moments
from .number import Inexact, agree

BLOCK = 48


class Contour:
    """K at the nodes of one line Re s = θ: the curve near the ε that θ suits, as often as one likes."""

    def __init__(self, composition, theta, step, digits, window=None):
        """digits: of δ, relative. window: (p, τ) or None."""
        self.window = window
        self.composition, self.theta, self.step, self.digits = composition, mpf(theta), mpf(step), digits
        self.work = digits + 13 + len(str(sum(n for n, _ in composition.parts)))
        with mp.workdps(self.work + 20):
            self.top = self._combine([[moment(pair, mpc(self.theta, 0), self.work)] for _, pair in composition.parts], [mpc(self.theta, 0)])[0].real
            self.values = self._open_ended()

    def _combine(self, columns, points):
        """Σ n (ln M − ln P(L<∞)) modulo 2πi at each point; None where M is 0 to working precision."""
        finite = self.composition.log_finite()
        out = []
        for j, _ in enumerate(points):
            if any(c[j] == 0 for c in columns):
                out.append(None)
                continue
            out.append(sum(n * mp.log(c[j]) for (n, _), c in zip(self.composition.parts, columns)) - finite)
        return out

    def _scan(self, start, step, count, level=0):
        """ln[e^{K − K(θ)}/(s(s+1))] on a run of nodes."""
        points = [mpc(self.theta, start + step * j) for j in range(count)]
        columns = [moments(pair, self.theta, start, step, count, self.work, level) for _, pair in self.composition.parts]
        return [None if k is None else k - self.top - mp.log(s) - mp.log(s + 1) for k, s in zip(self._combine(columns, points), points)]

    def _open_ended(self, limit=200000):
        """Nodes from t = 0 until a stretch as long as half of what came before stays below the accuracy."""
        values, last = [], 0
        while len(values) < 1.5 * last + 12:
            if len(values) > limit:
                raise Inexact(f"the contour does not end within {limit} nodes")
            for v in self._scan(len(values) * self.step, self.step, BLOCK):
                values.append(v)
                if self._counts(len(values) - 1, v):
                    last = len(values)
        self.last = last
        return values[:last + 12]

    def _counts(self, j, v):
        """Whether a node's term reaches the accuracy."""
        floor = -(self.digits + 8) * mp.log(10) - mp.log(self.theta * (1 + self.theta)) - mp.log(j + 1)
        return v is not None and v.real + self._log_window(j) > floor

    def _log_window(self, j, tau=None):
        """ln Γ(p, x)/Γ(p), x = (tτ)²/2: ln of e^{−x} Σ_{k<p} x^k/k!."""
        if self.window is None:
            return mpf(0)
        p, x = self.window[0], (j * self.step * (tau or self.window[1])) ** 2 / 2
        term = total = mpf(1)
        for k in range(1, p):
            term = term * x / k
            total += term
        return mp.log(total) - x

    def halve(self):
        """The nodes half-way between."""
        with mp.workdps(self.work + 20):
            odd = []
            while len(odd) < len(self.values):
                odd += self._scan((2 * len(odd) + 1) * self.step / 2, self.step, min(BLOCK, len(self.values) - len(odd)))
            self.values = [v for pair in zip(self.values, odd) for v in pair]
            self.step /= 2
            self.last = len(self.values)
            while not self._counts(self.last - 1, self.values[self.last - 1]):
                self.last -= 1
            self.values = self.values[:self.last + 12]

    def verify(self):
        """The moments again on a grid of half the step, at a few nodes."""
        with mp.workdps(self.work + 20):
            for j in {1, self.last // 7, self.last // 3, self.last - 1}:
                if 0 < j < len(self.values) and self.values[j] is not None:
                    again = self._scan(j * self.step, self.step, 1, 1)[0]
                    # Absolute in units of the whole: small terms need fewer digits.
                    agree(mp.exp(again) + 1, mp.exp(self.values[j]) + 1, self.digits, "moments on the contour")

    def log_delta(self, epsilon, tau=None):
        """ln of the finite part's δ(ε); tau: another, greater, width of the window."""
        with mp.workdps(self.work + 20):
            total = mpf(0)
            for j, v in enumerate(self.values):
                if v is not None:
                    e = mp.exp(v.real + self._log_window(j, tau)) * mp.cos(v.imag - j * self.step * epsilon)
                    total += e if j else e / 2
            if total <= 0:
                raise Inexact("contour sum is not positive: θ does not suit ε")
            return mp.log(total * self.step / mp.pi) + self.top - self.theta * epsilon


def deviation(composition, theta):
    """Standard deviation of the tilted loss, by a second difference."""
    h = min(mpf(theta) / 4, mpf(1) / 100)
    digits = composition.steer_digits() - 10
    up, down = composition.slope(theta + h, digits)[1], composition.slope(theta - h, digits)[1]
    return mp.sqrt(abs(up - down) / (2 * h))


def converged(composition, theta, evaluate, digits, window=None):
    """evaluate(contour, tau) with steps halved until two agree on `digits` digits; returns (value, contour)."""
    theta = mpf(theta)
    spread = deviation(composition, theta)
    width = (digits + 3) * mp.log(10) / theta / 2 + 6 * spread
    contour = Contour(composition, theta, 2 * mp.pi / width, digits + 2, window)
    previous = evaluate(contour, None)
    for _ in range(12):
        contour.halve()
        value = evaluate(contour, None)
        if abs(value - previous) <= mpf(10) ** -digits * max(mpf(1), abs(value)):
            contour.verify()
            if window:
                agree(evaluate(contour, window[1] * mpf(5) / 4), value, digits, "two windows")
            return value, contour
        previous = value
    raise Inexact("contour: halving the step does not settle")
