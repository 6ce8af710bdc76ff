# SPDX-License-Identifier: Apache-2.0
"""Counts, sizes and indices are read as what they are, or refused: never cut, by no function of the package.

The functions, and which of their parameters are whole numbers, are found by their signatures. A new function is
tested without a line here, or the test says which sample it lacks.
"""

from __future__ import annotations

import asyncio
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from conftest import Daemon

import privacy_accountant as pa
from privacy_accountant import AccountantError, AsyncClient, Client, gaussian
from privacy_accountant import proto as pb
from privacy_accountant._caller import Caller
from privacy_accountant._whole import whole

NOISE = gaussian(noise_multiplier=20.0)


class Indexed:
    """Another library's integer."""

    def __index__(self) -> int:
        return 3


# Each of these is 3.
GOOD = [np.int64(3), np.uint8(3), np.array(3), Indexed(), 3.0, np.float64(3), np.float32(3), Fraction(3)]
NO_NUMBERS = [True, np.True_, np.array(True), "3", b"3", Decimal(3), 3j, np.array(3.0), np.array([3]), [3], NOISE]
NOT_WHOLE = [2.5, 2.9999999999999996, 1e-9, Fraction(5, 2), np.float64(2.5), np.float32(2.5), float("nan"),
             float("inf"), 2.0**53, 1e300, 10**400]
BAD = [*NO_NUMBERS, *NOT_WHOLE, -1, -1.0]


def shown(values: list[Any]) -> Any:
    return pytest.mark.parametrize("value", values, ids=lambda v: f"{type(v).__name__} {v!r}"[:40])


@shown(GOOD)
def test_what_is_taken(value: Any) -> None:
    n = whole("x", value)
    assert n == 3 and type(n) is int


@shown(NO_NUMBERS)
def test_what_is_no_number_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^x: .*; allowed: a whole number from 0 to \d+$"):
        whole("x", value)


@shown([*NOT_WHOLE, -1, -1.0])
def test_what_is_not_whole_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match="^x: .*; allowed: a whole number from 0 to"):
        whole("x", value)


def test_errors_say_the_fix() -> None:
    with pytest.raises(ValueError) as e:
        pa.event(NOISE, 60 * 1500 / 64)  # 1406.25
    assert str(e.value) == ("count: 1406.25; allowed: a whole number from 0 to 4294967295: write 1407, or "
                            "dp_sgd(epochs=…), which counts the steps itself")
    with pytest.raises(ValueError) as e:
        pa.dp_sgd(noise_multiplier=1, batch_size=64, dataset_size=60000, steps=14062.5)  # type: ignore[arg-type]
    assert str(e.value).endswith(": write 14063, or dp_sgd(epochs=…), which counts the steps itself")
    with pytest.raises(ValueError) as e:
        pa.dp_sgd(noise_multiplier=1, batch_size=62.5, dataset_size=60000, steps=7)  # type: ignore[arg-type]
    assert str(e.value) == ("dp_sgd.batch_size: 62.5; allowed: a whole number from 0 to 18446744073709551615: write 62 "
                            "or 63, whichever you use")


# Every public function and method


class Sent(Exception):
    """What a verb would have sent."""


def carried(plan: Any) -> Sent:
    request = plan.request
    lane = getattr(request, "lane", request)
    if hasattr(lane, "writer"):
        lane.writer = ""  # a check has one of its own
    return Sent(plan.method, request.SerializeToString(deterministic=True))


def send(_: Any, plan: Any, __: Any) -> Any:
    raise carried(plan)


async def send_later(_: Any, plan: Any, __: Any) -> Any:
    raise carried(plan)


def ours(found: Any) -> bool:
    """Whether this is a class or function of the package, and no generated message."""
    module = str(getattr(found, "__module__", ""))
    kind = inspect.isroutine(found) or inspect.isclass(found)
    return kind and module.startswith(pa.__name__) and ".proto" not in module


def returned(cls: type) -> Iterator[type]:
    """The classes of the package that public methods return."""
    for name in dir(cls):
        method = getattr(cls, name)
        if not name.startswith("_") and inspect.isroutine(method):
            for word in re.findall(r"\w+", str(getattr(method, "__annotations__", {}).get("return", ""))):
                kind = getattr(method, "__globals__", {}).get(word)
                if inspect.isclass(kind) and ours(kind):
                    yield kind


def functions() -> Iterator[tuple[str, Any, str, Any]]:
    """Name, class or None, attribute and function of all that is public, and of the classes that it returns."""
    classes: set[type] = set()
    for info in pkgutil.iter_modules(pa.__path__):
        # Errors are for the package to make. A framework's module is tested where that is: make test-frameworks.
        if info.name.startswith("_") or info.name in ("proto", "errors", "opacus", "lightning", "transformers", "keras",
                                                      "flower", "nvflare", "tracking"):
            continue
        module = import_module(f"privacy_accountant.{info.name}")
        for name in getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]):
            found = getattr(module, name)
            if not ours(found) or not hasattr(module, "__all__") and found.__module__ != module.__name__:
                continue
            if inspect.isclass(found):
                classes.add(found)
            else:
                yield f"{info.name}.{name}", None, name, found
    inner = {kind for cls in classes for kind in returned(cls)} - classes
    for cls in sorted(classes | inner, key=lambda c: c.__name__):
        for name in dir(cls):
            method = getattr(cls, name)
            if ours(method) and (not name.startswith("_") or name == "__init__" and cls in classes):
                yield f"{cls.__name__}.{name}", cls, name, method


# How a number is given where it is part of something larger, by what the annotation names.
WITHIN: dict[str, Callable[[str, Any], Any]] = {
    r"\b(Events|Run \| None|OneEvent)\b": lambda _, v: (NOISE, v),
    r"\bAction\b": lambda name, v: {
        "refund": {"position": v}, "free": {"reservation": v}, "raise_budgets": {"plan": (NOISE, v)},
        "reconcile": {"events": [(NOISE, v)]}, "amend_dataset": None}[name],
    r"\bSequence\[(int|Union\[int)": lambda _, v: [v],
    r"(?<!\[)\bint\b(?!\])": lambda _, v: v,
}
CLIENT = object()  # stands for a client
# Samples of parameters that have to be there, by name or annotation, the first that matches.
SAMPLES: list[tuple[str, Any]] = [
    ("solve:", "count"), ("guesses:", 1), ("client:", CLIENT), ("batch", [0]),
    ("mechanism:|event:|what:|.*: Events", NOISE),
    ("reservation: pb.Receipt", pb.Receipt()), ("ledgers?:", "x"), ("function:", print),
    ("mechanisms:", [NOISE]), (".*: Subject", "x"), (".*: .*int", 7), (".*: str", "x"), (".*: float", 0.5),
    (".*: Sequence.float", [0.5]), (".*: bool", True),
]
# What is needed besides, by the function's name.
BESIDES = {"query": {"delta": 1e-6}, "explain": {"delta": 1e-6}, "calibrate": {"target_mu": 100.0},
           "reconcile": {"contribution": "over-all"}}


def parameters(function: Any) -> Iterator[tuple[str, str, bool]]:
    """Name and annotation of each parameter, and whether it must be given."""
    for p in list(inspect.signature(function).parameters.values()):
        annotation = str(p.annotation)
        if p.name == "self":
            continue
        if "Unpack[" in annotation:
            kind = annotation.removeprefix("Unpack[").removesuffix("]")
            fields = next(getattr(m, kind) for m in list(sys.modules.values())
                          if (m.__name__ or "").startswith(pa.__name__) and hasattr(m, kind))
            for name, field in fields.__annotations__.items():
                yield name, getattr(field, "__forward_arg__", str(field)), False
        elif p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            yield p.name, annotation, p.default is p.empty


def numbers() -> Iterator[Any]:
    """Each whole number that a public function takes."""
    import privacy_accountant._options  # noqa: F401

    for where, cls, name, function in functions():
        for parameter, annotation, _ in parameters(function):
            if parameter == "contribution":  # of an enum, and allowed only with several ledgers
                continue
            for pattern, make in WITHIN.items():
                if re.search(pattern, annotation) and make(parameter, 3) is not None:
                    yield pytest.param(cls, name, function, parameter, make, id=f"{where}({parameter})")
                    break


NUMBERS = list(numbers())


def arguments(function: Any, name: str, tested: str) -> dict[str, Any]:
    out = dict(BESIDES.get(name, {}))
    for parameter, annotation, required in parameters(function):
        if required and parameter != tested:
            fits = [s for pattern, s in SAMPLES if re.match(pattern, f"{parameter}: {annotation}")]
            assert fits, f"{name}: {parameter}: {annotation}: SAMPLES has none for it"
            out[parameter] = fits[0]
        elif parameter == "contribution" and "LedgerSet" in function.__qualname__:
            out[parameter] = "over-all"
    return out


@pytest.fixture
def made(shared: Daemon, connect: Callable[..., Client],
         monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type], Any]]:
    """Makes an object of a class of the package; clients do not send, runs and streams do."""
    real = connect(shared.address)
    ledger = real.create_ledger("whole", "add-or-remove-one", budgets=[{"rho": 1000.0}]).spec.name
    runs: list[pa.Run] = []

    def make(cls: type) -> Any:
        if cls.__name__ == "Stream":
            return connect(shared.address).stream(ledger)
        if cls.__name__ in ("Run", "AsyncRun"):
            runs.append(real.run(ledger).open())
            return runs[-1] if cls.__name__ == "Run" else pa.AsyncRun(runs[-1])
        if cls.__name__ == "RandomAllocation":
            return cls(10, 5)
        if cls.__name__ == "GradientCanaries":
            return cls(7, 7, guesses=7, norm=1, seed=7)
        if cls.__name__ in ("Curve", "Calibration"):
            return cls.of(getattr(pb, {"Curve": "QueryPrivacyCurveResponse", "Calibration": "CalibrateResponse"}[
                cls.__name__])())
        monkeypatch.setattr(Caller, "_carry_out", send)
        monkeypatch.setattr(AsyncClient, "_carry_out", send_later)
        client: Any = AsyncClient(shared.address) if cls.__name__.startswith("Async") else connect(shared.address)
        return client.ledger_set(["x"]) if cls.__name__.endswith("LedgerSet") else client

    yield make
    for run in runs:
        run.close()


def outcome(call: Callable[..., Any], given: dict[str, Any]) -> tuple[Any, ...]:
    """What a call comes to: what it sends, returns or raises."""
    try:
        out = call(**given)
        if hasattr(out, "__anext__"):
            out = out.__anext__()
        if inspect.isawaitable(out):
            out = asyncio.run(_awaited(out))
        elif inspect.isgenerator(out):
            next(out)
        if isinstance(out, pb.Receipt):  # its position and time differ
            out = type(out)
        return "returned", re.sub(" at 0x[0-9a-f]+|UUID.*", "", repr(out))
    except Sent as sent:
        return ("sent", *sent.args)
    except (AccountantError, TimeoutError) as e:
        return "refused by the daemon", str(e)
    except (TypeError, ValueError) as e:
        return "refused", str(e)


async def _awaited(out: Any) -> Any:
    return await out


@pytest.mark.filterwarnings("ignore:seed")
@pytest.mark.parametrize(("cls", "name", "function", "parameter", "make"), NUMBERS)
def test_every_function_reads_whole_numbers(
    cls: type | None, name: str, function: Any, parameter: str, make: Callable[[str, Any], Any],
    made: Callable[[type], Any],
) -> None:
    def call(value: Any) -> tuple[Any, ...]:
        given = {k: made(Client) if v is CLIENT else v for k, v in arguments(function, name, parameter).items()}
        given[parameter] = make(parameter, value)
        if cls is None or name == "__init__":
            return outcome(cls or function, given)
        if name == "local":  # starts a daemon
            given["path"] = "/nowhere/at/all"
        return outcome(getattr(made(cls), name), given)

    three = call(3)
    assert three[0] != "refused", three
    for value in (np.int64(3), np.array(3), 3.0):
        assert call(value) == three, repr(value)
    for value in (2.5, True, np.True_, "3", Decimal("2.5"), float("nan"), float("inf"), 1e300, -1):
        got = call(value)
        if isinstance(value, str) and got[0] == "refused":  # of an enum, whose names are text
            continue
        assert got[0] == "refused" and "whole number" in got[1], (value, got)


def test_the_list_is_not_empty() -> None:
    found = [p.id for p in NUMBERS]
    for name in ("offline.epsilon(what)", "Client.report(events)", "Run.step(count)", "Run.__init__(steps)",
                 "Stream.commit(reservation)", "mechanisms.dp_sgd(batch_size)", "AsyncLedgerSet.report(events)",
                 "Client.entries(page_size)", "Client.create_ledger(plan)", "batches.padded(size)",
                 "RandomAllocation.__init__(steps)", "plots.plot_budget(points)", "answers.round_up(places)"):
        assert name in found, name
