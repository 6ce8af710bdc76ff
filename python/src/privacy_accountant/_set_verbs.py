# SPDX-License-Identifier: Apache-2.0
"""The verbs about several ledgers at once: arguments in, a request out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from . import _verbs as verbs
from . import proto as pb
from ._core import SETS, Plan
from ._fields import Events, bounded, events, fill, texts
from ._verbs import Labels, reserve_content, same, sent
from .errors import BudgetExceeded

# Several ledgers, one by one or by a range of names.
Ledgers = Union[Sequence[str], pb.LedgerRange]

def chosen(ledgers: Sequence[str] | None, prefix: str, first: str, last: str) -> Ledgers:
    """The ledgers that are named, or those of a range."""
    if (ledgers is None) == (not prefix) or ledgers is not None and (first or last):
        raise TypeError("ledgers: names, or a prefix with first and last; allowed: exactly one of both")
    return pb.LedgerRange(prefix=prefix, first=first, last=last) if ledgers is None else ledgers


def message(ledgers: Ledgers) -> pb.LedgerSet:
    """The set as the API has it."""
    if isinstance(ledgers, pb.LedgerRange):
        return pb.LedgerSet(range=ledgers)
    if isinstance(ledgers, str):
        raise TypeError(f"ledgers: {ledgers!r}; allowed: a list of names, such as [{ledgers!r}, …]")
    return pb.LedgerSet(ledgers=list(ledgers))


def shown(ledgers: Ledgers) -> str:
    """The set in a few words."""
    if isinstance(ledgers, pb.LedgerRange):
        return f"{ledgers.prefix}{ledgers.first}…{ledgers.last}"
    names = list(ledgers)
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, … {names[-1]} ({len(names)} ledgers)"


def report(ledgers: Ledgers, what: Events, contribution: str | int | None, labels: Labels,
           request_id: str | None) -> Plan[pb.WriteResponse]:
    charge = pb.Charge(events=events(what), labels=texts("labels", labels))
    request = pb.ReportRequest(lane=_lane(ledgers, contribution), charge=charge)
    return sent("report", SETS, "Report", request, request_id)


def _lane(ledgers: Ledgers, contribution: str | int | None) -> pb.Lane:
    return pb.Lane(ledgers=message(ledgers), contribution=bounded(contribution))


def check(ledgers: Ledgers, what: Events, contribution: str | int | None, labels: Labels,
          writer: str) -> Plan[pb.WriteResponse]:
    lane = _lane(ledgers, contribution)
    lane.writer, lane.sequence, lane.check_only = writer, 1, True
    request = pb.ReportRequest(lane=lane, charge=pb.Charge(events=events(what), labels=texts("labels", labels)))

    def finish(answer: pb.WriteResponse) -> pb.WriteResponse:
        if answer.HasField("refusal"):
            raise BudgetExceeded("check", SETS, f"{len(answer.refusal.members) + answer.refusal.more} of "
                                 f"{answer.refusal.ledgers} ledgers would refuse it", refusal=answer.refusal)
        return answer

    return Plan("check", SETS, "Report", request, finish)


def reserve(ledgers: Ledgers, what: Events, contribution: str | int | None, lifetime: int, labels: Labels,
            request_id: str | None) -> Plan[pb.WriteResponse]:
    request = pb.ReserveRequest(lane=_lane(ledgers, contribution), reserve=reserve_content(what, lifetime, labels))
    return sent("reserve", SETS, "Reserve", request, request_id)


def commit(reservation: pb.Receipt, what: Events, labels: Labels, request_id: str | None) -> Plan[pb.WriteResponse]:
    return verbs.commit(reservation.ledger, reservation.position, what, labels, request_id)


def release(reservation: pb.Receipt, reason: str, request_id: str | None) -> Plan[pb.WriteResponse]:
    return verbs.release(reservation.ledger, reservation.position, reason, request_id)


def query(ledgers: Ledgers, delta: float | None, epsilon: float | None,
          max_gap: float | None) -> Plan[pb.QueryPrivacySetResponse]:
    if (delta is None) == (epsilon is None):
        raise TypeError("query: delta or epsilon; allowed: exactly one of them")
    request = fill(pb.QueryPrivacySetRequest(set=message(ledgers)), "query",
                   {"delta": delta, "epsilon": epsilon, "max_gap": max_gap})
    return Plan("query", SETS, "QueryPrivacySet", request, same)


def within(ledgers: pb.LedgerRange, name: str) -> bool:
    """Whether a name is in a range, by its bytes."""
    at = name.encode()
    first, last = (ledgers.prefix + ledgers.first).encode(), (ledgers.prefix + ledgers.last).encode()
    return name.startswith(ledgers.prefix) and at >= first and (not ledgers.last or at <= last)

