# SPDX-License-Identifier: Apache-2.0
"""What a run has set aside for the steps that come next."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import proto as pb
from ._fields import Events, events
from .errors import BudgetExceeded


class Kind:
    """A kind of step as it is now; the message it was made from may change later."""

    __slots__ = ("key", "per_step")

    def __init__(self, what: Events) -> None:
        self.per_step = events(what)
        if isinstance(what, pb.Mechanism):
            self.key = what.SerializeToString()  # by which each step looks it up
        else:
            self.key = b"".join([e.SerializeToString() + b"\0" for e in self.per_step])

    def times(self, n: int) -> list[pb.Event]:
        """The events of n steps."""
        return [pb.Event(mechanism=e.mechanism, count=e.count * n) for e in self.per_step]


@dataclass(eq=False)
class Cover:
    """Steps of one kind that are durably set aside by a reservation, or charged ahead.

    A step only adds to `used`, and the run's worker only adds to `charged`. So whatever
    interrupts a step, no use is forgotten.
    """

    supply: Supply
    position: Any  # names the reservation, as the run's target does; 0 if the steps are charged already
    size: int
    use_by: float  # on the monotonic clock; later the daemon may soon charge the rest
    used: int = 0
    charged: int = 0
    retired: bool = False  # no step uses it any more

    @property
    def left(self) -> int:
        return self.size - self.used

    def retire(self) -> None:
        """Ends its use. What was charged ahead stays charged, and so stays of use."""
        if self.position:
            self.retired = True
            with contextlib.suppress(ValueError):
                self.supply.covers.remove(self)


_LEFT: Callable[[Cover], int] = operator.attrgetter("left")


@dataclass(eq=False)
class Supply:
    """The covers of one kind of step, the oldest first."""

    kind: Kind
    covers: list[Cover] = field(default_factory=list)
    calls: int = 0  # of step
    low: int = 1  # with no more steps left than this, the worker is woken
    most: int | None = None  # how many to ask for at most, after a refusal, until somebody waits for more

    @property
    def left(self) -> int:
        """Steps that need not wait."""
        return sum(map(_LEFT, self.covers))

    def take(self, count: int) -> bool:
        """Uses count of what is left, or nothing if that is less."""
        if self.left < count:
            return False
        for cover in tuple(self.covers):
            n = min(cover.left, count)
            cover.used += n
            if not cover.retired:  # by the worker, while a signal's handler that came in here waited for it
                count -= n
            if not count:
                return True
        return False

    def fitting(self, refusal: BudgetExceeded) -> int:
        """How many steps a refusal says would still fit, at most: it speaks of each mechanism alone."""
        fits = {m.SerializeToString(deterministic=True): n for m, n in refusal.fits}
        return min(fits.get(e.mechanism.SerializeToString(deterministic=True), 0) // e.count
                   for e in self.kind.per_step)


@dataclass(eq=False)
class Order:
    """A step that waits for more than is left."""

    supply: Supply
    count: int
    answered: bool = False
    error: Exception | None = None

    @property
    def missing(self) -> int:
        return self.count - self.supply.left
