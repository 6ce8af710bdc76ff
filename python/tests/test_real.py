# SPDX-License-Identifier: Apache-2.0
"""Real numbers are read as what they are, or refused: text, bools and NaN by no function of the package.

The functions are found as those with whole numbers are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_whole import CLIENT, NOISE, Indexed, arguments, functions, made, outcome, parameters, shown

from privacy_accountant import Client, gaussian
from privacy_accountant._real import real

__all__ = ["made"]  # a fixture

# Each of these is one half.
HALF = [np.float64(0.5), np.float32(0.5), np.float16(0.5), np.array(0.5), np.array(0.5, dtype=np.float32),
        Fraction(1, 2)]
NO_NUMBERS = [True, np.True_, np.array(True), "0.5", b"0.5", np.str_("0.5"), np.array("0.5"), np.array([0.5]), [0.5],
              Decimal("0.5"), 0.5j, np.complex64(0.5), np.array(0.5 + 0j), np.array(0.5, dtype=object), NOISE, int]
OUTSIDE = [float("nan"), np.float32("nan"), np.array(np.nan), 10**400, Fraction(10**400)]


@shown([*HALF, 0.5])
def test_what_is_taken(value: Any) -> None:
    x = real("x", value)
    assert x == 0.5 and type(x) is float


def test_whole_numbers_are_real_ones() -> None:
    for three in (3, np.int8(3), np.array(3), Indexed()):
        assert real("x", three) == 3.0
    assert real("x", float("inf")) == float("inf")  # its range is checked where the question is answered


@shown(NO_NUMBERS)
def test_what_is_no_number_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^x: .*; allowed: a number"):
        real("x", value)


@shown(OUTSIDE)
def test_what_has_no_value_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^x: .*; allowed: a number"):
        real("x", value)


def test_the_field_is_named() -> None:
    with pytest.raises(TypeError) as e:
        gaussian(noise_multiplier="1.1")  # type: ignore[arg-type]
    assert str(e.value) == "gaussian.noise_multiplier: '1.1'; allowed: a number"


def test_deadlines() -> None:
    core = Client("127.0.0.1:1")._core
    assert core.until(np.float32(0.5)) is not None  # type: ignore[arg-type]
    for bad in ("5", True, float("nan")):
        with pytest.raises((TypeError, ValueError), match="deadline: .*; allowed: a positive number of seconds"):
            core.until(bad)  # type: ignore[arg-type]


# How a number is given where it is part of something larger, by what the annotation names.
WITHIN: list[tuple[str, Callable[[Any], Any]]] = [
    (r"\b(Sequence|Iterable)\[float", lambda v: [v]),
    (r"\bCanaryRun\b", lambda v: {"inserted": 9, "guesses": 9, "correct": 5, "delta": v}),
    (r"\bMapping\[str, float", lambda v: {"charge": v}),
    (r"(?<!\[)\bfloat\b", lambda v: v),
]


def numbers() -> Iterator[Any]:
    """Each real number that a public function takes."""
    for where, cls, name, function in functions():
        for parameter, annotation, _ in parameters(function):
            if name == "__init__" and hasattr(cls, "of"):  # an answer, which the package makes
                continue
            # A method's deadline is read by Core.until, which the test above asks: here nothing is sent.
            if parameter == "deadline" and cls is not None and name != "__init__":
                continue
            for pattern, make in WITHIN:
                if re.search(pattern, annotation):
                    yield pytest.param(cls, name, function, parameter, make, id=f"{where}({parameter})")
                    break


NUMBERS = list(numbers())


@pytest.mark.parametrize(("cls", "name", "function", "parameter", "make"), NUMBERS)
def test_every_function_reads_real_numbers(
    cls: type | None, name: str, function: Any, parameter: str, make: Callable[[Any], Any], made: Callable[[type], Any],
) -> None:
    def call(value: Any) -> tuple[Any, ...]:
        given = {k: made(Client) if v is CLIENT else v for k, v in arguments(function, name, parameter).items()}
        if parameter == "epsilon" and name in ("query", "explain"):
            given.pop("delta")
        given[parameter] = make(value)
        if name == "local":  # starts a daemon
            given["path"] = "/nowhere/at/all"
        if cls is None or name == "__init__":
            return outcome(cls or function, given)
        return outcome(getattr(made(cls), name), given)

    half = call(64.0 if parameter == "deadline" else 0.5)
    assert half[0] != "refused", half
    for value in () if parameter == "deadline" else (np.float32(0.5), np.array(0.5), Fraction(1, 2)):
        assert call(value) == half, repr(value)
    for value in ("0.5", True, np.True_, Decimal("0.5"), float("nan"), np.array([0.5])):
        got = call(value)
        assert got[0] == "refused" and parameter in got[1] and re.search("; allowed: a (positive )?number", got[1]), (
            value, got)


def test_the_list_is_not_empty() -> None:
    found = [p.id for p in NUMBERS]
    for name in ("offline.epsilon(delta)", "Client.query(max_gap)", "Client.delta(epsilon)", "Run.query(delta)",
                 "mechanisms.gaussian(noise_multiplier)", "AsyncClient.statement(deltas)", "Client.curve(orders)",
                 "Run.__init__(chunk_seconds)", "Client.__init__(timeout)", "plots.plot_budget(delta)",
                 "answers.round_up(value)", "Client.calibrate(target_mu)", "offline.query(deadline)"):
        assert name in found, name
