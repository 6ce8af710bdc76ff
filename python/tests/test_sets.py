# SPDX-License-Identifier: Apache-2.0
"""Several ledgers that are charged together, on the real daemon."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest
from conftest import Daemon

from privacy_accountant import AsyncClient, BudgetExceeded, Client, Conflict, FailedPrecondition, NotFound, pure_dp

DAYS = [f"days/{day}" for day in range(1, 4)]


def make(client: Client, *epsilons: float) -> None:
    for name, epsilon in zip(DAYS, epsilons):
        client.create_ledger(name, adjacency="add-or-remove-one", budgets=[{"epsilon": epsilon, "guard": "basic"}])


def totals(client: Client) -> list[int]:
    return [client.get_ledger(name).total_count for name in DAYS]


def test_a_refusal_charges_nothing_and_names_who_lacks_budget(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 1, 0.5, 1)
    days = client.ledger_set(prefix="days/", first="1", last="3")
    with pytest.raises(BudgetExceeded) as refused:
        days.report((pure_dp(epsilon=0.125), 5), contribution="over-all")
    assert [r.ledger for r in refused.value.refused] == ["days/2"]
    assert refused.value.refused[0].shortfalls[0].short == 0.125
    assert refused.value.fits[0][1] == 4
    assert "days/2: needs 0.625 of ε, 0.5 is left" in str(refused.value)
    with pytest.raises(BudgetExceeded):
        days.check((pure_dp(epsilon=0.125), 5), contribution="over-all")
    assert totals(client) == [0, 0, 0]
    assert [m.ledger for m in days.report((pure_dp(epsilon=0.125), 4), contribution="over-all").receipt.members] == DAYS
    with pytest.raises(TypeError, match="a list of names"):
        client.ledger_set("days/1")
    with pytest.raises(TypeError, match="over-all.*in-each.*group of n"):
        days.report(pure_dp(epsilon=0.125))
    with pytest.raises(TypeError, match="over-all.*in-each"):
        client.run(DAYS)
    with pytest.raises(ValueError, match="contribution: 'all'; allowed: in-each, rows-drawn-in-each"):
        days.reserve(pure_dp(epsilon=0.125), lifetime=60, contribution="all")
    with pytest.raises(NotFound):
        client.ledger_set(["days/1", "days/9"]).report(pure_dp(epsilon=0.125), contribution="over-all")


def test_a_refusal_that_is_not_by_budgets_names_the_ledgers(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 1, 1, 1)
    client.close_ledger(DAYS[1])
    with pytest.raises(FailedPrecondition) as refused:
        client.ledger_set(DAYS).report(pure_dp(epsilon=0.125), contribution="over-all")
    assert [r.ledger for r in refused.value.refused] == [DAYS[1]]
    assert "closed" in refused.value.refused[0].reason
    with pytest.raises(NotFound) as missing:
        client.ledger_set([DAYS[0], "days/9"]).report(pure_dp(epsilon=0.125), contribution="over-all")
    assert [r.ledger for r in missing.value.refused] == ["days/9"]


def test_a_retry_after_a_kill_is_charged_once(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 1, 1, 1)
    days = client.ledger_set(DAYS)
    first = days.report(pure_dp(epsilon=0.125), request_id="table", contribution="over-all")
    daemon.restart()
    again = days.report(pure_dp(epsilon=0.125), request_id="table", contribution="over-all")
    assert again.replayed and again.receipt == first.receipt
    assert totals(client) == [1, 1, 1]
    with pytest.raises(Conflict):
        client.ledger_set(DAYS[:2]).report(pure_dp(epsilon=0.125), request_id="table", contribution="over-all")


def test_a_run_over_several_ledgers(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 1, 1, 1)
    with client.run(DAYS, contribution="over-all") as run:
        for step in range(4):
            run.step(pure_dp(epsilon=0.125))
            if step == 1:
                daemon.restart()
        assert run.epsilon(delta=1e-6) <= 3 and run.query(delta=1e-6).ledgers[2].ledger == DAYS[2]
        state = run.state_dict()
    assert totals(client) == [4, 4, 4] and state == {"ledger": DAYS, "steps": 4}
    with pytest.raises(BudgetExceeded), client.run(DAYS[1:], contribution="over-all") as run:
        for _ in range(5):
            run.step(pure_dp(epsilon=0.125))
    assert totals(client) == [4, 8, 8]


def test_reservations_and_asyncio(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 1, 1, 1)
    days = client.ledger_set(DAYS)
    held = days.reserve((pure_dp(epsilon=0.125), 3), lifetime=3600, contribution="over-all").receipt
    days.commit(held, pure_dp(epsilon=0.125))
    days.release(held, "done")
    assert totals(client) == [1, 1, 1]

    async def ask() -> float:
        async with AsyncClient(daemon.address) as other:
            together = other.ledger_set(DAYS)
            await together.report(pure_dp(epsilon=0.125), contribution="over-all")
            return await together.epsilon(delta=1e-6)

    assert asyncio.run(ask()) <= 3
    assert totals(client) == [2, 2, 2]


def test_a_range_that_grew_before_the_retry(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 1, 1)
    days = client.ledger_set(prefix="days/", first="1", last="3")
    first = days.report(pure_dp(epsilon=0.125), request_id="table", contribution="over-all")
    client.create_ledger(DAYS[2], adjacency="add-or-remove-one")
    client.create_ledger("days/2x", adjacency="replace-one")  # no set has both
    daemon.restart()
    again = connect(daemon.address).ledger_set(prefix="days/", first="1", last="3").report(
        pure_dp(epsilon=0.125), request_id="table", contribution="over-all")
    assert again.replayed and again.receipt == first.receipt
    assert [m.ledger for m in again.receipt.members] == DAYS[:2]
    assert totals(client) == [1, 1, 0]


def test_kills_while_a_set_is_charged(daemon: Daemon, connect: Callable[..., Client]) -> None:
    client = connect(daemon.address)
    make(client, 100, 100, 100)
    days = client.ledger_set(DAYS)
    for n in range(1, 17):
        killer = threading.Timer(0.001 * n, daemon.restart)
        killer.start()
        first = days.report(pure_dp(epsilon=0.125), request_id=f"n{n}", contribution="over-all")
        killer.join()
        again = days.report(pure_dp(epsilon=0.125), request_id=f"n{n}", contribution="over-all")
        assert again.replayed and again.receipt == first.receipt
        assert totals(client) == [n, n, n]
