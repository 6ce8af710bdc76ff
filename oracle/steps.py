# SPDX-License-Identifier: Apache-2.0
"""A few steps of a sampled Laplace: the losses' law on ever finer grids, convolved exactly, extrapolated to step 0.

One step has atoms at both ends of its losses and a density between. Each grid cell's masses go to its two ends so that those
of P and of Q are both kept (Doroshenko et al. 2022): the curve is then the chord of the true one between grid points, above it,
off by c2·h² + c4·h⁴ + …. Masses are integers in units of 2^−BITS; convolution is a product of large ones.
"""

from functools import lru_cache

from gmpy2 import mpz
from mpmath import mp, mpf

from .number import exact
from .pairs import REMOVE

BITS = 256
LEVELS = (48, 96, 192, 384)
DIGITS = 14  # at most


def _tail(x):
    """P(Lap(0) > x) for scale 1."""
    return mp.exp(-x) / 2 if x >= 0 else 1 - mp.exp(x) / 2


class Step:
    """((1−q)Lap(0) + q·Lap(a), (1−q)Lap(0) + q·Lap(b)) of scale 1 with b = 0 or b = −a; the loss rises with x."""

    def __init__(self, e0, q, direction, symmetric):
        self.a, self.q = exact(e0), exact(q)
        self.b = -self.a if symmetric else mpf(0)
        self.mirrored = direction != REMOVE and not symmetric

    def tails(self, x):
        """Masses beyond x of both laws."""
        q = self.q
        return tuple((1 - q) * _tail(x) + q * _tail(x - at) for at in (self.a, self.b))

    def loss(self, x):
        d = [mp.exp(-abs(x)) * (1 - self.q) + mp.exp(-abs(x - at)) * self.q for at in (self.a, self.b)]
        return mp.log(d[0] / d[1])

    def where(self, l, lo, hi):
        """x with loss l, by bisection and secants."""
        return mp.findroot(lambda x: self.loss(x) - l, (lo, hi), solver="anderson", tol=mpf(10) ** -(mp.dps - 5), maxsteps=2000)

    @lru_cache(maxsize=None)
    def grid(self, count):
        """(lowest loss, step, P masses, Q masses) on count cells between the two atoms."""
        left, right = min(self.b, mpf(0)), self.a
        low, high = self.loss(left), self.loss(right)
        h = (high - low) / count
        xs = [left] + [None] * (count - 1) + [right]
        for i in range(1, count):
            xs[i] = self.where(low + i * h, xs[i - 1], right)
        tails = [self.tails(x) for x in xs]
        p = [mpf(0)] * (count + 1)
        q = [mpf(0)] * (count + 1)
        p[0], q[0] = (1 - t for t in tails[0])
        p[count], q[count] = tails[count]
        for i in range(count):
            cp, cq = (a - b for a, b in zip(tails[i], tails[i + 1]))
            # p = u + v, q = u·e^{−l_i} + v·e^{−l_{i+1}}
            v = (cp - cq * mp.exp(low + i * h)) / (-mp.expm1(-h))
            u = cp - v
            p[i] += u
            p[i + 1] += v
            q[i] += u * mp.exp(-low - i * h)
            q[i + 1] += v * mp.exp(-low - (i + 1) * h)
        if self.mirrored:
            return -high, h, q[::-1], p[::-1]
        return low, h, p, q


def _product(a, b):
    """Coefficients of the product of two polynomials of masses in units of 2^−BITS, rounded to that again (Kronecker substitution)."""
    width = (2 * BITS + 32 + 7) // 8
    pack = lambda c: int.from_bytes(b"".join(x.to_bytes(width, "little") for x in c), "little")
    size = len(a) + len(b) - 1
    raw = int(mpz(pack(a)) * mpz(pack(b))).to_bytes(width * (size + 1), "little")
    return [(int.from_bytes(raw[i * width:(i + 1) * width], "little") + (1 << BITS - 1)) >> BITS for i in range(size)]


def _power(masses, n):
    """Masses of the n-fold sum."""
    base, out = [int(mp.nint(m * mpf(2) ** BITS)) for m in masses], None
    while n:
        if n & 1:
            out = base if out is None else _product(out, base)
        n >>= 1
        if n:
            base = _product(base, base)
    return [mpf(x) / mpf(2) ** BITS for x in out]


def deltas(step, n, marks, levels=LEVELS):
    """[(ε, δ, digits)] at the losses n·low + mark·h of the n-fold sum on the coarsest grid."""
    rows = []
    for count in levels:
        low, h, p, q = step.grid(count)
        ps, qs = _power(p, n), _power(q, n)
        row = []
        for mark in marks:
            at = mark * count // levels[0]
            epsilon = n * low + at * h
            row.append((epsilon, mp.fsum(ps[at + 1:]) - mp.exp(epsilon) * mp.fsum(qs[at + 1:])))
        rows.append(row)
    out = []
    for column in zip(*rows):
        table = [d for _, d in column]
        for k in range(1, len(levels)):
            before = table[-1]
            table = [(4 ** k * fine - coarse) / (4 ** k - 1) for coarse, fine in zip(table, table[1:])]
        digits = min(DIGITS, int(-mp.log10(abs(before / table[0] - 1) + mpf(10) ** -30)))
        if digits >= 8:  # otherwise the grids are too coarse for that tail
            out.append((column[0][0], table[0], digits))
    return out


def two_steps(step, epsilon):
    """δ of two steps by definition: the first one's masses on the second's curve, by quadrature."""
    left, right = min(step.b, mpf(0)), step.a
    def curve(e):
        """One step's δ(e) at any real e."""
        if step.mirrored:
            return 1 - mp.exp(e) + mp.exp(e) * plain(-e)
        return plain(e)
    def plain(e):
        if e >= step.loss(right):
            return mpf(0)
        if e < step.loss(left):
            return 1 - mp.exp(e)
        if e == step.loss(left):
            p, q = step.tails(left)
            return p - mp.exp(e) * q
        p, q = step.tails(step.where(e, left, right))
        return p - mp.exp(e) * q
    sign = -1 if step.mirrored else 1
    ends = [(1 - step.tails(left)[1 if step.mirrored else 0], sign * step.loss(left)),
            (step.tails(right)[1 if step.mirrored else 0], sign * step.loss(right))]
    total = mp.fsum(mass * curve(epsilon - l) for mass, l in ends)
    def density(x, at):
        return (mp.exp(-abs(x)) * (1 - step.q) + mp.exp(-abs(x - at)) * step.q) / 2
    at = step.b if step.mirrored else step.a
    breaks = {left, right, mpf(0)}
    for l in (step.loss(left), step.loss(right)):
        kink = sign * (epsilon - sign * l)
        if step.loss(left) < kink < step.loss(right):
            breaks.add(step.where(kink, left, right))
    return total + mp.quad(lambda x: density(x, at) * curve(epsilon - sign * step.loss(x)), sorted(breaks))


@lru_cache(maxsize=None)
def of(e0, q, direction, symmetric):
    return Step(e0, q, direction, symmetric)
