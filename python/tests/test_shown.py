# SPDX-License-Identifier: Apache-2.0
"""How things look: one line for repr, a card in a notebook, frames."""

from __future__ import annotations

import asyncio
import sys
import xml.etree.ElementTree
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from conftest import STEP, plan

import privacy_accountant as pa
from privacy_accountant import AsyncClient, Client, _html, _shown, workload
from privacy_accountant import proto as pb

Connect = Callable[..., Client]


def is_card(html: str) -> None:
    """It is well-formed, and has nothing that runs or loads anything."""
    root = xml.etree.ElementTree.fromstring(html)
    for node in root.iter():
        assert node.tag.rpartition("}")[2] in {"div", "b", "table", "tr", "th", "td", "svg", "rect", "text", "polyline"}
        assert not any(name.startswith("on") or name in ("href", "src") for name in node.attrib)


@pytest.mark.parametrize(("value", "above", "below"), [
    (1e-5, "1e-5", "1e-5"), (2.700569458932628, "2.70057", "2.70056"), (0.1 + 0.2, "0.300001", "0.3"),
    (1e-300, "1e-300", "1e-300"),
    (123456789.0, "123457000", "123456000"), (0.0, "0", "0"), (1.0, "1", "1"), (float("inf"), "∞", "∞"),
    (1 / 3 * 1e-9, "3.33334e-10", "3.33333e-10"),
])
def test_numbers_are_rounded_to_the_safe_side(value: float, above: str, below: str) -> None:
    assert (_shown.up(value), _shown.down(value)) == (above, below)
    if value < float("inf") and len(repr(value)) > 8:
        assert Decimal(below) <= Decimal(value) <= Decimal(above)


@pytest.mark.parametrize("m", [
    STEP, pa.gaussian(noise_multiplier=1.1), pa.mechanisms.composed(events=[(STEP, 3), pa.pure_dp(epsilon=0.5)]),
    pa.mechanisms.exponential(epsilon=1, monotone=True),
    pa.mechanisms.renyi_dp(orders=[2, 3], epsilons=[0.1, 0.2]), pa.mechanisms.parallel(parts=[STEP, STEP]),
    pa.mechanisms.discrete_gaussian(standard_deviation=2, sensitivity=1),
])
def test_a_mechanism_is_shown_as_the_call_that_makes_it(m: pb.Mechanism) -> None:
    names = {name: getattr(pa.mechanisms, name) for name in pa.mechanisms.kinds()}
    assert "\n" not in repr(m)
    assert eval(repr(m), names | {"Event": lambda what, count: (what, count)}) == m
    assert "\n" in str(m)  # as protobuf has it
    assert repr(pb.Mechanism()) == "Mechanism()"


def test_long_lists_are_cut() -> None:
    m = pa.mechanisms.banded_matrix(noise_multiplier=1, coefficients=[1.0] * 1000, steps=2000)
    assert repr(m) == "banded_matrix(noise_multiplier=1.0, coefficients=[1.0, 1.0, 1.0, 1.0, …], steps=2000)"


def test_answers_and_ledgers(client: Client) -> None:
    ledger = plan(client, 100)
    with client.run(ledger, chunk=10) as run:
        assert repr(run) == f"<run of {ledger!r}: 0 steps, open>"
        for _ in range(7):
            run.step(STEP)
        assert run.progress()["steps"] == 7 and run.progress()["ahead"] <= 10
        is_card(run._repr_html_())
    assert repr(run) == f"<run of {ledger!r}: 7 steps, ended>" and repr(
        client.run(ledger)) == f"<run of {ledger!r}: 0 steps, not begun>"
    state = client.get_ledger(ledger)
    assert repr(state) == f"<ledger {ledger!r}: plan, 7 charged, open>"
    filtered = client.create_ledger(
        f"{ledger}-f", "zero-out",
        budgets=[{"epsilon": 8, "delta": 1e-5, "guard": "basic"}, {"rho": 1, "guard": "zcdp"}], privacy_unit="<script>")
    answer, statement, curve = client.query(ledger,
                                            delta=1e-5), client.statement(ledger), client.curve(ledger, points=30)
    found = client.calibrate("count", STEP, target_epsilon=2, target_delta=1e-5, adjacency="add-or-remove-one")
    assert repr(answer) == f"<ε ≤ {_shown.up(answer.epsilon)} at δ ≤ 1e-5, by {answer.analysis}; guarantee: plan>"
    assert repr(statement).startswith(f"<statement of {ledger!r}: ε ≤ ")
    assert repr(curve).startswith("<curve: 30 points, ε from 0 to ") and repr(found).startswith("<count = ")
    for shown in (state, filtered, answer, statement, curve, found,
                  pa.query(pa.gaussian(noise_multiplier=1e-300), delta=1e-300)):
        assert "\n" not in repr(shown)
        is_card(shown._repr_html_())  # type: ignore[union-attr]
    assert "&lt;script&gt;" in filtered._repr_html_()  # type: ignore[attr-defined]
    assert repr(workload((STEP, 3), adjacency="zero-out")) == f"Workload(zero-out, {STEP!r}, 3)"
    assert repr(client) == f"<Client of {client.server}>"
    with client.stream(plan(client, 5)) as stream:
        assert "0 acknowledged, 0 outstanding" in repr(stream)

    async def aio() -> list[str]:
        async with AsyncClient(client.server) as other:
            return [repr(other), repr(other.run(ledger))]

    assert asyncio.run(aio()) == [f"<AsyncClient of {client.server}>",
                                  f"<async <run of {ledger!r}: 0 steps, not begun>>"]


def test_charts_of_odd_numbers() -> None:
    for chart in (_html.line([], [], "x", "y"), _html.line([1, 1], [0.5, 0.5], "<", "y"),
                  _html.line([1, 2, 3], [0, float("inf"), 1e-320], "x", "y"),
                  _html.bars(
                      [("a" * 100, [(float("nan"), "red"), (float("inf"), "red"), (-1, "red"), (3, "red")], "<")])):
        if chart:
            is_card(chart)


def test_frames(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = plan(client, 10)
    client.report(ledger, (STEP, 4))

    class Pandas:
        DataFrame = list
        Timestamp = staticmethod(lambda *_, **__: None)

    monkeypatch.setitem(sys.modules, "pandas", Pandas)  # type: ignore[arg-type]  # what it makes of rows is its own
    (line,) = pa.to_frame(client.get_ledger(ledger))
    assert line == {"mechanism": repr(STEP), "planned": 10, "spent": 4, "reserved": 0, "remaining": 6}
    assert {"pld", "rdp"} <= {row["analysis"] for row in pa.to_frame(client.query(ledger, delta=1e-5))}
    assert [row["delta"] for row in pa.to_frame(client.statement(ledger, [1e-5, 1e-6]))] == [1e-5, 1e-6]
    assert [row["name"] for row in pa.to_frame(client.ledgers(ledger))] == [ledger]
    assert [row["action"] for row in pa.to_frame(client.entries(ledger))] == ["charge"]
    assert pa.to_frame([]) == []


def test_steps_over_batches(client: Client) -> None:
    ledger = plan(client, 100)

    class Bar:
        """What tqdm asks of an iterable, and of a postfix."""

        def __init__(self, iterable: Any) -> None:
            self.iterable, self.total, self.postfix = iterable, len(iterable), {}

        def __iter__(self) -> Any:
            yield from self.iterable

        def set_postfix(self, ordered: dict[str, int]) -> None:
            self.postfix = ordered

    with client.run(ledger) as run:
        bar, seen = Bar(run.over([1, 2, 3], STEP)), []
        for batch in bar:
            seen.append((batch, run.steps))
            bar.set_postfix(run.progress())
        assert (bar.total, seen, bar.postfix["steps"]) == (3, [(1, 1), (2, 2), (3, 3)], 3)
        assert list(run.over((x for x in "ab"), STEP, 2)) == ["a", "b"] and run.steps == 7
        with pytest.raises(TypeError):
            len(run.over(iter([]), STEP))  # type: ignore[arg-type]
    assert client.get_ledger(ledger).total_count == 7
