# SPDX-License-Identifier: Apache-2.0
"""Handles for several ledgers that are charged together."""

from __future__ import annotations

import uuid

from . import _set_verbs as sets
from . import proto as pb
from ._caller import Caller
from ._fields import Events
from ._questions import stated
from ._set_verbs import Ledgers
from ._verbs import Labels


class LedgerSet:
    """Several ledgers of a client: what is written is written to all of them or to none.

        days = client.ledger_set(prefix="days/", first="2026-11-01", last="2026-11-07")
        days.report(gaussian(noise_multiplier=20), contribution="over-all", request_id="weekly-table")
        days.query(delta=1e-6).in_all.epsilon

    A charge says whose rows its sensitivity bounds, since answers about a person who is in several of the ledgers
    differ by it: contribution="over-all" for those in all of the ledgers together, as where they are clipped per
    person, or "in-each" for those in each ledger alone, so that somebody in n of them counts as a group of n.
    On Poisson samples the latter is "rows-drawn-in-each", where the rows of each ledger are drawn apart, or
    "people-drawn-in-each", where a person's rows of all ledgers are drawn together.

    The ledgers must have the same adjacency and the same unit of privacy. A range is resolved when a
    write is decided, and the receipt names the ledgers. Where a ledger refuses, BudgetExceeded has each
    such ledger in `refused`, and in `fits` what would fit in all of them. Writes travel in one lane of
    the client, whichever ledgers they are about: client.pending("") and client.settle("").
    """

    def __init__(self, client: Caller, ledgers: Ledgers) -> None:
        self.ledgers = ledgers if isinstance(ledgers, pb.LedgerRange) else list(sets.message(ledgers).ledgers)
        self._client = client

    def __repr__(self) -> str:
        return f"<ledgers {sets.shown(self.ledgers)}>"

    def report(self, events: Events, *, contribution: str | int | None = None, labels: Labels = None,
               request_id: str | None = None,
               deadline: float | None = None) -> pb.WriteResponse:
        """Charges events to each ledger, or to none. The key request_id covers the set: another set, or other
        events, under the same key are a Conflict."""
        return self._client._carry_out(sets.report(self.ledgers, events, contribution, labels, request_id), deadline)

    def check(self, events: Events, *, contribution: str | int | None = None, labels: Labels = None,
              deadline: float | None = None) -> pb.WriteResponse:
        """Which ledgers report would charge now, or BudgetExceeded; writes nothing."""
        plan = sets.check(self.ledgers, events, contribution, labels, str(uuid.uuid4()))
        return self._client._carry_out(plan, deadline)

    def reserve(self, events: Events, *, lifetime: int, contribution: str | int | None = None, labels: Labels = None,
                request_id: str | None = None, deadline: float | None = None) -> pb.WriteResponse:
        """Sets events aside in each ledger for lifetime whole seconds, or in none. The receipt names the
        reservation for commit and release."""
        plan = sets.reserve(self.ledgers, events, contribution, lifetime, labels, request_id)
        return self._client._carry_out(plan, deadline)

    def commit(self, reservation: pb.Receipt, events: Events, *, labels: Labels = None, request_id: str | None = None,
               deadline: float | None = None) -> pb.WriteResponse:
        """Charges a part of what reserve has set aside, the same part in each ledger."""
        return self._client._carry_out(sets.commit(reservation, events, labels, request_id), deadline)

    def release(self, reservation: pb.Receipt, reason: str = "", *, request_id: str | None = None,
                deadline: float | None = None) -> pb.WriteResponse:
        """Gives back what is left of it: nothing was, or will be, computed from the data for it."""
        return self._client._carry_out(sets.release(reservation, reason, request_id), deadline)

    def query(self, *, delta: float | None = None, epsilon: float | None = None, max_gap: float | None = None,
              deadline: float | None = None) -> pb.QueryPrivacySetResponse:
        """What each ledger costs, and what they cost together: in_all for a record that is in all of them, in_one
        for one that is in at most one."""
        return self._client._carry_out(sets.query(self.ledgers, delta, epsilon, max_gap), deadline)

    def epsilon(self, delta: float, *, deadline: float | None = None) -> float:
        """ε at delta for a record that is in all of the ledgers. It may be infinite."""
        return stated(self.query(delta=delta, deadline=deadline).in_all, "epsilon")
