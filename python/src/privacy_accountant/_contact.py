# SPDX-License-Identifier: Apache-2.0
"""Whether the daemon answers, and what the log says of that."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._advice import advice

if TYPE_CHECKING:
    from ._settings import Settings
    from .errors import Failure

log = logging.getLogger("privacy_accountant")

FIRST_CONTACT = 8.0  # seconds a call without a deadline waits for a daemon that has never answered


class Contact:
    """What all clients on one connection know of the daemon.

    The log has one line when the daemon goes away, one when steps of a run begin to wait
    for it, and one when it is back, however many clients, runs and threads notice it.
    """

    def __init__(self, settings: Settings) -> None:
        self.reached = False  # the daemon has answered at least once
        self.accepted = False  # it has done what it was asked at least once
        self._settings = settings
        self._away: float | None = None  # since when it does not answer
        self._waiting: list[str] = []  # the ledgers whose steps wait, one for each step
        self._said = False  # the log has that steps wait
        self._lock = threading.RLock()  # a signal's handler may come in while its own thread holds it

    def answered(self) -> None:
        """Notes an answer of the daemon, also one that refuses."""
        if self.reached and self._away is None:
            return
        with self._lock:
            away, self._away = self._away, None
            if away is not None and self.reached:
                log.warning("the daemon at %s answers again, after %.1f s", self._settings.server,
                            time.monotonic() - away)
            elif away is not None:
                log.warning("the daemon at %s answers now", self._settings.server)
            self.reached, self._said = True, False

    def failed(self, failure: Failure) -> None:
        """Notes that an attempt got no answer, and will be made again."""
        if self._away is not None:
            return
        with self._lock:
            if self._away is not None:
                return
            self._away = time.monotonic()
            what = "does not answer any more" if self.reached else "does not answer yet"
            log.warning("the daemon at %s %s: %s (%s); trying again", self._settings.server, what, _reason(failure),
                        failure.code.name)
            self._tell()

    @contextlib.contextmanager
    def waiting(self, ledger: str) -> Iterator[None]:
        """Around a step that cannot go on without the daemon."""
        with self._lock:
            self._waiting.append(ledger)
            self._tell()
        try:
            yield
        finally:
            with self._lock:
                self._waiting.remove(ledger)

    def _tell(self) -> None:
        if self._away is not None and self._waiting and not self._said:
            self._said = True
            log.warning("run %s: steps wait until the daemon at %s answers", self._waiting[0], self._settings.server)

    def explain(self, failure: Failure) -> Failure:
        """Says where a daemon was sought that has never answered, and what to do."""
        if self.reached or not failure.transient:
            return failure
        remedy = advice(failure.message) or self._settings.remedy
        return dataclasses.replace(failure,
                                   message=f"no daemon answers at {self._settings.sought}: {_reason(failure)}. "
                                           f"{remedy}")


def _reason(failure: Failure) -> str:
    """Without what gRPC puts before each of these: that none of an address's addresses could be connected to."""
    return failure.message.partition("; last error: ")[2] or failure.message
