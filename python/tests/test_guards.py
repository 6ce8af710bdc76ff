# SPDX-License-Identifier: Apache-2.0
"""Budgets that are given without a guard."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from conftest import BINARY, STEP, Daemon

from privacy_accountant import AsyncClient, Client, Conflict, FailedPrecondition, _process

BUDGET = {"epsilon": 8, "delta": 1e-6}
ADJACENCY = "add-or-remove-one"


def test_the_guard_is_the_commands_and_the_log_says_which(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    (mine,) = client.create_ledger("guards/python", ADJACENCY, budgets=[BUDGET]).spec.budgets
    assert caplog.messages == ["ledger guards/python: the budget epsilon = 8, delta = 1e-06 was given without a "
                               "guard, so it is enforced by guard rdp, order 4.25"]
    subprocess.run(
        [Path(BINARY).with_name("accountctl"), "ledger", "create", "guards/command", "--adjacency", ADJACENCY,
                    "--budget", "epsilon=8,delta=1e-6", "--server", client.server], check=True)
    assert [mine] == list(client.get_ledger("guards/command").spec.budgets)
    assert mine.guard == mine.RDP


def test_a_ledger_that_exists_keeps_its_guard(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    given = {**BUDGET, "guard": "rdp", "order": 7.5}
    first = client.create_ledger("guards/again", ADJACENCY, budgets=[given])
    assert client.create_ledger("guards/again", ADJACENCY,
                                budgets=[BUDGET]) == first  # also after another version has chosen
    assert caplog.messages == []
    with pytest.raises(Conflict):
        client.create_ledger("guards/again", ADJACENCY, budgets=[{"epsilon": 7, "delta": 1e-6}])


def test_an_expected_run_and_a_given_guard(client: Client) -> None:
    expected = client.create_ledger("guards/expected", ADJACENCY, budgets=[BUDGET, {"rho": 1000, "guard": "zcdp"}],
                                    expected_run=(STEP, 1000))
    first, second = expected.spec.budgets
    assert (first.guard, first.HasField("order")) == (first.RDP, False)  # the daemon finds it
    assert second.guard == second.ZCDP


def test_a_child_gets_a_guard_that_its_parent_takes(shared: Daemon, client: Client) -> None:
    client.create_ledger("guards/parent", ADJACENCY,
                         budgets=[{"epsilon": 8, "delta": 1e-5, "guard": "rdp", "order": 40}])
    share = {"epsilon": 1, "delta": 1e-6}
    (b,) = client.create_ledger("guards/child", ADJACENCY, parent="guards/parent", budgets=[share]).spec.budgets
    assert b.guard == b.ZCDP
    with pytest.raises(FailedPrecondition,
                       match="allowed: a budget with the guard ZCDP or GDP or BASIC without delta or RDP with an "
                             "order of at least 40, or a plan"):
        client.create_ledger("guards/other", ADJACENCY, parent="guards/parent",
                             budgets=[{**share, "guard": "rdp", "order": 12}])

    client.create_ledger("guards/lower", ADJACENCY,
                         budgets=[{"epsilon": 8, "delta": 1e-5, "guard": "rdp", "order": 12}])
    (r,) = client.create_ledger("guards/below", ADJACENCY, parent="guards/lower", budgets=[share]).spec.budgets
    assert r.guard == r.RDP and r.order >= 12

    async def main() -> None:
        async with AsyncClient(shared.address) as other:
            (c,) = (
                await other.create_ledger("guards/async", ADJACENCY, parent="guards/parent",
                                          budgets=[share])).spec.budgets
            assert c == b

    asyncio.run(main())


def test_no_program_is_needed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(program: str) -> str:
        raise FileNotFoundError(f"{program} is missing")

    monkeypatch.setattr(_process, "find", missing)
    monkeypatch.setattr("privacy_accountant.offline._process", _process.Process())
    (b,) = client.create_ledger("guards/none", ADJACENCY, budgets=[{"epsilon": 3.25, "delta": 1e-6}]).spec.budgets
    assert b.guard == b.RDP and b.order > 1
