# SPDX-License-Identifier: Apache-2.0
"""Flower: each training round of a strategy set aside before it, and charged after it.

    strategy = LedgerStrategy(FedAvg(…), client, "team/phones", gaussian(noise_multiplier=1.1))
    result = strategy.start(grid, arrays, num_rounds=50)

Written against the message API of Flower 1.42 (flwr.serverapp).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flwr.serverapp.strategy import Strategy

from ._contact import log
from ._fields import Events
from ._set_verbs import Ledgers
from .client import Client
from .errors import AccountantError, BudgetExceeded
from .spend import Spend, SpendOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["LedgerStrategy"]


class LedgerStrategy(Strategy):  # type: ignore[misc]
    """A strategy whose training rounds are covered by a ledger, around another that chooses clients, aggregates and,
    as DifferentialPrivacyServerSideFixedClipping, adds noise.

    mechanism: what a round is for the ledger's unit of privacy, such as one client. A round is set aside before a
    message leaves, and charged when its replies were aggregated, or when anything fails after the messages were handed
    over; it is given back only if the inner strategy failed before, or asked no client. A round of which nothing more
    is heard is charged when its `lifetime` (a day) is over. options: those of Client.spend.

    If the budget takes no round, start raises BudgetExceeded. If it takes no further round, the remaining rounds ask no
    client, start returns the result so far, and `refused` is the reason. Evaluation by clients is not charged.
    """

    def __init__(self, strategy: Strategy, client: Client, ledger: str | Ledgers, mechanism: Events,
                 **options: Unpack[SpendOptions]) -> None:
        super().__init__()
        if type(strategy).start is not Strategy.start:
            raise TypeError(f"strategy: {type(strategy).__name__} has a loop of its own; allowed: a strategy with "
                            "Flower's start")
        self.strategy = strategy
        self.rounds = 0  # that were covered
        self.refused: BudgetExceeded | None = None
        options.setdefault("lifetime", 86400)
        self._spend: Callable[[], Spend] = lambda: client.spend(ledger, mechanism, **options)
        self._round = contextlib.ExitStack()  # what charges the round that is under way

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        self._round.close()  # of which no replies came
        spend = self._begin()
        if spend is None:
            return []
        try:
            messages = list(self.strategy.configure_train(server_round, arrays, config, grid))
        except BaseException:
            _give_back(spend, "the round failed before a message was sent")
            raise
        if messages:
            self._round.push(spend)
            self.rounds += 1
        else:
            _give_back(spend, "the round asked no client")
        return messages

    def _begin(self) -> Spend | None:
        """Sets a round aside, or says why not."""
        if self.refused is not None:
            return None
        try:
            return self._spend().__enter__()
        except BudgetExceeded as e:
            if not self.rounds:
                raise
            self.refused = e
            log.warning("the budget takes no further round, so no client is asked any more: %s", e)
            return None

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> tuple[Any, Any]:
        if self.refused is not None:
            return None, None
        with self._round.pop_all():
            return self.strategy.aggregate_train(server_round, replies)  # type: ignore[no-any-return]

    def configure_evaluate(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        if self.refused is not None:
            return []
        return self.strategy.configure_evaluate(server_round, arrays, config, grid)  # type: ignore[no-any-return]

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Any]) -> Any:
        return None if self.refused is not None else self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        self.strategy.summary()

    def start(self, *args: Any, **kwargs: Any) -> Any:
        self.rounds, self.refused = 0, None
        with contextlib.ExitStack() as ends:
            ends.callback(lambda: self._round.close())  # a round that failed on its way
            return super().start(*args, **kwargs)


def _give_back(spend: Spend, reason: str) -> None:
    try:
        spend.release(reason)
    except AccountantError as e:
        log.warning("a round was not given back: %s", e)
