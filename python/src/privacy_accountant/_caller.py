# SPDX-License-Identifier: Apache-2.0
"""What carries out plans, blocking: one writer on a connection."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import grpc

from ._contact import Contact
from ._core import Call, Core, Lane, Plan, Revive, Steps
from ._rpc import methods
from ._settings import Settings
from .errors import Failure, Unavailable, failure_of

T = TypeVar("T")
C = TypeVar("C", bound="Caller")


class Caller:
    """One writer with its lanes. Client adds the verbs; streams and runs need no more than this."""

    def _begin(self, settings: Settings, contact: Contact | None = None) -> None:
        channel = settings.channel(grpc)
        self._start(settings, channel, methods(channel), contact or Contact(settings))

    def _start(self, settings: Settings, channel: Any, rpc: dict[str, Any], contact: Contact) -> None:
        self._settings, self._channel, self._rpc = settings, channel, rpc
        self._core = Core(settings, threading.Lock, contact)
        self._ended = threading.Event()
        self._streams: set[Any] = set()  # that are to be abandoned when this is closed
        self._owner: Caller | None = None
        self._writers: weakref.WeakSet[Caller] = weakref.WeakSet()

    def new_writer(self: C) -> C:
        """Another writer, with a UUID and lanes of its own, on the same connection, which
        stays this client's: it ends with this one, at the latest."""
        self._core.check("new_writer")
        out = type(self).__new__(type(self))
        out._start(self._settings, self._channel, self._rpc, self._core.contact)
        out._owner = self
        self._writers.add(out)
        return out

    @property
    def writer(self) -> str:
        """The UUID under which this client's writes are recorded."""
        return self._core.writer

    @property
    def server(self) -> str:
        """Where the daemon is."""
        return self._settings.server

    def close(self) -> None:
        """Ends the connection and every open stream and run; close those first, to wait for what they charge."""
        for writer in list(self._writers):
            writer.close()
        self._core.closed = True
        self._ended.set()
        for stream in list(self._streams):
            stream.abandon()
        if self._owner is None:
            self._channel.close()
            if self._settings.served is not None:
                self._settings.served.close()

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Client cannot be copied or stored: its writer would be used twice; allowed: a new one")

    # Carrying out

    def _carry_out(self, plan: Plan[T], deadline: float | None) -> T:
        until = self._core.until(deadline)
        if plan.once:
            return plan.finish(self._drive(self._core.attempts_once(plan, until)))
        if not plan.in_lane:
            return self._drive(self._core.read(plan, until))
        lane = self._core.lane_for_write(plan.op, plan.ledger)
        self._take(lane, plan.op, until)
        try:
            return self._drive(self._core.write(plan, lane, until))
        finally:
            lane.turn.release()

    def _pages(self, page: Callable[[str], Plan[tuple[Sequence[T], str]]], deadline: float | None) -> Iterator[T]:
        """All that the pages of a list have; page makes the plan for the page that a token names."""
        token, more = "", True
        while more:
            items, token = self._carry_out(page(token), deadline)
            yield from items
            more = token != ""

    def _take(self, lane: Lane, op: str, until: float | None) -> None:
        """Waits for the lane's turn."""
        if not lane.turn.acquire(timeout=-1 if until in (None, math.inf) else max(0.0, until - time.monotonic())):
            raise Unavailable(op, lane.ledger, "another call of this client has the lane",
                              code=grpc.StatusCode.DEADLINE_EXCEEDED)

    def _drive(self, steps: Steps[T]) -> T:
        try:
            action = next(steps)
            while True:
                answer: Any = None
                try:
                    if isinstance(action, Call):
                        answer = self._attempt(action)
                    elif isinstance(action, Revive):
                        answer = action.run()
                    else:
                        self._ended.wait(action.seconds)
                except BaseException as e:  # what is in flight is of unknown outcome
                    action = steps.throw(e)
                else:
                    action = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _attempt(self, call: Call) -> Any:
        try:
            return self._rpc[call.method](call.request, timeout=call.timeout, metadata=self._settings.metadata)
        except grpc.RpcError as e:
            return failure_of(e)
        except ValueError as e:  # gRPC's, of a closed channel
            if self._core.closed:
                return Failure(grpc.StatusCode.CANCELLED, str(e))
            raise
