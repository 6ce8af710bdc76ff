# SPDX-License-Identifier: Apache-2.0
"""Flower's own strategies and loop, with a stand-in for the network: it calls the clients' function in this process,
because Flower's simulation needs Ray. Run by make test-frameworks."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from conftest import plan

pytestmark = pytest.mark.frameworks
pytest.importorskip("flwr")

import numpy  # noqa: E402
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict  # noqa: E402
from flwr.serverapp import Grid  # noqa: E402
from flwr.supercore.task_identity import TaskIdentity  # noqa: E402
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg  # noqa: E402

from privacy_accountant import BudgetExceeded, Client, gaussian  # noqa: E402
from privacy_accountant.flower import LedgerStrategy  # noqa: E402

ROUND = gaussian(noise_multiplier=1.1)


TaskIdentity.run_id = TaskIdentity.task_id = TaskIdentity.node_id = 1  # as flower-superexec does


class Phones(Grid):  # type: ignore[misc]
    """Four clients, which are asked in this process."""

    def __init__(self, train: Callable[[], None]) -> None:
        self.train, self.asked = train, 0

    def set_run(self, run: Any) -> None: ...

    @property
    def run(self) -> Any: ...

    def create_message(self, *_: Any, **__: Any) -> Any: ...

    def push_messages(self, messages: Any) -> Any: ...

    def pull_messages(self, message_ids: Any) -> Any: ...

    def get_node_ids(self) -> list[int]:
        return [1, 2, 3, 4]

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
        replies = []
        for message in messages:
            if message.metadata.message_type == "train":
                self.asked += 1
                self.train()
            metrics = MetricRecord({"num-examples": 1, "loss": 0.0})
            replies.append(Message(RecordDict({"arrays": arrays(2), "metrics": metrics}), reply_to=message))
        return replies


def arrays(value: float = 1) -> Any:
    return ArrayRecord([numpy.full(3, float(value))])


def planned(client: Client, rounds: int) -> str:
    return client.create_ledger(f"f/{uuid.uuid4()}", "add-or-remove-one", plan=(ROUND, rounds)).spec.name


def private(**options: Any) -> Any:
    return DifferentialPrivacyServerSideFixedClipping(FedAvg(min_available_nodes=4, **options), 1.1, 1.0, 4)


def standing(client: Client, ledger: str) -> tuple[int, int]:
    """What was charged, and how much is set aside."""
    state = client.get_ledger(ledger)
    return state.total_count, len(state.reservations)


def test_rounds_are_set_aside_and_charged(client: Client) -> None:
    ledger, seen = planned(client, 10), []
    strategy = LedgerStrategy(private(), client, ledger, ROUND)
    result = strategy.start(Phones(lambda: seen.append(standing(client, ledger))), arrays(), num_rounds=3)
    assert seen == [(0, 1)] * 4 + [(1, 1)] * 4 + [(2, 1)] * 4
    assert standing(client, ledger) == (3, 0) and strategy.rounds == 3 and result.arrays is not None


def test_no_client_is_asked_without_a_budget(client: Client) -> None:
    ledger = planned(client, 2)
    phones = Phones(lambda: None)
    strategy = LedgerStrategy(private(), client, ledger, ROUND)
    result = strategy.start(phones, arrays(), num_rounds=5)
    assert phones.asked == 2 * 4 and isinstance(strategy.refused, BudgetExceeded)
    assert standing(client, ledger) == (2, 0) and sorted(result.train_metrics_clientapp) == [1, 2]
    with pytest.raises(BudgetExceeded):
        strategy.start(phones, arrays(), num_rounds=1)
    assert phones.asked == 2 * 4


def test_a_round_that_fails(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = planned(client, 10)

    def cut() -> None:
        raise OSError("the network is cut")

    with pytest.raises(OSError, match="cut"):  # after messages were handed over: charged
        LedgerStrategy(private(), client, ledger, ROUND).start(Phones(cut), arrays())
    assert standing(client, ledger) == (1, 0)

    inner = private()
    monkeypatch.setattr(inner, "aggregate_train", lambda *_: cut())
    with pytest.raises(OSError, match="cut"):
        LedgerStrategy(inner, client, ledger, ROUND).start(Phones(lambda: None), arrays())
    assert standing(client, ledger) == (2, 0)

    inner = private()
    monkeypatch.setattr(inner, "configure_train", lambda *_: cut())
    with pytest.raises(OSError, match="cut"):  # before: given back
        LedgerStrategy(inner, client, ledger, ROUND).start(Phones(lambda: None), arrays())
    assert standing(client, ledger) == (2, 0)

    LedgerStrategy(private(fraction_train=0.0), client, ledger, ROUND).start(Phones(cut), arrays())
    assert standing(client, ledger) == (2, 0)  # no client was asked


def test_a_ledger_without_budgets_and_a_loop_of_its_own(client: Client, ledger: str) -> None:
    LedgerStrategy(private(), client, ledger, ROUND).start(Phones(lambda: None), arrays(), num_rounds=2)
    assert client.get_ledger(ledger).total_count == 2

    class Own(FedAvg):  # type: ignore[misc]
        def start(self, *args: Any, **kwargs: Any) -> Any: ...

    with pytest.raises(TypeError, match="Own has a loop of its own"):
        LedgerStrategy(Own(), client, plan(client, 1), ROUND)
