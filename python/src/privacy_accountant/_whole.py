# SPDX-License-Identifier: Apache-2.0
"""The one reader of counts, sizes and indices: a number that is not whole is refused, never cut."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

# Here a part of a step is a step.
_STEPS = ("count", "dp_sgd.steps")


def whole(name: str, value: Any, least: int = 0, most: int = 2**53) -> int:
    """value, which the caller knows as name, as an int from least to most.

    It takes the integers of every library, by __index__, and a real number that is whole and below 2⁵³; it takes
    neither bools, which are rarely meant as numbers, nor text.
    """
    number: Any = value if isinstance(value, Real) else None
    if isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool"):  # PyTorch gives them an index
        number = None
    elif hasattr(value, "__index__"):
        try:
            number = operator.index(value)
        except TypeError:
            pass  # an array of several numbers, or of floats
    fix = ""
    if isinstance(number, int) or number is not None and abs(number) < 2**53:  # which NaN is not
        n = math.floor(number)
        if n == number and least <= n <= most:
            return n
        near = [str(x) for x in (n, n + 1) if least <= x <= most and n != number]
        if near:
            fix = f": write {' or '.join(near)}" + (", whichever you use" if len(near) > 1 else "")
        if near and name in _STEPS:
            fix = f": write {near[-1]}, or dp_sgd(epochs=…), which counts the steps itself"
    shown = str(value) if isinstance(value, Real) else repr(value)
    error = f"{name}: {shown:.60}; allowed: a whole number from {least} to {most}{fix}"
    raise TypeError(error) if number is None else ValueError(error)
