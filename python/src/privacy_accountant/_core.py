# SPDX-License-Identifier: Apache-2.0
"""The retry rule and the lanes, without I/O.

What is to be done is a generator: it yields a Call or a Sleep and is sent the Call's
answer or Failure. Client and AsyncClient carry the same generators out, each in its way.
"""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar, Union

import grpc

from . import proto as pb
from ._contact import FIRST_CONTACT, Contact, log
from ._local import NotServed, Served
from ._real import DEADLINE, real
from ._rpc import HELLO
from ._settings import Settings
from .errors import AccountantError, Closed, Failure, NotSent, StreamOpen, Unavailable

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """One attempt of a unary method."""

    method: str
    request: Any
    timeout: float


@dataclass(frozen=True)
class Revive:
    """Has the private daemon of a directory started again if it has ended."""

    served: Served

    def run(self) -> Failure | None:
        """Why that cannot be, if it cannot."""
        try:
            self.served.start()
        except NotServed as e:
            return Failure(grpc.StatusCode.UNAVAILABLE, str(e))
        return None


@dataclass(frozen=True)
class Sleep:
    """A pause; shorter if the client is closed."""

    seconds: float


# How many seconds calls and streams wait for a new token, once one was accepted.
TOKEN_GRACE = 60.0

# All writes to several ledgers travel in one lane of the client: Client.pending(SETS), Client.settle(SETS).
SETS = ""

Steps = Generator[Union[Call, Revive, Sleep], Any, T]


@dataclass(frozen=True)
class Plan(Generic[T]):
    """A verb with its arguments: the request, and what its answer becomes."""

    op: str
    ledger: str
    method: str
    request: Any
    finish: Callable[[Any], T]
    in_lane: bool = False  # a write of this client's lane, numbered when it is sent
    once: bool = False  # a write under a key of its own


@dataclass
class Item:
    """A write with its number. Its content never changes: the request is our own copy."""

    sequence: int
    method: str
    request: Any
    maybe: bool = False  # an attempt may have written it


@dataclass
class Lane:
    """This client's lane of a ledger. Only who has the turn changes it."""

    ledger: str
    turn: Any  # a lock of the driver's kind
    last: int = 0  # the last number known to be written
    pending: list[Item] = field(default_factory=list)  # of unknown outcome: last+1, last+2, …
    streaming: bool = False
    newest: Any = None  # a receipt, by position; the daemon compares it when a stream is opened

    def see(self, receipt: Any) -> None:
        if receipt.position <= (self.newest.position if self.newest else 0) or len(receipt.head_hash) != 32:
            return
        # Without the members, up to 1,000 ledgers, which the daemon does not compare.
        self.newest = pb.Receipt(store_id=receipt.store_id, ledger=receipt.ledger, writer=receipt.writer,
                                 sequence=receipt.sequence, position=receipt.position, head_hash=receipt.head_hash,
                                 time=receipt.time)

    def vouch(self, item: Item) -> None:
        """Sends the newest receipt along: a daemon that has forgotten it writes nothing. It is no part of the
        content."""
        if self.newest is not None:
            item.request.lane.last_receipt.CopyFrom(self.newest)

    def advance(self, item: Item, answer: Any) -> None:
        self.last = item.sequence
        self.see(answer.receipt)


class Core:
    """One writer: its UUID, its lanes, the retry rule."""

    def __init__(self, settings: Settings, new_lock: Callable[[], Any], contact: Contact) -> None:
        self.settings, self.contact = settings, contact
        # From the system's randomness, whatever the program seeds: a second process
        # with the same seeds is another writer.
        self.writer = str(uuid.UUID(bytes=os.urandom(16), version=4))
        self.closed = False
        self._random = random.SystemRandom()
        self._pid = os.getpid()
        self._new_lock = new_lock
        self._lanes: dict[str, Lane] = {}

    def check(self, op: str, ledger: str = "") -> None:
        """Raises if nothing can be sent from here."""
        if os.getpid() != self._pid:
            # Both processes would send the same numbers of the same lane, and the
            # second release of two would pass as a retry of the first.
            raise Closed(op, ledger,
                         "this client belongs to the process that made it; allowed: a client of this process's own")
        if self.closed:
            raise Closed(op, ledger, "the client is closed")

    def lane(self, ledger: str) -> Lane:
        return self._lanes.setdefault(ledger, Lane(ledger, self._new_lock()))

    def lane_for_write(self, op: str, ledger: str) -> Lane:
        """The lane, unless a stream has it: that keeps its turn for long."""
        self.check(op, ledger)
        lane = self.lane(ledger)
        if lane.streaming:
            raise StreamOpen(op, ledger, "the ledger has an open stream of this client; close it first")
        return lane

    def until(self, deadline: float | None) -> float | None:
        """The time at which a call started now gives up."""
        seconds = deadline if deadline is not None else self.settings.deadline
        return None if seconds is None else time.monotonic() + real("deadline", seconds, DEADLINE)

    def pause(self, n: int) -> float:
        """How long to wait after the n-th failed attempt, from 1: doubling, shortened at random by up to a half."""
        most = min(self.settings.backoff_max, self.settings.backoff_min * 2.0 ** min(n - 1, 60))
        return most * (0.5 + 0.5 * self._random.random())

    def read(self, plan: Plan[T], until: float | None) -> Steps[T]:
        """A call that writes nothing, or that may be repeated freely."""
        self.check(plan.op, plan.ledger)
        return plan.finish((yield from self._attempts(plan.op, plan.ledger, Item(0, plan.method, plan.request), until)))

    def attempts_once(self, plan: Plan[Any], until: float | None) -> Steps[Any]:
        """A write under a key of its own, which may be repeated by whoever calls."""
        self.check(plan.op, plan.ledger)
        return (yield from self._attempts(plan.op, plan.ledger, Item(1, plan.method, plan.request), until))

    def write(self, plan: Plan[T], lane: Lane, until: float | None) -> Steps[T]:
        """The lane's next write; the caller has the turn. What earlier calls left is settled first."""
        try:
            yield from self.settle(plan.op, lane, until)
        except AccountantError as e:
            why = "was refused" if e.not_written else "may or may not be written"
            raise NotSent(plan.op, plan.ledger,
                          f"not sent, because an earlier write of this client {why}: {e.message}", code=e.code,
                          not_written=e.not_written) from e
        at = plan.request.lane
        at.writer, at.sequence = self.writer, lane.last + 1
        item = Item(lane.last + 1, plan.method, plan.request)
        lane.vouch(item)
        # Kept from before the first attempt: whatever interrupts this, the number is not
        # used for another write, which would pass as a retry of this one.
        lane.pending = [item]
        try:
            answer = yield from self._attempts(plan.op, plan.ledger, item, until)
        except AccountantError as e:
            if not e.unknown:
                lane.pending = []
            raise
        except BaseException:  # such as KeyboardInterrupt
            if not item.maybe:
                lane.pending = []
            raise
        lane.advance(item, answer)
        lane.pending = []
        return plan.finish(answer)

    def settle(self, op: str, lane: Lane, until: float | None) -> Steps[None]:
        """Sends what is of unknown outcome again, in order; the caller has the turn."""
        while lane.pending:
            item = lane.pending[0]
            lane.vouch(item)
            try:
                answer = yield from self._attempts(op, lane.ledger, item, until)
            except AccountantError as e:
                if e.unknown or isinstance(e, (Unavailable, Closed)):
                    raise
                # Refused after all: those behind it have numbers that now never come.
                e.not_written, lane.pending = [i.request for i in lane.pending], []
                raise
            lane.advance(item, answer)
            lane.pending.pop(0)

    def await_token(self, failure: Failure, used: str, accepted: bool, until: float | None = None) -> Steps[bool]:
        """Whether there is another token than the one that was refused. Where one was accepted before, this waits for
        it: whatever renews tokens may be late."""
        if self.settings.token is None or failure.code is not grpc.StatusCode.UNAUTHENTICATED:
            return False
        end = time.monotonic() + (TOKEN_GRACE if accepted else 0.0)
        while self.settings.token_now() == used:
            if self.closed or time.monotonic() >= (end if until is None else min(end, until)):
                return False
            yield Sleep(0.1)
        return True

    def meet(self, op: str, ledger: str, until: float | None) -> Steps[None]:
        """Has the daemon answer once before anything is sent to it. Without a deadline that is
        tried for FIRST_CONTACT seconds only: an address that is wrong would be tried for ever."""
        if self.contact.reached:
            return
        hello = Item(0, HELLO, b"")
        try:
            yield from self._try(op, ledger, hello, time.monotonic() + FIRST_CONTACT if until is None else until)
        except (Unavailable, Closed):
            raise
        except AccountantError:
            pass  # a refusal of this call is an answer, too

    def _attempts(self, op: str, ledger: str, item: Item, until: float | None) -> Steps[Any]:
        """Tries until the outcome is known or there is nothing to wait for."""
        yield from self.meet(op, ledger, until)
        return (yield from self._try(op, ledger, item, until))

    def _try(self, op: str, ledger: str, item: Item, until: float | None) -> Steps[Any]:
        failure = Failure(grpc.StatusCode.DEADLINE_EXCEEDED, "no time was left for an attempt")
        n = 0
        while True:
            left = self.settings.timeout if until is None else min(self.settings.timeout, until - time.monotonic())
            if self.closed or left <= 0:
                self._end(op, ledger, item, failure)
            n += 1
            before, item.maybe = item.maybe, True
            used = self.settings.token_now()
            answer = yield Call(item.method, item.request, left)
            if not isinstance(answer, Failure):
                self.contact.answered()
                self.contact.accepted = True
                return answer
            failure = answer
            item.maybe = before or not failure.wrote_nothing
            if not failure.transient or failure.after > 0:
                self.contact.answered()
            renewed = yield from self.await_token(failure, used, self.contact.accepted, until)
            if not (failure.transient or renewed) or n == self.settings.max_attempts:
                self._end(op, ledger, item, failure)
            if renewed:
                continue
            if _away(item, failure):
                self.contact.failed(failure)
            elif n & (n - 1) == 0:
                log.warning("%s %s: %s (%s); trying again", op, ledger, failure.message, failure.code.name)
            lost = yield from self.revive()
            if lost is not None:
                self._end(op, ledger, item, lost)
            pause = self.pause(n)
            if failure.after > 0:  # varied, so that many clients do not come back at once
                pause = max(pause, failure.after * (1 + 0.5 * self._random.random()))
            yield Sleep(pause if until is None else min(pause, max(0.0, until - time.monotonic())))

    def revive(self) -> Steps[Failure | None]:
        """After a call without an answer: a private daemon that has ended is started again. The
        answer is why that cannot be; then there is nothing to wait for."""
        served = self.settings.served
        return None if served is None else (yield Revive(served))

    def again(self, op: str, ledger: str, failure: Failure, n: int, used: str, was_open: bool) -> Steps[None]:
        """Before a stream is opened anew whose n-th opening in turn has failed, with the token that it used: pauses, or
        raises why there is no use."""
        self.check(op, ledger)
        if (yield from self.await_token(failure, used, was_open)):
            return
        if not failure.transient or n == self.settings.max_attempts:
            raise failure.error(op, ledger)
        self.contact.failed(failure)
        lost = yield from self.revive()
        if lost is not None:
            raise lost.error(op, ledger)
        yield Sleep(max(failure.after, self.pause(n)))

    def _end(self, op: str, ledger: str, item: Item, failure: Failure) -> NoReturn:
        unknown = item.sequence > 0 and item.maybe and not failure.settles
        if self.closed and failure.transient:
            raise Closed(op, ledger, "the client was closed", sequence=item.sequence, unknown=unknown)
        raise self.contact.explain(failure).error(op, ledger, sequence=item.sequence, unknown=unknown)


def _away(item: Item, failure: Failure) -> bool:
    """Whether a failure means that the daemon is away: ABORTED is an answer, that an earlier
    attempt is still under way, so is a time to come back, and a question that takes too long may only be hard."""
    question = item.sequence == 0 and item.method != HELLO
    return failure.after == 0 and failure.code is not grpc.StatusCode.ABORTED and not (
        question and failure.code is grpc.StatusCode.DEADLINE_EXCEEDED)
