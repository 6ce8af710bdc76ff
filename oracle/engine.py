# SPDX-License-Identifier: Apache-2.0
"""The exact curve of any workload: picks the method that suits each direction and takes the larger curve.

finite losses → sums (atoms); Laplace and finite losses → residues (laplace); one subsampled or any plain Gaussians → the definition;
plain Gaussians and finite losses → the Gaussian curve averaged over the finite losses; everything else → the contour.
"""

from itertools import groupby

from mpmath import mp, mpf

from . import atoms, contour, conversion, laplace, single
from .ledger import sides
from .normal import gaussian_log_delta
from .number import exact, root, root_near
from .pairs import ADD, Atoms, Line, Pieces

DIGITS = 26
WINDOWED = 21


def composed_rows(pair, n):
    """(loss, P mass) of n independent uses of a finite pair, the finite part normalised."""
    finite = [(mp.log(p / w), p) for p, w in pair.rows if p and w]
    finite.sort(key=lambda r: r[0])
    losses = []
    for loss, group in groupby(finite, key=lambda r: r[0]):
        losses.append((loss, mp.fsum(p for _, p in group)))
    total = mp.fsum(p for _, p in losses)
    losses = [(l, p / total) for l, p in losses]
    return _multinomial(losses, n)


def _multinomial(losses, n):
    if len(losses) == 1:
        return [(n * losses[0][0], losses[0][1] ** n)]
    (loss, mass), rest = losses[0], losses[1:]
    out = []
    left = 1 - mass
    rest = [(l, p / left) for l, p in rest]
    weight = left ** n  # C(n,k) mass^k left^{n−k}
    for k in range(n + 1):
        out += [(k * loss + l, weight * p) for l, p in _multinomial(rest, n - k)]
        weight = weight * (n - k) * mass / ((k + 1) * left)
    return out


def merged(rows):
    """Equal losses (to working precision) added together."""
    rows = sorted(rows, key=lambda r: r[0])
    out = []
    for loss, mass in rows:
        if out and abs(out[-1][0] - loss) <= mpf(10) ** -(mp.dps - 15) * (1 + abs(loss)):
            out[-1] = (out[-1][0], out[-1][1] + mass)
        else:
            out.append((loss, mass))
    return out


class Side:
    """One direction's composition, sorted into kinds."""

    def __init__(self, composition, direction, window=None):
        self.all, self.direction, self.window = composition, direction, window
        self.atoms = [(n, p) for n, p in composition.parts if isinstance(p, Atoms)]
        self.laplaces = [(n, p) for n, p in composition.parts if isinstance(p, Pieces) and p.plain is not None]
        self.gaussians = [(n, p) for n, p in composition.parts if isinstance(p, Line) and mp.isinf(p.width)]
        self.others = [x for x in composition.parts if x not in self.atoms + self.laplaces + self.gaussians]
        self.log_finite = composition.log_finite()
        self.used = None

    def method(self):
        if not self.others and not self.laplaces and not self.gaussians:
            return "sums"
        if not self.others and not self.gaussians:
            return "residues"
        if not self.others and not self.laplaces:
            return "gaussian"
        if len(self.all.parts) == 1 and self.all.parts[0][0] == 1 and isinstance(self.all.parts[0][1], Line):
            return "single"
        return "contour"

    def rows(self):
        rows = [(mpf(0), mpf(1))]
        for n, pair in self.atoms:
            rows = merged(atoms.product(rows, composed_rows(pair, n)))
        return rows

    def top_loss(self):
        """sup of the finite losses, where a bound is at hand."""
        if self.gaussians or self.laplaces or any(not isinstance(p, Line) or p.key[2] != "a" for _, p in self.others):
            return mp.inf
        top = sum((n * -mp.log1p(-p.key[1]) for n, p in self.others), mpf(0))
        return top + sum(n * max(mp.log(p / w) for p, w in pair.rows if p and w) for n, pair in self.atoms)

    def log_delta(self, epsilon, digits=DIGITS):
        """ln of the finite part's δ(ε), −∞ beyond the last loss."""
        method = self.used = self.method()
        if epsilon >= self.top_loss():
            return -mp.inf
        if method == "sums":
            return _log(atoms.Steps(self.rows()).finite_delta(epsilon))
        if method == "residues":
            return _log(laplace.curve([(p.plain, n) for n, p in self.laplaces], self.rows, 0, epsilon))
        if method == "gaussian":
            mu = mp.sqrt(sum(n * p.centres[-1] ** 2 for n, p in self.gaussians))
            return mp.log(mp.fsum(mass * mp.exp(gaussian_log_delta(mu, epsilon - loss)) for loss, mass in self.rows()))
        if method == "single":
            shift, q, kind = self.all.parts[0][1].key
            with mp.extradps(40):
                value = {"r": single.sampled_gaussian_remove, "a": single.sampled_gaussian_add, "R": single.sampled_gaussian_replace}[kind](shift, q, epsilon)
                return _log(value)
        return self._contour(lambda k, tau: k.log_delta(epsilon, tau), self.saddle(epsilon), digits)

    def saddle(self, epsilon):
        """A line left of the saddle: further aliases die sooner there, at the price of some e^{10} in precision."""
        slope = self._slope
        log_delta, theta = conversion.best_log_delta(slope, lambda s: slope(s)[0], epsilon, steer=3)
        return theta * (1 - min(mpf(4) / 10, mp.sqrt(10 / (10 - log_delta))))

    def _slope(self, s):
        return self.all.slope(s, self.all.steer_digits() - 14)

    def _contour(self, evaluate, theta, digits):
        theta = mpf(round(float(theta), 3 - int(mp.floor(mp.log10(theta)))))
        if self.window:
            digits = min(digits, WINDOWED)
        value, self.last_contour = contour.converged(self.all, theta, evaluate, digits, self.window)
        return value

    def epsilon(self, log_delta, digits=DIGITS):
        """The least ε ≥ 0 with finite ln δ(ε) ≤ log_delta."""
        method = self.used = self.method()
        if method == "sums":
            return atoms.Steps(self.rows()).epsilon(mp.exp(log_delta))
        slope = self._slope
        if method == "contour":
            return self._contour_epsilon(log_delta, digits)
        at = lambda e: self.log_delta(e)
        if at(mpf(0)) <= log_delta:
            return mpf(0)
        hi = mpf(1) / 10
        if self.top_loss() < mp.inf:
            hi = self.top_loss()
        elif method == "residues":
            hi = sum(n * p.plain for n, p in self.laplaces) + max(l for l, _ in self.rows())
        else:
            while at(hi) > log_delta:
                hi *= 2
        # Beyond the last loss ln δ is −∞: a finite number in its place keeps the search to bisection there.
        f = lambda e: log_delta - max(at(e), log_delta * 4 - 1000)
        return root(f, mpf(0), hi, digits + 4)

    def _contour_epsilon(self, log_delta, digits):
        slope = self._slope
        guess, theta = conversion.best_epsilon(slope, lambda s: slope(s)[0], log_delta, steer=3)
        if guess <= 0 or self.log_delta(mpf(0), 12) <= log_delta:
            if self.log_delta(mpf(0)) <= log_delta:
                return mpf(0)
        # First roughly, from the Rényi order; then with the saddle of that ε. A first, coarse step may put ε elsewhere.
        def solve(near, width, tight):
            return lambda k, tau: root_near(lambda e: log_delta - k.log_delta(e, tau), near, width, tight)
        gap = mpf(2) / theta
        rough = self._contour(solve(guess - gap, gap, 9), theta, 8)
        return self._contour(solve(rough, abs(rough) / 10 ** 6, digits + 3), self.saddle(rough), digits)


def _log(x):
    return mp.log(x) if x > 0 else -mp.inf


def truth_row(work, given, window=None):
    """given: ("epsilon", ε) or ("delta", δ), floats; the row of the larger direction."""
    name, value = given
    results, digits = {}, DIGITS
    for direction, composition in sides(work).items():
        side = Side(composition, direction, window)
        x = exact(value)
        if name == "epsilon":
            log_delta = side.log_delta(x)
            infinite = -mp.expm1(side.log_finite)
            results[direction] = _log(infinite + (1 - infinite) * mp.exp(log_delta) if mp.isfinite(log_delta) else infinite)
        else:
            rest = composition.conditional_log_delta(value)
            if rest is None:
                results[direction] = mp.inf
            elif results and side.top_loss() <= max(results.values()):
                results[direction] = -mp.inf  # its curve is 0 where the other's still is δ
            else:
                results[direction] = side.epsilon(rest)
        if side.used == "contour" and window:
            digits = WINDOWED
    return max(results.values()), max(results, key=results.get), digits
