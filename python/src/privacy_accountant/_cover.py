"""What a run holds of each mechanism."""

from __future__ import annotations

import contextlib
import operator
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from . import proto as pb
from .errors import AccountantError, BudgetExceeded
from .mechanisms import Events, events


class Kind:
    """A kind of step as it is now; what it is made of may change later."""

    __slots__ = ("key", "per_step")

    def __init__(self, what: Events) -> None:
        self.per_step = events(what)
        if isinstance(what, pb.Mechanism):
            self.key = what.SerializeToString()  # as is looked up at each step
        else:
            self.key = b"".join([e.SerializeToString() + b"\0" for e in self.per_step])


@dataclass(eq=False)
class Cover:
    """Steps that are durably set aside, or charged, ahead."""

    position: int  # names the reservation; 0 if it is charged
    left: int  # not used yet
    use_by: float  # on the monotonic clock
    used: int = 0  # and not committed yet


_LEFT: Callable[[Cover], int] = operator.attrgetter("left")


@dataclass(eq=False)
class Supply:
    """The covers of one kind of step."""

    per_step: list[pb.Event]
    covers: deque[Cover] = field(default_factory=deque)  # the oldest first
    target: int = 0
    uses: int = 0
    asked: int = 0  # steps asked for and not answered; 0 if nothing is
    dropped: bool = False  # what was asked for is to be given back
    exhausted: bool = False  # the budget refused what was asked for ahead
    waiting: int = 0  # threads that wait for more
    refusal: AccountantError | None = None  # of what they wait for

    @property
    def left(self) -> int:
        """Steps that need not wait."""
        return sum(map(_LEFT, self.covers))  # which nothing interrupts

    def take(self, count: int) -> bool:
        """Uses count of what is left, or nothing if that is less."""
        covers = tuple(self.covers)
        for cover in covers:
            if cover.left >= count:  # as mostly
                cover.used += count  # first: what interrupts this may commit it
                cover.left -= count
                return True
        if self.left < count:
            return False
        for cover in covers:
            n = min(cover.left, count)
            cover.used += n
            cover.left -= n
            count -= n
            if not count:
                break
        return not count

    def forget(self, cover: Cover) -> None:
        """Takes a cover away, if that was not done already."""
        with contextlib.suppress(ValueError):
            self.covers.remove(cover)

    def fitting(self, refusal: AccountantError) -> int:
        """How many steps a refusal says would still fit, at most."""
        if not isinstance(refusal, BudgetExceeded):
            return 0
        fits = {m.SerializeToString(deterministic=True): n for m, n in refusal.fits}
        return min(fits.get(e.mechanism.SerializeToString(deterministic=True), 0) // e.count for e in self.per_step)
