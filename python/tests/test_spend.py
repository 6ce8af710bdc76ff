# SPDX-License-Identifier: Apache-2.0
"""One release at a time: set aside, computed, charged."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
import uuid
from collections.abc import Callable

import pytest
from conftest import Daemon

from privacy_accountant import AsyncClient, BudgetExceeded, Client, Closed, FailedPrecondition, laplace

EVENT = laplace(scale=1.0, sensitivity=1.0)


@pytest.fixture
def budget(client: Client) -> str:
    """A new ledger on which EVENT may be made twice."""
    return client.create_ledger(f"s/{uuid.uuid4()}", "add-or-remove-one",
                                budgets=[{"epsilon": 2.5}]).spec.name


def wait_until(done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come within a minute")


def charged(client: Client, ledger: str) -> int:
    found = client.get_ledger(ledger)
    assert not found.reservations, found
    return found.total_count


def test_what_is_computed_is_charged_and_the_budget_holds(client: Client, budget: str) -> None:
    for n in (1, 2):
        with client.spend(budget, EVENT, labels={"query": str(n)}) as spend:
            assert len(client.get_ledger(budget).reservations) == 1
        assert charged(client, budget) == n
        assert "ended" in repr(spend)
    with pytest.raises(BudgetExceeded), client.spend(budget, EVENT):
        pytest.fail("the block ran without a budget")
    assert charged(client, budget) == 2


def test_an_exception_charges_and_only_release_gives_back(client: Client, budget: str) -> None:
    with pytest.raises(ZeroDivisionError), client.spend(budget, EVENT):
        1 / 0  # the noise may have been printed before
    assert charged(client, budget) == 1
    with client.spend(budget, EVENT) as spend:
        spend.release("there is no such column")
        with pytest.raises(Closed, match="it is released"):
            spend.release()
    assert charged(client, budget) == 1
    with pytest.raises(Closed):
        spend.release()
    with pytest.raises(Closed), spend:
        pytest.fail("a block ran twice for one charge")


def test_a_ledger_without_budgets_is_charged_before(client: Client, ledger: str) -> None:
    with client.spend(ledger, (EVENT, 3)) as spend:
        assert charged(client, ledger) == 3
        with pytest.raises(FailedPrecondition, match="charged before the block"):
            spend.release()
    assert charged(client, ledger) == 3


def test_several_ledgers(client: Client, budget: str, ledger: str) -> None:
    other = client.create_ledger(f"s/{uuid.uuid4()}", "add-or-remove-one",
                                 budgets=[{"epsilon": 1}]).spec.name
    with client.spend([budget, other], EVENT, contribution="over-all"):
        assert len(client.get_ledger(other).reservations) == 1
    assert [charged(client, name) for name in (budget, other)] == [1, 1]
    with pytest.raises(BudgetExceeded), client.spend([budget, other], EVENT, contribution="over-all"):
        pytest.fail("the block ran though one budget was used up")
    with client.spend([budget, ledger], EVENT, contribution="over-all"):  # one keeps no reservations
        assert [charged(client, name) for name in (budget, ledger)] == [2, 1]


def test_a_process_that_dies_is_charged(shared: Daemon, client: Client, budget: str) -> None:
    program = ("import os\nfrom privacy_accountant import Client, laplace\n"
               f"with Client({shared.address!r}).spend({budget!r}, laplace(scale=1.0, sensitivity=1.0), lifetime=1):\n"
               "    os._exit(9)")
    assert subprocess.run([sys.executable, "-c", program]).returncode == 9
    wait_until(lambda: client.get_ledger(budget).total_count == 1)
    assert charged(client, budget) == 1


def test_the_daemon_goes_away_in_the_block(daemon: Daemon, connect: Callable[..., Client],
                                           caplog: pytest.LogCaptureFixture) -> None:
    client = connect(daemon.address)
    name = client.create_ledger("s/a", "add-or-remove-one", budgets=[{"epsilon": 2.5}]).spec.name
    with caplog.at_level(logging.WARNING), client.spend(name, EVENT, lifetime=2, deadline=1.0):
        daemon.kill()
    assert "will be charged when its time is over" in caplog.text
    time.sleep(2)
    daemon.start()
    wait_until(lambda: client.get_ledger(name).total_count == 1)
    if client.pending(name):  # the commit has met the daemon's end; otherwise it was never sent
        with pytest.raises(FailedPrecondition, match="not in the reservation"):
            client.settle(name)
    assert client.get_ledger(name).total_count == 1


def test_asyncio(shared: Daemon, client: Client, budget: str) -> None:
    async def main() -> None:
        async with AsyncClient(shared.address) as mine:
            async with mine.spend(budget, EVENT):
                pass
            async with mine.spend(budget, EVENT) as spend:
                await spend.release("nothing was computed")

    asyncio.run(main())
    assert charged(client, budget) == 1
    assert [e.WhichOneof("action") for e in client.entries(budget)][-2:] == ["reserve", "release"]
