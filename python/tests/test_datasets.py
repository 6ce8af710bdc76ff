# SPDX-License-Identifier: Apache-2.0
"""Datasets: one budget for all ledgers that name one, through both clients."""

from __future__ import annotations

import asyncio
import os
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BINARY, Daemon

from privacy_accountant import (
    AsyncClient, BudgetExceeded, Client, Conflict, FailedPrecondition, InvalidArgument, NotFound, PermissionDenied,
    laplace,
)
from privacy_accountant import proto as pb

# What every dataset here has in common. The daemon is shared, so others may be registered.
COMMON = {"privacy_unit": "user", "max_records_per_unit": 1, "bound_enforced_by": "one row for each account",
          "independence": "made for this test"}
EPSILON_2 = {"epsilon": 2, "guard": "basic"}


@pytest.fixture
def own(shared: Daemon, connect: Callable[..., Client]) -> Client:
    """A client on the daemon's own socket."""
    return connect(shared.socket)


def ledger(client: Client, dataset: str, epsilon: float, version: str = "1") -> pb.Ledger:
    return client.create_ledger(f"{dataset}/{uuid.uuid4()}", "add-or-remove-one", privacy_unit="user",
                                dataset_id=dataset, dataset_version=version,
                                budgets=[{"epsilon": epsilon, "guard": "basic"}])


def test_one_budget_for_all_ledgers(client: Client, own: Client) -> None:
    with pytest.raises(PermissionDenied, match="own socket"):
        client.create_dataset("py-one", "add-or-remove-one", version="1", budgets=[EPSILON_2], **COMMON)
    made = own.create_dataset("py-one", "add-or-remove-one", version="1", title="One", owners=["ann"],
                              budgets=[EPSILON_2], labels={"team": "x"}, caps={"ledger": 0.75}, **COMMON)
    assert made.created and list(made.adopted) == [] and made.ledger.name == "dataset:py-one"
    again = own.create_dataset("py-one", "ADD_OR_REMOVE_ONE", version="1", title="One", owners=["ann"],
                               budgets=[EPSILON_2], labels={"team": "x"}, caps={"ledger": 0.75}, **COMMON)
    assert not again.created and again.ledger.create_time == made.ledger.create_time
    with pytest.raises(Conflict, match="py-one"):
        own.create_dataset("py-one", "replace-one", version="1", budgets=[EPSILON_2], **COMMON)
    ledger(own, "py-one", 1.25)
    with pytest.raises(BudgetExceeded) as refused:
        ledger(own, "py-one", 1)
    assert refused.value.shortfalls[0].left == 0.75
    ledger(client, "py-one", 0.75)
    balance = client.get_ledger("dataset:py-one").budgets[0].value
    assert (balance.limit, balance.spent, balance.reserved, balance.remaining) == (2, 0, 2, 0)
    with pytest.raises(FailedPrecondition, match="version"):
        ledger(own, "py-one", 0.1, version="2")
    assert "py-one" in [d.spec.dataset_id for d in client.ledgers("dataset:")]


def test_adoption(client: Client, own: Client) -> None:
    before = ledger(client, "py-adopted", 1.5)
    client.report(before.spec.name, laplace(scale=10, sensitivity=1))
    with pytest.raises(FailedPrecondition, match=f"nothing was changed.*{before.spec.name}"):
        own.create_dataset("py-adopted", "add-or-remove-one", version="1", budgets=[{"epsilon": 1, "guard": "basic"}],
                           **COMMON)
    with pytest.raises(NotFound):
        client.get_ledger("dataset:py-adopted")
    made = own.create_dataset("py-adopted", "add-or-remove-one", version="1", budgets=[EPSILON_2],
                              independent_of_outputs=True, reason="the law says 2", **COMMON)
    assert list(made.adopted) == [before.spec.name] and made.ledger.budgets[0].value.reserved == 1.5
    answer = client.statement("dataset:py-adopted", [1e-6])
    assert answer.guarantee == "filter" and 1.99 < answer.privacy[0].epsilon <= 2
    assert [(x.name, x.share, x.total_count) for x in answer.ledgers] == [(before.spec.name, 0.75, 1)]
    assert "the law says 2" in answer.markdown


def test_amend(client: Client, own: Client) -> None:
    own.create_dataset("py-amended", "add-or-remove-one", version="1", budgets=[EPSILON_2], **COMMON)
    with pytest.raises(PermissionDenied, match="own socket"):
        client.amend_dataset("py-amended", "more", budgets=[{"epsilon": 3, "guard": "basic"}])
    receipt = own.amend_dataset("py-amended", "more", budgets=[{"epsilon": 3, "guard": "basic"}],
                                request_id="py-more").receipt
    assert own.amend_dataset("py-amended", "more", budgets=[{"epsilon": 3, "guard": "basic"}],
                             request_id="py-more").replayed
    assert receipt.position == 1
    with pytest.raises(Conflict):
        own.amend_dataset("py-amended", "other", title="x", request_id="py-more")
    with pytest.raises(FailedPrecondition, match="at least 3"):
        own.amend_dataset("py-amended", "less", budgets=[EPSILON_2])
    own.amend_dataset("py-amended", "a second wave",
                      add_version={"of": "py-amended@2", "derived_from": ["py-amended@1"]})
    own.amend_dataset("py-amended", "care", caps={"charge": 0.1, "ledger": 0.5}, title="Amended", owners=["ann", "bo"])
    record = client.get_ledger("dataset:py-amended")
    d = record.dataset
    assert (d.spec.title, list(d.spec.owners), d.spec.caps.charge) == ("Amended", ["ann", "bo"], 0.1)
    assert [(v.of.version, [f.version for f in v.derived_from]) for v in d.versions] == [("1", []), ("2", ["1"])]
    assert record.position == 3 and d.spec.budgets[0].epsilon == 3
    of_two = ledger(client, "py-amended", 1, version="2").spec.name
    with pytest.raises(FailedPrecondition, match="charge"):
        client.report(of_two, laplace(scale=2, sensitivity=1))  # ε = 1/2 is a sixth of the dataset's 3
    with pytest.raises(InvalidArgument, match="reason"):
        own.amend_dataset("py-amended", "", title="x")
    with pytest.raises(TypeError, match="'titel' is not a field.*did you mean 'title'"):
        own.amend_dataset("py-amended", "typo", titel="x")


def test_derived_datasets_share_the_budget(own: Client) -> None:
    own.create_dataset("py-source", "add-or-remove-one", version="1", budgets=[EPSILON_2], **COMMON)
    shared = {k: v for k, v in COMMON.items() if k != "independence"}
    derived = own.create_dataset("py-derived", "add-or-remove-one", derived_from=["py-source@1"], **shared)
    assert derived.ledger.dataset.budget_of == "dataset:py-source"
    ledger(own, "py-derived", 1.5, version="")
    with pytest.raises(BudgetExceeded):
        ledger(own, "py-source", 1)


def test_a_guard_that_is_not_given_can_be_set_aside_by_the_dataset(shared: Daemon, own: Client) -> None:
    """Alone, the budget would get a guard at an order below that of the dataset's, which cannot have it."""
    own.create_dataset("py-guard", "add-or-remove-one", version="1",
                       budgets=[{"epsilon": 8, "delta": 1e-5, "guard": "rdp", "order": 40}], **COMMON)
    spec = {"privacy_unit": "user", "dataset_version": "1", "budgets": [{"epsilon": 1, "delta": 1e-5}]}
    alone = own.create_ledger(f"t/{uuid.uuid4()}", "add-or-remove-one", dataset_id="py-none", **spec)
    assert alone.budgets[0].budget.guard == pb.Budget.RDP and alone.budgets[0].budget.order < 40
    below = own.create_ledger(f"t/{uuid.uuid4()}", "add-or-remove-one", dataset_id="py-guard", **spec)
    assert below.spec.parent == "dataset:py-guard"

    async def main() -> None:
        async with AsyncClient(shared.socket, deadline=20.0) as client:
            other = await client.create_ledger(f"t/{uuid.uuid4()}", "add-or-remove-one", dataset_id="py-guard", **spec)
            assert other.spec.parent == "dataset:py-guard"

    asyncio.run(main())


def test_asyncio(shared: Daemon) -> None:
    async def main() -> None:
        async with AsyncClient(shared.socket, deadline=20.0) as client:
            made = await client.create_dataset("py-async", "add-or-remove-one", version="1", budgets=[EPSILON_2],
                                               **COMMON)
            assert made.created and made.ledger.principal == f"uid:{os.getuid()}"
            await client.amend_dataset("py-async", "a name", title="Async")
            assert (await client.get_ledger("dataset:py-async")).dataset.spec.title == "Async"
            assert "py-async" in [d.spec.dataset_id async for d in client.ledgers("dataset:")]
            answer = await client.statement("dataset:py-async", [1e-6])
            assert 1.99 < answer.privacy[0].epsilon <= 2 and len(answer.ledgers) == 0

    asyncio.run(main())


def test_a_budget_without_a_guard_gets_the_commands(own: Client, caplog: pytest.LogCaptureFixture) -> None:
    for name, budget, says in [
        ("py-chosen", {"epsilon": 8, "delta": 1e-6}, "without a guard, so it is enforced by guard rdp, order "),
        ("py-ordered", {"epsilon": 8, "delta": 1e-6, "guard": "rdp"}, "without an order, so it is enforced by guard "),
    ]:
        caplog.clear()
        made = own.create_dataset(name, "add-or-remove-one", budgets=[budget], **COMMON)
        (got,) = made.ledger.dataset.spec.budgets
        assert got.guard == got.RDP and got.order > 1
        assert [m.startswith(f"dataset {name}: the budget epsilon = 8, delta = 1e-06 was given {says}")
                for m in caplog.messages] == [True]
        command = Path(BINARY).with_name("accountctl")
        subprocess.run(  # the command chooses the same, so it is the same registration
            [command, "dataset", "create", name, "--adjacency", "add-or-remove-one", "--privacy-unit", "user",
             "--max-records-per-unit", "1", "--bound-enforced-by", COMMON["bound_enforced_by"],
             "--independent", COMMON["independence"], "--budget", "epsilon=8,delta=1e-6", "--server", own.server],
            check=True)
        caplog.clear()
        again = own.create_dataset(name, "add-or-remove-one", budgets=[budget], **COMMON)
        assert not again.created and caplog.messages == []
    with pytest.raises(InvalidArgument, match="epsilon"):
        own.create_dataset("py-none", "add-or-remove-one", budgets=[{"epsilon": -1}], **COMMON)
