# SPDX-License-Identifier: Apache-2.0
"""Every method of the API has a verb in both clients."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import STEP, Daemon

from privacy_accountant import AccountantError, AsyncClient, Client
from privacy_accountant._rpc import HELLO, methods

EPSILON = {"epsilon": 1, "guard": "basic"}

# For each method of the API a call of the verb that sends it.
VERBS: dict[str, Callable[[Client, Path], Any]] = {
    "CreateLedger": lambda c, _: c.create_ledger("m/x", "zero-out"),
    "GetLedger": lambda c, _: c.get_ledger("m/x"),
    "ListLedgers": lambda c, _: list(c.ledgers("m/")),
    "CloseLedger": lambda c, _: c.close_ledger("m/none"),
    "Report": lambda c, _: c.report("m/x", STEP),
    "ReportStream": lambda c, _: c.stream("m/x").close(),
    "Reserve": lambda c, _: c.reserve("m/x", STEP, lifetime=60),
    "Commit": lambda c, _: c.commit("m/x", 1, STEP),
    "Release": lambda c, _: c.release("m/x", 1),
    "Expire": lambda c, _: c.expire("m/x", 1),
    "Free": lambda c, _: c.free("m/x", 1, "r", nothing_released=True),
    "Refund": lambda c, _: c.refund("m/x", 1, "r", nothing_released=True),
    "Raise": lambda c, _: c.raise_budgets("m/x", "r", budgets=[EPSILON]),
    "Reconcile": lambda c, _: c.reconcile("m/x"),
    "Observe": lambda c, _: c.observe("m/x", inserted=9, guesses=3, correct=2, delta=1e-5),
    "Acknowledge": lambda c, _: c.acknowledge("m/x", "large-delta", reason="r"),
    "Propose": lambda c, _: c.propose("m/x", refund={"position": 1}),
    "Approve": lambda c, _: c.approve("m/x", 1),
    "Withdraw": lambda c, _: c.withdraw("m/x", 1),
    "WatchLedger": lambda c, _: next(c.watch("m/x")),
    "GetStatement": lambda c, _: c.statement("m/x"),
    "GetWriter": lambda c, _: c.get_writer("m/x"),
    "QueryPrivacySet": lambda c, _: c.ledger_set(["x"]).query(delta=1e-6),
    "QueryPrivacy": lambda c, _: c.query("m/x", delta=1e-6),
    "QueryPrivacyCurve": lambda c, _: c.curve("m/x"),
    "QueryOverview": lambda c, _: list(c.overview()),
    "QueryHistory": lambda c, _: c.history("m/x"),
    "QuerySpending": lambda c, _: c.spending("m/x", "month"),
    "QuerySpendingAnywhere": lambda c, _: list(c.spending_anywhere("ann")),
    "QueryForecast": lambda c, _: c.forecast("m/x"),
    "Calibrate": lambda c, _: c.calibrate("count", STEP, target_epsilon=1, target_delta=1e-6, ledger="m/x"),
    "ListEntries": lambda c, _: list(c.entries("m/x")),
    "ListRefusals": lambda c, _: c.refusals("m/x"),
    "GetStoreStatus": lambda c, _: c.store_status(),
    "GetSignedHead": lambda c, _: c.signed_head("m/x"),
    "GetAccess": lambda c, _: c.get_access(),
    "CreateDataset": lambda c, _: c.create_dataset("m", "zero-out"),
    "AmendDataset": lambda c, _: c.amend_dataset("m", "r", title="x"),
    "Backup": lambda c, path: c.backup(path / "b"),
}

# Methods of the API that the clients leave out on purpose, each with the reason.
WITHOUT: dict[str, str] = {}


class Recording(dict[str, Any]):
    """What calls each method, and which were looked up to be called."""

    def __getitem__(self, method: str) -> Any:
        self.sent.add(method)
        return super().__getitem__(method)

    sent: set[str]


def test_every_method_has_a_verb(shared: Daemon, connect: Callable[..., Client], tmp_path: Path) -> None:
    client = connect(shared.address)
    api = set(methods(client._channel)) - {HELLO}
    assert api == VERBS.keys() | WITHOUT.keys(), "each method needs a verb with a line here, or a reason to have none"
    VERBS["CreateLedger"](client, tmp_path)
    client._rpc = recording = Recording(client._rpc)
    for method, verb in VERBS.items():
        recording.sent = set()
        with contextlib.suppress(AccountantError):
            verb(client, tmp_path)
        assert method in recording.sent, f"{method} is not what its verb sends: {recording.sent}"


# What only the blocking client has, each with the reason.
BLOCKING = {"new_writer": "for runs, which are blocking", "stream": "AsyncRun uses the blocking client's"}


def parameters(verb: Any) -> dict[str, Any]:
    return {name: (p.default, p.annotation) for name, p in inspect.signature(verb).parameters.items()}


@pytest.mark.parametrize("verb", [v for v in dir(Client) if not v.startswith("_") and v not in BLOCKING])
def test_asyncio_has_the_same_verbs(verb: str) -> None:
    assert hasattr(AsyncClient, verb), f"AsyncClient has no {verb}"
    if inspect.isfunction(getattr(Client, verb)):
        assert parameters(getattr(Client, verb)) == parameters(getattr(AsyncClient, verb))
