# SPDX-License-Identifier: Apache-2.0
"""NVIDIA FLARE: each training round set aside before a task leaves the server, and charged when the next one begins.

    job.to_server(LedgerFilter("team/hospitals", "gaussian", {"noise_multiplier": 1.1}),
                  filter_type=FilterType.TASK_DATA, tasks=["train"])

Written against FLARE 2.9. It is a filter and no handler of events, because FLARE goes on where a handler fails, whereas
a task whose filter fails is not sent.
"""

from __future__ import annotations

import threading
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import ReservedKey
from nvflare.apis.shareable import ReservedHeaderKey
from nvflare.app_common.app_constant import AppConstants

from ._contact import log
from .client import Client
from .errors import BudgetExceeded
from .mechanisms import mechanism as mechanism_of
from .spend import Spend

__all__ = ["LedgerFilter"]


class LedgerFilter(Filter):  # type: ignore[misc]
    """Sets a round aside on a ledger before the first of its tasks leaves the server, and charges it when the next
    round begins or the job ends; if the server dies, when `lifetime` (a day) is over. Nothing is given back: a round
    is set aside only when a message is about to leave.

    mechanism, parameters: what a round is for the ledger's unit of privacy, such as one client. A second task for the
    same client in a round counts as another round. server: as of Client; by default ACCOUNTANT_SERVER of the server.
    If the budget refuses a round, no task of it leaves, and the job ends by system_panic.
    """

    def __init__(self, ledger: str, mechanism: str, parameters: dict[str, Any], server: str | None = None,
                 lifetime: int = 86400) -> None:
        super().__init__()
        self.ledger, self.mechanism, self.parameters = ledger, mechanism, parameters  # FLARE stores them by these names
        self.server, self.lifetime = server, lifetime
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._tasks: dict[tuple[Any, ...], list[str]] = {}  # that a client was given in a round
        self._rounds: set[tuple[Any, ...]] = set()  # that were covered
        self._open: Spend | None = None

    def process(self, shareable: Any, fl_ctx: Any) -> Any:
        number = shareable.get_header(AppConstants.CURRENT_ROUND)
        if number is None:
            raise ValueError("the task does not say its round, so it is not sent; allowed: a workflow that sets "
                             f"{AppConstants.CURRENT_ROUND!r}")
        key = (shareable.get_cookie(ReservedHeaderKey.WORKFLOW), shareable.get_header(ReservedHeaderKey.TASK_NAME),
               number)
        peer = fl_ctx.get_peer_context()
        client = None if peer is None else peer.get_prop(ReservedKey.IDENTITY_NAME)
        task = shareable.get_header(ReservedHeaderKey.TASK_ID)
        with self._lock:  # several clients ask at once
            given = self._tasks.get((*key, client), [])
            if task not in given:
                given = [*given, task]
            self._cover((*key, len(given)), fl_ctx)
            self._tasks[(*key, client)] = given
        return shareable

    def _cover(self, key: tuple[Any, ...], fl_ctx: Any) -> None:
        if key in self._rounds:
            return
        self._charge()
        if self._client is None:
            self._client = Client(self.server)
        event = mechanism_of(self.mechanism, **self.parameters)
        try:
            self._open = self._client.spend(self.ledger, event, lifetime=self.lifetime).__enter__()
        except BudgetExceeded as e:
            self.system_panic(f"the budget takes no further round: {e}", fl_ctx)
            raise
        self._rounds.add(key)

    def _charge(self) -> None:
        spend, self._open = self._open, None
        if spend is not None:
            spend.__exit__(None)

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        if event_type == EventType.END_RUN:
            with self._lock:
                try:
                    self._charge()
                finally:
                    if self._client is not None:
                        self._client.close()
                        self._client = None
                log.info("%s: %d rounds were charged", self.ledger, len(self._rounds))
