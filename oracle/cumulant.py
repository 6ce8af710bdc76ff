# SPDX-License-Identifier: Apache-2.0
"""K(s) = ln E_P[e^{sL} | L < ∞] by quadrature of the densities or exact sums, at complex s.

K is returned as a principal logarithm: compare modulo 2πi.
"""

from mpmath import mp, mpc, mpf
from mpmath.calculus.quadrature import GaussLegendre

from .fast import convert, exponential_scan, exponential_slope, exponential_sum, gaussian_grid
from .number import Inexact
from .pairs import Atoms, Line, Pieces

CHECKED = 31  # digits of K on which two step sizes must agree


def moment(pair, s, digits, level=0, with_slope=False):
    """E_P[e^{sL}; L < ∞], or with_slope also E_P[L e^{sL}; L < ∞] (s real).

    digits: after the point, relative to the size on the real axis. level: how often the quadrature's step
    is halved below the one its error estimate asks for.
    """
    terms, factor = _terms(pair, s, digits, level)
    if with_slope:
        m0, m1 = exponential_slope(terms, s.real)
        return m0 * factor, m1 * factor
    re, im = exponential_sum(terms, s.real, s.imag)
    return mpc(re, im) * factor


def moments(pair, theta, start, step, count, digits, level=0):
    """E_P[e^{sL}; L < ∞] at s = θ + i(start + j·step), j < count, on one grid fine enough for the last."""
    terms, factor = _terms(pair, mpc(theta, start + step * (count - 1)), digits, level)
    return [mpc(re, im) * factor for re, im in exponential_scan(terms, theta, start, step, count)]


def _terms(pair, s, digits, level):
    """Rows (ln weight, loss) in mpfr, and a common factor."""
    if isinstance(pair, Atoms):
        return convert([(mp.log(p), mp.log(p / w)) for p, w in pair.rows if p and w]), 1
    if isinstance(pair, Pieces):
        rows = [(mp.log(p), mp.log(p / w)) for p, w in (pair.left, pair.right)]
        for a, b in zip(pair.breaks, pair.breaks[1:]):
            # Nearly a pure exponential between break points: parts in which it turns and grows little.
            parts = (1 + int(abs(s.imag) * (b - a) / 4 + abs(s.real) * (b - a) / 16)) << level
            for x, weight in _legendre(a, b, parts):
                lp = pair.log_p(x)
                rows.append((lp + mp.log(weight), lp - pair.log_q(x)))
        return convert(rows), 1
    return _line_terms(pair, s, digits, level)


_legendre_cache = {}


def _legendre(a, b, parts):
    """Gauss-Legendre nodes on [a, b] cut in parts; enough for entire functions that vary by e^{4}, e^{16} in a part."""
    key = mp.prec
    if key not in _legendre_cache:
        degree = 1
        while 3 * 2 ** (degree - 1) * 1.1 < mp.dps + 10:
            degree += 1
        _legendre_cache[key] = GaussLegendre(mp).calc_nodes(degree, mp.prec)
    nodes = _legendre_cache[key]
    width = (b - a) / parts
    for j in range(parts):
        middle, half = a + width * j + width / 2, width / 2
        for x, weight in nodes:
            yield middle + half * x, half * weight


def _line_range(pair, theta, digits):
    """Where the integrand exceeds 10^−digits of its top; the humps lie at weighted means, all tails fall like the noise's."""
    centres = [mpf(c) for c in pair.centres]
    humps = {0} | {c * f for c in centres for f in (1 + theta, -theta, 1 + 2 * theta, 1)}
    xs = {h + 2 * k for h in humps for k in range(-25, 26)}
    far = mpf(60)
    while far < 4 * max(abs(h) for h in humps) + 200:
        xs |= {far, -far}
        far *= mpf(9) / 8
    xs = sorted(xs)
    values = []
    for x in xs:
        lp = pair.log_p(x)
        values.append(lp + theta * (lp - pair.log_q(x)))
    floor = max(values) - digits * mp.log(10) - 10
    keep = [j for j, v in enumerate(values) if v > floor]
    return xs[max(0, keep[0] - 1)], xs[min(len(xs) - 1, keep[-1] + 1)]


_grid_cache = {}


def _grid(pair, a, h, n):
    """(ln p, L) on a grid, kept for the next s."""
    key = (pair.key, a, h, n, mp.prec)
    if key not in _grid_cache:
        if sum(len(v) for v in _grid_cache.values()) > 200000:
            _grid_cache.clear()
        _grid_cache[key] = gaussian_grid(*pair.key, a, h, n)
    return _grid_cache[key]


def _step(pair, theta, t, digits):
    """A step that leaves e^{−2πw/h} times the growth on the lines Im x = ±w below 10^−digits."""
    need = digits * mp.log(10) + 5
    c = max(abs(mpf(x)) for x in pair.centres)
    if mp.isinf(pair.width):
        # Gaussian times e^{i·slope·x}: the best w is near 2π/h.
        h = 2 * mp.pi / (c * t + mp.sqrt(2 * need))
    else:
        # Half-way to the zeros |1−q + qe^u| ≥ (its value on the axis)/√2 and |arg| ≤ |Im u|.
        w = min(pair.width / 2, mp.sqrt(2 * need))
        h = 2 * mp.pi * w / (need + w * w / 2 + mpf(0.7) * (1 + abs(theta)) + (2 if pair.key[2] == "R" else 1) * c * w * t)
    return mpf(2) ** (mp.floor(4 * mp.log(h, 2)) / 4)


def _line_terms(pair, s, digits, level):
    theta, t = s.real, abs(s.imag)
    a, b = _line_range(pair, theta, digits)
    h = mp.ldexp(_step(pair, theta, t, digits), -level)
    a = mp.floor(a / h) * h  # from a round multiple, so that the next s finds the same grid
    n = int(mp.ceil((b - a) / h))
    if n > 400000:
        raise Inexact("quadrature would need too many nodes")
    return _grid(pair, a, h, n), h


def cumulant(pair, s, checked=CHECKED):
    """K(s): digits and nodes are raised until two rounds agree on `checked` digits of |K|."""
    s = mpc(s)
    if s == 0:
        return mpf(0)
    if isinstance(pair, Line) and mp.isinf(pair.width) and abs(s.imag) * max(pair.centres) > 20:
        # A plain Gaussian far up: the integral is e^{−t²μ²/2} of its terms; complete the square instead.
        with mp.workdps(checked + 30):
            return s * (s + 1) * max(pair.centres) ** 2 / 2
    digits = checked + 3
    while digits < 330:
        coarse = _log_moment(pair, s, digits, 0)
        lost = digits if coarse == 0 else max(0, -int(mp.log10(abs(coarse))))
        if lost > 3 and digits < checked + 3 + lost:
            digits = checked + 3 + lost  # 1 + K was rounded where K needs its digits
            continue
        fine = _log_moment(pair, s, digits + 6, 1)
        apart = abs(fine - coarse) / abs(fine)
        if apart <= mpf(10) ** -checked:
            return fine
        digits += max(int(mp.log10(apart)) + checked + 8, digits // 2 if apart > mpf(10) ** -3 else 0)
    raise Inexact(f"K({s}) did not settle")


def _log_moment(pair, s, digits, level):
    with mp.workdps(digits + 20):
        value = mp.log(moment(pair, s, digits, level)) - log_finite(pair)
        return value.real if s.imag == 0 else value


def log_finite(pair):
    """ln P(L < ∞)."""
    if isinstance(pair, Atoms):
        return mp.log1p(-mp.fsum(p for p, w in pair.rows if not w))
    return mpf(0)


def slope(pair, s, digits):
    """(K(s), K'(s)) at real s with about `digits` digits after the point (absolute): to steer a search."""
    with mp.workdps(digits + 15):
        m0, m1 = moment(pair, mpc(s), digits, with_slope=True)
        return mp.log(m0) - log_finite(pair), m1 / m0
