# SPDX-License-Identifier: Apache-2.0
"""A lane with many writes in flight."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from . import _verbs as verbs
from . import proto as pb
from ._caller import Caller
from ._core import Item, Lane
from ._fields import Events, events, texts
from ._whole import whole
from .errors import AccountantError, Closed, DataLoss, Failure, Unavailable, code_of, failure_of

# The method by which each kind of message travels alone, and its request.
_ALONE: dict[str, tuple[str, Any]] = {
    "charge": ("Report", pb.ReportRequest), "reserve": ("Reserve", pb.ReserveRequest),
    "commit": ("Commit", pb.CommitRequest), "release": ("Release", pb.ReleaseRequest),
}


@dataclass
class Message:
    """One write of the queue: a kind of ReportStreamRequest and its content, which is never changed."""

    kind: str
    content: Any
    receipt: list[pb.Receipt] | None = None  # a list takes the receipt, which is then sent for until it comes


MOST_PATIENCE = 16


class _Connection:
    """One opening of the lane."""

    def __init__(self, wait: float) -> None:
        self.call: Any = None
        self.wait = wait  # for an answer, in seconds
        self.sent = 0  # how many of the queue it was given
        self.live = False  # the lane is open
        self.halted = False
        self.due: float | None = None  # when an answer is overdue
        self.overdue = False


class _Broken(Exception):
    """The connection cannot be used any more."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


def _internal(message: str) -> _Broken:
    return _Broken(Failure(grpc.StatusCode.INTERNAL, message))


class Stream:
    """A ledger's lane with many writes in flight; safe for use by many threads.

    It keeps each write until the daemon has acknowledged it. When the connection breaks,
    the daemon restarts or an acknowledgement is overdue, it connects anew, asks how far
    the lane has come, and sends what is missing with the same numbers and content. Each
    opening carries the newest receipt that the lane got, for the daemon to compare, so a
    file that was rolled back does not pass unnoticed: DataLoss.

    A refused write is not written, and neither are those behind it: the stream ends and the
    error's not_written has them. From then on every method raises that error. close waits
    until all is written; leaving a `with` block by an exception gives up waiting, and what
    is not acknowledged stays in the client's lane.
    """

    def __init__(self, client: Caller, lane: Lane, window: int) -> None:
        self._client, self._lane, self._window = client, lane, window
        self._monitor = threading.Condition(threading.RLock())
        self._settings = client._settings
        self._queue: deque[Message] = deque()  # not acknowledged, in order, without gaps
        self._first = lane.last + 1  # number of the queue's first
        self._reach = lane.last  # the highest number that may be written
        self._closing = False
        self._finished = False
        self._error: AccountantError | None = None
        self._stop = threading.Event()
        self._connection: _Connection | None = None
        self.connections = 0
        client._streams.add(self)
        name = f"privacy-accountant {lane.ledger}"
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()
        threading.Thread(target=self._watch, name=name + " watchdog", daemon=True).start()

    @classmethod
    def open(cls, client: Caller, ledger: str, window: int, deadline: float | None) -> Stream:
        """Takes the turn of a ledger's lane, once what is of unknown outcome in it is settled."""
        window = whole("window", window, 1)
        lane, until = client._core.lane_for_write("stream", ledger), client._core.until(deadline)
        client._take(lane, "stream", until)
        try:
            client._drive(client._core.meet("stream", ledger, until))
            client._drive(client._core.settle("stream", lane, until))
            lane.streaming = True
            return cls(client, lane, window)
        except BaseException:
            lane.streaming = False
            lane.turn.release()
            raise

    # Writing

    def report(self, what: Events, labels: verbs.Labels = None, *, deadline: float | None = None) -> None:
        """Takes a charge and returns; waits while the window is full."""
        self._put(Message("charge", pb.Charge(events=events(what), labels=texts("labels", labels))), deadline)

    def commit(self, reservation: int, what: Events, labels: verbs.Labels = None, *,
               deadline: float | None = None) -> None:
        """Takes a charge of a part of a reservation."""
        self._put(Message("commit", verbs.commit_content(reservation, what, labels)), deadline)

    def release(self, reservation: int, reason: str = "", *, deadline: float | None = None) -> None:
        """Gives back what is left of a reservation."""
        self._put(Message("release", verbs.release_content(reservation, reason)), deadline)

    def reserve(self, what: Events, *, lifetime: int, labels: verbs.Labels = None,
                deadline: float | None = None) -> pb.Receipt:
        """Sets events aside and waits for the receipt, whose position names the reservation."""
        until = self._until(deadline)
        got: list[pb.Receipt] = []
        with self._monitor:
            self._put(Message("reserve", verbs.reserve_content(what, lifetime, labels), got), deadline)
            self._wait(lambda: bool(got), "reserve", until)
        return got[0]

    def _put(self, message: Message, deadline: float | None) -> None:
        until = self._until(deadline)
        with self._monitor:
            self._wait(lambda: len(self._queue) < self._window, "stream", until, "the window is full, and nothing of "
                       "it was acknowledged within the deadline: this write was not taken", unknown=False)
            self._check("stream")
            self._queue.append(message)
            self._monitor.notify_all()

    def flush(self, *, deadline: float | None = None) -> None:
        """Waits until everything taken so far is written."""
        with self._monitor:
            taken = self._first + len(self._queue)
            self._wait(lambda: self._first >= taken, "flush", self._until(deadline))

    def close(self, *, deadline: float | None = None) -> None:
        """Waits until everything is written, and ends the stream. If the deadline comes first,
        what is not acknowledged stays in the client's lane."""
        until = self._until(deadline)
        with self._monitor:
            self._closing = True
            self._monitor.notify_all()
            if not self._queue and (self._connection is None or not self._connection.live):
                self._stop.set()
            late = not self._monitor.wait_for(lambda: self._finished,
                                              None if until is None else max(0.0, until - time.monotonic()))
        if late:
            self.abandon()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """Ends the stream without waiting for what is not acknowledged."""
        if os.getpid() != self._client._core._pid:
            return  # its threads, which may have had the monitor, are the other process's
        with self._monitor:
            self._stop.set()
            self._hang_up()
            self._monitor.notify_all()
            if threading.current_thread() is not self._thread:
                # Not by join alone: a signal's handler may come here with the monitor held below.
                self._monitor.wait_for(lambda: self._finished)
                self._thread.join()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def __reduce__(self) -> Any:
        raise TypeError("a Stream cannot be copied or stored")

    def __repr__(self) -> str:
        return f"<stream to {self._lane.ledger!r}: {self.acknowledged} acknowledged, {self.outstanding} outstanding>"

    @property
    def outstanding(self) -> int:
        """How many writes wait for an acknowledgement."""
        return len(self._queue)

    @property
    def acknowledged(self) -> int:
        """The last number in the lane that is known to be written."""
        return self._first - 1

    @property
    def error(self) -> AccountantError | None:
        """Why the stream ended, if not by close."""
        return self._error

    def _wait(self, done: Callable[[], bool], op: str, until: float | None,
              late: str = "no acknowledgement within the deadline; the stream goes on", unknown: bool = True) -> None:
        """Waits for a condition that the monitor guards, or raises why it will not come."""
        self._monitor.notify_all()  # an interrupted add may not have come to it
        while not done():
            self._check(op)
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise Unavailable(op, self._lane.ledger, late, code=grpc.StatusCode.DEADLINE_EXCEEDED, unknown=unknown)
            # In slices: a signal's handler that uses the stream just here may take the notice.
            self._monitor.wait(1.0 if left is None else min(left, 1.0))

    def _check(self, op: str) -> None:
        if self._error is not None:
            raise self._error
        self._client._core.check(op, self._lane.ledger)
        if self._closing or self._finished:
            raise Closed(op, self._lane.ledger, "the stream is closed")

    def _until(self, deadline: float | None) -> float | None:
        return self._client._core.until(deadline)

    # The connection

    def _main(self) -> None:
        try:
            self._run()
        except BaseException as e:  # never in silence: others wait for this thread
            with self._monitor:
                self._error = self._internal(e)
            raise
        finally:
            self._finish()

    def _internal(self, e: BaseException) -> AccountantError:
        return AccountantError("stream", self._lane.ledger, f"internal: {e!r}", sequence=self._first,
                               unknown=bool(self._queue))

    def _run(self) -> None:
        """Opens the lane again and again until the stream ends."""
        attempts = failures = 0  # without progress of the queue; without the lane opened
        patience = 1  # time-outs until an answer is overdue: an overloaded daemon must not get everything ever anew
        failure = Failure(grpc.StatusCode.CANCELLED, "the stream was abandoned")
        while True:
            first, connections = self._first, self.connections
            used = self._settings.token_now()
            reason = self._serve(patience)
            late = reason.code is grpc.StatusCode.DEADLINE_EXCEEDED
            patience = min(2 * patience, MOST_PATIENCE) if late else 1
            renewed = self._await_token(reason, used)
            with self._monitor:
                if self._error is not None or self._closing and not self._queue:
                    break
                if self._stop.is_set():
                    if self._queue:
                        self._end(Closed("stream", self._lane.ledger,
                                         f"ended without an acknowledgement; last: {failure.message}",
                                         sequence=self._first))
                    break
                failure = reason
                attempts = 1 if self._first > first or not self._queue else attempts + 1
                opened = self.connections > connections and not self._queue
                failures = 1 if self._first > first or opened else failures + 1
                if not (failure.transient or renewed) or attempts == self._settings.max_attempts:
                    self._end(failure.error("stream", self._lane.ledger, sequence=self._first))
                    break
            if renewed:
                continue
            self._client._core.contact.failed(failure)
            lost = self._client._drive(self._client._core.revive())
            if lost is not None:
                with self._monitor:
                    self._end(lost.error("stream", self._lane.ledger, sequence=self._first))
                break
            self._stop.wait(max(failure.after, self._client._core.pause(failures)))

    def _end(self, error: AccountantError) -> None:
        """Ends the stream by an error, which says whether some of the queue may be written. The lane keeps the queue,
        unless surely nothing of it is written and time cures nothing: then the error has it."""
        error.unknown = self._first <= self._reach
        if not error.unknown and not isinstance(error, (Unavailable, Closed)):
            error.not_written = [m.content for m in self._queue]
            self._queue.clear()
        self._error = error

    def _await_token(self, failure: Failure, used: str) -> bool:
        """Whether a stream that ended with its token has another one, for which it waits if it was open."""
        steps = self._client._core.await_token(failure, used, self.connections > 0)
        try:
            while not self._stop.is_set():
                next(steps)
                self._stop.wait(0.1)
        except StopIteration as end:
            return bool(end.value)
        return False

    def _serve(self, patience: int) -> Failure:
        """Opens the lane once and works until the connection ends."""
        connection, reach = _Connection(patience * self._settings.timeout), self._reach
        connection.due = time.monotonic() + connection.wait
        try:
            with self._monitor:
                if self._stop.is_set():
                    return Failure(grpc.StatusCode.CANCELLED, "the stream was abandoned")
                connection.call = self._client._rpc["ReportStream"](
                    self._requests(connection), metadata=self._settings.metadata)
                self._connection = connection
            for answer in connection.call:
                with self._monitor:
                    self._answer(connection, answer)
                    self._monitor.notify_all()
                    if self._error is not None:
                        break
            return Failure(grpc.StatusCode.UNAVAILABLE, "the daemon ended the stream")
        except _Broken as e:
            return e.failure
        except grpc.RpcError as e:
            if connection.overdue:
                return Failure(grpc.StatusCode.DEADLINE_EXCEEDED,
                               f"the daemon did not answer on the stream within {connection.wait} s")
            failure = failure_of(e)
            if failure.wrote_nothing:  # what the daemon took of this connection before, it has acknowledged
                with self._monitor:
                    connection.halted = True
                    self._reach = max(reach, self._first - 1)
            return failure
        except ValueError as e:  # gRPC's, of a closed channel
            return Failure(grpc.StatusCode.CANCELLED, str(e))
        finally:
            with self._monitor:
                connection.halted, connection.live = True, False
                self._connection = None
                self._monitor.notify_all()
            if connection.call is not None:
                connection.call.cancel()

    def _requests(self, connection: _Connection) -> Iterator[pb.ReportStreamRequest]:
        """What is sent on a connection; gRPC asks for it in a thread of its own."""
        opening = pb.ReportStreamRequest()
        opening.open.ledger, opening.open.writer = self._lane.ledger, self._client.writer
        if self._lane.newest is not None:
            opening.open.last_receipt.CopyFrom(self._lane.newest)
        yield opening
        while True:
            with self._monitor:
                while not connection.halted and not (connection.live and connection.sent < len(self._queue)):
                    if connection.live and self._closing and not self._queue:
                        return
                    self._monitor.wait()
                if connection.halted:
                    return
                message, sequence = self._queue[connection.sent], self._first + connection.sent
                connection.sent += 1
                self._reach = max(self._reach, sequence)
                if connection.sent == 1:
                    connection.due = time.monotonic() + connection.wait
                request = pb.ReportStreamRequest()
                inner = getattr(request, message.kind)
                inner.sequence = sequence
                getattr(inner, message.kind).CopyFrom(message.content)
            yield request

    def _answer(self, connection: _Connection, answer: pb.ReportStreamResponse) -> None:
        kind = answer.WhichOneof("message")
        if kind == "opened" and not connection.live:
            self._resume(connection, answer.opened.last_sequence)
        elif kind == "acknowledged" and connection.live:
            self._acknowledged(connection, answer.acknowledged)
        elif kind == "rejected" and connection.live:
            self._rejected(connection, answer.rejected)
        else:
            raise _internal(f"answer on the stream: {kind}; allowed: opened once, then acknowledged or rejected")

    def _resume(self, connection: _Connection, last: int) -> None:
        """Takes in the last number that the daemon has of this lane."""
        if last < self._first - 1:
            self._error = DataLoss(
                "stream", self._lane.ledger, "the daemon does not have what it acknowledged: "
                f"this writer's last number there is {last}, acknowledged were {self._first - 1}", sequence=self._first,
                unknown=bool(self._queue))
            return
        if last > self._reach:
            raise _internal(f"last number of this writer: {last}; allowed: at most {self._reach}, the last that was "
                            "sent")
        # A reservation whose receipt is waited for is sent again, with all behind it: the
        # daemon answers with the first receipts.
        self._acknowledge(min(last, self._awaited() - 1), None)
        if not self._queue:  # otherwise whether it goes on shows when the queue does
            self._client._core.contact.answered()
        connection.live, connection.due = True, None
        self.connections += 1

    def _awaited(self) -> int:
        """The number of the first message whose receipt is needed; above all numbers if there is none."""
        for i, message in enumerate(self._queue):
            if message.receipt is not None:
                return self._first + i
        return 1 << 64

    def _acknowledge(self, through: int, receipt: pb.Receipt | None) -> None:
        while self._first <= through:
            message = self._queue.popleft()
            last, self._first = self._first == through, self._first + 1
            if message.receipt is not None and receipt is not None and last:
                message.receipt.append(receipt)

    def _acknowledged(self, connection: _Connection, a: pb.ReportStreamResponse.Acknowledged) -> None:
        reach = self._first + connection.sent - 1
        if a.through > reach:
            raise _internal(f"acknowledged: {a.through}; allowed: at most {reach}, the last that was sent")
        if a.through > self._awaited():
            raise _internal(f"acknowledged: {a.through}; allowed: at most {self._awaited()}, a reservation whose "
                            "receipt is due")
        if a.through < self._first:
            return  # known before
        connection.sent -= a.through + 1 - self._first
        self._client._core.contact.answered()
        self._lane.see(a.receipt)
        self._acknowledge(a.through, a.receipt)
        connection.due = time.monotonic() + connection.wait if connection.sent > 0 else None

    def _rejected(self, connection: _Connection, r: pb.ReportStreamResponse.Rejected) -> None:
        reach = self._first + connection.sent - 1
        if not self._first <= r.sequence <= reach or r.code == 0:
            raise _internal(f"rejected: {r.sequence} with code {r.code}; allowed: from {self._first} to {reach}, with "
                            "an error's code")
        failure = Failure(code_of(r.code), r.detail, r.budget_exceeded if r.HasField("budget_exceeded") else None)
        if failure.transient or not failure.wrote_nothing:
            raise _Broken(failure)
        if r.sequence > self._first:
            # What is before it was not acknowledged, though answers come in order. Opening
            # the lane again tells; then the write is refused again.
            raise _Broken(
                Failure(grpc.StatusCode.UNAVAILABLE, f"rejected: {r.sequence}; acknowledged: {self._first - 1}"))
        self._client._core.contact.answered()
        # The daemon drops what was sent behind it: nothing from here on is written.
        self._reach = self._first - 1
        self._error = failure.error("stream", self._lane.ledger, sequence=r.sequence,
                                    not_written=[m.content for m in self._queue])
        self._queue.clear()

    def _watch(self) -> None:
        """Ends a connection on which an answer is overdue."""
        while not self._stop.wait(self._settings.timeout / 8):
            with self._monitor:
                if self._finished:
                    return
                connection = self._connection
                if connection is not None and connection.due is not None and time.monotonic() >= connection.due:
                    connection.overdue = True
                    self._hang_up()

    def _hang_up(self) -> None:
        if self._connection is not None and self._connection.call is not None:
            self._connection.call.cancel()

    def _finish(self) -> None:
        """Leaves what is of unknown outcome in the lane and gives the turn back, so that nobody waits for ever."""
        with self._monitor:
            try:
                self._lane.last = self._first - 1
                for i, message in enumerate(self._queue):
                    method, request = _ALONE[message.kind]
                    sequence = self._first + i
                    lane = pb.Lane(ledger=self._lane.ledger, writer=self._client.writer, sequence=sequence)
                    alone = request(lane=lane, **{message.kind: message.content})
                    self._lane.pending.append(Item(sequence, method, alone, maybe=sequence <= self._reach))
                self._queue.clear()
            except BaseException as e:
                self._error = self._internal(e)
                raise
            finally:
                self._client._streams.discard(self)
                self._lane.streaming = False
                self._lane.turn.release()
                self._finished = True
                self._stop.set()
                self._monitor.notify_all()
