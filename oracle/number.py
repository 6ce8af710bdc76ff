# SPDX-License-Identifier: Apache-2.0
"""Working precision, exact inputs, and how numbers are written.

Inputs are binary64: a float is converted without rounding, so the oracle answers
for exactly the number that a test written in Go reads from the JSON file.
Outputs are decimal strings of 30 significant digits.
"""

from mpmath import mp, mpf, mpc

DIGITS = 30  # written; at least 28 of them are checked by a second computation


class Inexact(ArithmeticError):
    """Two computations of one number did not agree to the digits promised."""


def exact(x):
    """The binary64 x (or an int, or an mpf) as mpf, without rounding."""
    if isinstance(x, (mpf, mpc)):
        return x
    if isinstance(x, str):
        raise TypeError("inputs are floats, not decimal strings")
    return mpf(x)


def text(x, digits=DIGITS):
    """A real number as a decimal string that strconv.ParseFloat reads."""
    x = mpf(x)
    if mp.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if mp.isnan(x):
        raise Inexact("NaN is never an answer")
    if x == 0:
        return "0"
    return mp.nstr(x, digits, strip_zeros=True, min_fixed=-5, max_fixed=20)


def texts(z, digits=DIGITS):
    """A complex number as [re, im]."""
    z = mpc(z)
    return [text(z.real, digits), text(z.imag, digits)]


def agree(a, b, digits, what):
    """Raise unless a and b agree to that many digits, relative to |b|."""
    scale = max(abs(a), abs(b))
    if scale != 0 and abs(a - b) > scale * mpf(10) ** -digits:
        raise Inexact(f"{what}: {mp.nstr(a, 40)} and {mp.nstr(b, 40)} differ before digit {digits}")
    return b


def log_sub(a, b):
    """ln(e^a − e^b) for a > b at working precision raised by what cancels."""
    gap = a - b
    if gap <= 0:
        raise Inexact("ln of a negative difference")
    with mp.extraprec(max(0, -int(mp.mag(gap))) + 20):
        return +(a + mp.log(-mp.expm1(-gap)))


def _middle(lo, hi):
    """Geometric where both ends have one sign and differ in size."""
    return mp.sqrt(lo * hi) if lo > 0 and hi > 2 * lo else (lo + hi) / 2


def root(f, lo, hi, digits):
    """The root of an increasing f in [lo, hi] by the Illinois rule with bisection; |hi − lo| ≤ 10^−digits·|root|."""
    lo, hi = mpf(lo), mpf(hi)
    flo, fhi = f(lo), f(hi)
    if flo > 0 or fhi < 0:
        raise Inexact(f"no root bracketed in [{mp.nstr(lo, 8)}, {mp.nstr(hi, 8)}]")
    side, tol = 0, mpf(10) ** -digits
    for step in range(2000):
        if flo == 0:
            return lo
        if fhi == 0:
            return hi
        if hi - lo <= tol * max(abs(lo), abs(hi)):
            return (lo + hi) / 2
        width = hi - lo
        x = hi - fhi * width / (fhi - flo) if step % 4 else _middle(lo, hi)
        # A probe just beyond the estimate lets both ends close in.
        if step % 4 == 3:
            x = x + (tol / 4 * abs(x) + (min(x - lo, hi - x)) * mpf(10) ** -6) * (1 if side > 0 else -1)
        if not lo < x < hi:
            x = _middle(lo, hi)
        fx = f(x)
        if fx <= 0:
            lo, flo = x, fx
            if side == -1:
                fhi /= 2
            side = -1
        else:
            hi, fhi = x, fx
            if side == 1:
                flo /= 2
            side = 1
    raise Inexact("root search did not settle")


def root_near(f, guess, width, digits):
    """The root of an increasing f: the bracket guess ± width is widened until it holds it."""
    lo, hi = guess - width, guess + width
    while f(lo) > 0:
        hi, lo, width = lo, lo - 8 * width, 8 * width
    while f(hi) < 0:
        lo, hi, width = hi, hi + 8 * width, 8 * width
    return root(f, lo, hi, digits)
