# SPDX-License-Identifier: Apache-2.0
"""Long sums in MPFR (gmpy2), five times faster than through mpmath objects; same precision, same inputs."""

import operator

import gmpy2
from mpmath import mp, mpf


def to_mpfr(x):
    """mpf → mpfr without rounding beyond the context's precision."""
    sign, man, exp, _ = mpf(x)._mpf_
    value = gmpy2.mpfr(gmpy2.mpz(man))
    value = gmpy2.mul_2exp(value, exp) if exp >= 0 else gmpy2.div_2exp(value, -exp)
    return -value if sign else value


def from_mpfr(x):
    """mpfr → mpf exactly."""
    if not gmpy2.is_finite(x):
        raise ArithmeticError("sum left MPFR's range")
    man, exp = x.as_mantissa_exp()
    return mp.ldexp(mpf(int(man)), int(exp))


def context():
    """A gmpy2 context with mpmath's current precision."""
    return gmpy2.context(precision=mp.prec, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())


def exponential_sum(terms, theta, t):
    """Σ e^{p + (θ+it)l} over terms (p, l) in mpfr, and the same at −t's conjugate being implied."""
    with context():
        theta, t = to_mpfr(theta), to_mpfr(t)
        re = im = gmpy2.mpfr(0)
        if t == 0:
            for p, l in terms:
                re += gmpy2.exp(p + theta * l)
        else:
            for p, l in terms:
                size = gmpy2.exp(p + theta * l)
                sine, cosine = gmpy2.sin_cos(t * l)
                re += size * cosine
                im += size * sine
        return from_mpfr(re), from_mpfr(im)


def exponential_slope(terms, theta):
    """Σ e^{p + θl} and Σ l e^{p + θl}."""
    with context():
        theta = to_mpfr(theta)
        total = slope = gmpy2.mpfr(0)
        for p, l in terms:
            v = gmpy2.exp(p + theta * l)
            total += v
            slope += l * v
        return from_mpfr(total), from_mpfr(slope)


def convert(rows):
    with context():
        return [(to_mpfr(a), to_mpfr(b)) for a, b in rows]


def gaussian_grid(shift, q, kind, a, h, n):
    """(ln p, ln p − ln q) at x = a + hj, j = 0 … n, for the Gaussian pairs of pairs.gaussian_line.

    kind "r": P the mixture, Q = N(0,1); "a": the reverse; "R": mixtures to either side.
    """
    with context():
        shift, q, a, h = (to_mpfr(v) for v in (shift, q, a, h))
        one = gmpy2.mpfr(1)
        base = -gmpy2.log(2 * gmpy2.const_pi()) / 2
        def log_ratio(x, mean):
            # ln[(1−q) + q φ(x−mean)/φ(x)]
            u = mean * x - mean * mean / 2
            if q == 1:
                return u
            if u > 0:
                return u + gmpy2.log(q + (1 - q) * gmpy2.exp(-u))
            return gmpy2.log((1 - q) + q * gmpy2.exp(u))
        rows = []
        for j in range(n + 1):
            x = a + h * j
            plain = base - x * x / 2
            r = log_ratio(x, shift)
            if kind == "r":
                rows.append((plain + r, r))
            elif kind == "a":
                rows.append((plain, -r))
            else:
                rows.append((plain + r, r - log_ratio(x, -shift)))
        return rows


def exponential_scan(terms, theta, start, step, count):
    """[Σ e^{p + (θ+it)l}] for t = start + j·step, j < count: each term is turned by the constant e^{i·step·l}."""
    with context():
        theta, start, step = to_mpfr(theta), to_mpfr(start), to_mpfr(step)
        values, turns = [], []
        for p, l in terms:
            size = gmpy2.exp(p + theta * l)
            sine, cosine = gmpy2.sin_cos(start * l)
            values.append(gmpy2.mpc(size * cosine, size * sine))
            sine, cosine = gmpy2.sin_cos(step * l)
            turns.append(gmpy2.mpc(cosine, sine))
        out = []
        for j in range(count):
            if j:
                values = list(map(operator.mul, values, turns))
            total = sum(values, gmpy2.mpc(0))
            out.append((from_mpfr(total.real), from_mpfr(total.imag)))
        return out
