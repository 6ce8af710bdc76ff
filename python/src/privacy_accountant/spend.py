# SPDX-License-Identifier: Apache-2.0
"""One release from the data, set aside before it is computed and charged after it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypedDict

from . import _verbs as verbs
from . import proto as pb
from ._caller import Caller
from ._contact import log
from ._fields import Events, events, texts
from ._real import DEADLINE, positive
from ._set_verbs import Ledgers
from ._target import target_of
from .errors import AccountantError, Closed, FailedPrecondition, Unavailable
from .run import LEAVE_PATIENCE


class SpendOptions(TypedDict, total=False):
    """The keyword arguments of Client.spend, which Spend explains."""

    lifetime: int
    contribution: str | int | None
    labels: Mapping[str, str] | None
    deadline: float | None


class Spend:
    """Sets events aside while a block computes a release from the data, and charges them at its end.

        with client.spend("team/survey", laplace(scale=1.0, sensitivity=1.0)) as spend:
            print(noisy_mean(data))

    If the budget does not take them, `with` raises BudgetExceeded and the block does not run.
    They are charged however the block ends, by an exception, too, and after a crash when `lifetime`
    (whole seconds, an hour) is over: its noise may have been seen by then. Only release, called in the
    block, gives them back, on your word that nothing computed from the data was or will be released.

    ledger: a name, or a list of names or a LedgerRange: then all are charged or none, and contribution
    says what the sensitivity bounds, as LedgerSet explains. A ledger without budgets keeps no
    reservations, so there the events are charged before the block, and release raises
    FailedPrecondition. deadline: seconds that the beginning waits for the daemon; None: the client's.
    """

    def __init__(self, client: Caller, ledger: str | Ledgers, what: Events, *, lifetime: int = 3600,
                 contribution: str | int | None = None, labels: Mapping[str, str] | None = None,
                 deadline: float | None = None) -> None:
        self._client, self._target = client, target_of(ledger, contribution)
        self._events, self._lifetime = events(what), verbs.seconds(lifetime)
        self._labels = dict(texts("labels", labels))
        self._deadline = None if deadline is None else positive("deadline", deadline, DEADLINE)
        self._state, self._pid = "not begun", 0
        self._reservation: Any = None  # None where the events are charged already

    def __enter__(self) -> Spend:
        if self._state != "not begun":
            raise Closed("spend", self._target.shown, "a block begins once; allowed: a new one")
        names = self._target.names(self._client, self._deadline)
        states = [self._client._carry_out(verbs.get_ledger(name), self._deadline) for name in names]
        if all(state.spec.policy in (pb.LedgerSpec.PLAN, pb.LedgerSpec.FILTER) for state in states):
            answer = self._client._carry_out(self._target.reserve(self._events, self._lifetime, self._labels),
                                             self._deadline)
            self._reservation = self._target.reservation(answer.receipt)
        else:
            self._client._carry_out(self._target.report(self._events, self._labels), self._deadline)
        self._state, self._pid = "open", os.getpid()
        return self

    def release(self, reason: str = "") -> None:
        """Gives everything back: nothing that was computed from the data for it was released, or will be."""
        if self._state != "open" or os.getpid() != self._pid:
            raise Closed("spend", self._target.shown, f"release is for the block itself; it is {self._state}")
        if self._reservation is None:
            raise FailedPrecondition("spend", self._target.shown, "a ledger without budgets keeps no reservations, so "
                                     "the events were charged before the block and cannot be given back")
        self._client._carry_out(self._target.release(self._reservation, reason), self._deadline)
        self._state = "released"

    def __exit__(self, kind: object, *_: object) -> None:
        if self._state != "open" or os.getpid() != self._pid:
            return  # released; or a forked process, where the block is the parent's
        self._state = "ended"
        if self._reservation is None:
            return
        patience = LEAVE_PATIENCE if self._deadline is None else min(self._deadline, LEAVE_PATIENCE)
        try:
            self._client._carry_out(self._target.commit(self._reservation, self._events, self._labels), patience)
        except (Unavailable, Closed) as e:
            log.warning("spend %s: %s; what is set aside will be charged when its time is over", self._target.shown, e)
        except AccountantError as e:
            if kind is None:
                raise
            log.error("spend %s: not charged after the block had failed: %s", self._target.shown, e)

    def __reduce__(self) -> Any:
        raise TypeError("a Spend cannot be copied or stored: its events would be charged once for two releases")

    def __repr__(self) -> str:
        return f"<spend on {self._target.shown!r}: {self._state}>"
