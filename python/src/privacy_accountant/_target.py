# SPDX-License-Identifier: Apache-2.0
"""What a run charges: one ledger, or several together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

from . import _set_verbs as set_verbs
from . import _verbs as verbs
from . import proto as pb
from ._caller import Caller
from ._core import Plan
from ._fields import bounded
from .errors import NotFound


class One:
    """A single ledger. A reservation is named by its position."""

    def __init__(self, ledger: str) -> None:
        self.ledger = self.shown = ledger

    def names(self, client: Caller, deadline: float | None) -> list[str]:
        """The ledgers, looked up once if they are a range."""
        return [self.ledger]

    def report(self, events: Any, labels: verbs.Labels) -> Plan[Any]:
        return verbs.report(self.ledger, events, labels, None)

    def report_to(self, names: Sequence[str], events: Any, labels: verbs.Labels) -> Plan[Any]:
        """report to some of the ledgers."""
        return self.report(events, labels)

    def reserve(self, events: Any, lifetime: int, labels: verbs.Labels) -> Plan[Any]:
        return verbs.reserve(self.ledger, events, lifetime, labels, None)

    def commit(self, reservation: Any, events: Any, labels: verbs.Labels) -> Plan[Any]:
        return verbs.commit(self.ledger, reservation, events, labels, None)

    def release(self, reservation: Any, reason: str) -> Plan[Any]:
        return verbs.release(self.ledger, reservation, reason, None)

    def query(self, delta: float | None, epsilon: float | None, max_gap: float | None) -> Plan[Any]:
        return verbs.query(self.ledger, delta, epsilon, max_gap)

    def whole(self, answer: Any) -> Any:
        """The answer about everything that the run charges."""
        return answer

    def reservation(self, receipt: Any) -> Any:
        """What names a reservation."""
        return receipt.position

    def places(self, reservation: Any) -> list[tuple[str, int]]:
        """Where a reservation is: the ledgers, with its position in each."""
        return [(self.ledger, reservation)]


class Several:
    """Several ledgers, charged together. A reservation is named by its receipt."""

    def __init__(self, ledgers: set_verbs.Ledgers, contribution: str | int | None) -> None:
        self._asked, self._contribution = ledgers, bounded(contribution)
        self.ledger: list[str] = [] if isinstance(ledgers, pb.LedgerRange) else list(set_verbs.message(ledgers).ledgers)
        self.shown = set_verbs.shown(ledgers)

    def names(self, client: Caller, deadline: float | None) -> list[str]:
        asked = self._asked
        if isinstance(asked, pb.LedgerRange) and not self.ledger:
            found = client._pages(lambda token: verbs.list_ledgers(asked.prefix, token), deadline)
            self.ledger = [ledger.name for ledger in found if set_verbs.within(asked, ledger.name)]
            if not self.ledger:
                raise NotFound("run", "", f"there is no ledger from {asked.prefix}{asked.first} to "
                               f"{asked.prefix}{asked.last}")
        return self.ledger

    def report(self, events: Any, labels: verbs.Labels) -> Plan[Any]:
        return set_verbs.report(self.ledger, events, self._contribution, labels, None)

    def report_to(self, names: Sequence[str], events: Any, labels: verbs.Labels) -> Plan[Any]:
        return set_verbs.report(names, events, self._contribution, labels, None)

    def reserve(self, events: Any, lifetime: int, labels: verbs.Labels) -> Plan[Any]:
        return set_verbs.reserve(self.ledger, events, self._contribution, lifetime, labels, None)

    def commit(self, reservation: Any, events: Any, labels: verbs.Labels) -> Plan[Any]:
        return set_verbs.commit(reservation, events, labels, None)

    def release(self, reservation: Any, reason: str) -> Plan[Any]:
        return set_verbs.release(reservation, reason, None)

    def query(self, delta: float | None, epsilon: float | None, max_gap: float | None) -> Plan[Any]:
        return set_verbs.query(self.ledger, delta, epsilon, max_gap)

    def whole(self, answer: Any) -> Any:
        return answer.in_all

    def reservation(self, receipt: Any) -> Any:
        return receipt

    def places(self, reservation: Any) -> list[tuple[str, int]]:
        return [(m.ledger, m.position) for m in reservation.members]


def target_of(ledger: str | set_verbs.Ledgers, contribution: str | int | None) -> Union[One, Several]:
    """What a run on these ledgers charges."""
    if not isinstance(ledger, str):
        return Several(ledger, contribution)
    if contribution is not None:
        raise TypeError("contribution is about several ledgers, and one is named; allowed: to leave it out")
    return One(ledger)
