# SPDX-License-Identifier: Apache-2.0
"""The one reader of real numbers: text, bools and NaN are refused, never taken for a number."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

SECONDS = "a positive number of seconds"
DEADLINE = SECONDS + ", or None for no bound"
# The elements of an array that are real numbers: float32, uint8, torch.bfloat16.
_DTYPE = re.compile(r"(^|\.)(u?int|b?float)\d")


def real(name: str, value: Any, allowed: str = "a number") -> float:
    """value, which the caller knows as name, as a float. Its range is checked where the question is answered.

    It takes the numbers of every library: Real ones, those with an __index__, and arrays and tensors without a
    dimension.
    """
    of = getattr(value, "dtype", None)
    if of is not None:
        fits = tuple(getattr(value, "shape", ())) == () and _DTYPE.search(str(of)) is not None
    else:
        fits = isinstance(value, Real) and not isinstance(value, bool) or hasattr(value, "__index__") \
            and not isinstance(value, (bool, type))
    error = f"{name}: {value!r:.60}; allowed: {allowed}"
    if not fits:
        raise TypeError(error)
    try:
        number = float(value)
    except OverflowError as e:
        raise ValueError(f"{error} up to 1.7e308") from e
    if number != number:
        raise ValueError(error)
    return number


def positive(name: str, value: Any, allowed: str = "a positive number") -> float:
    """value as a float above 0, which may be infinite."""
    number = real(name, value, allowed)
    if not number > 0:
        raise ValueError(f"{name}: {value!r:.60}; allowed: {allowed}")
    return number
