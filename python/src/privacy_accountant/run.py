"""A training run whose steps are covered before their noise is released."""

from __future__ import annotations

import atexit
import functools
import math
import os
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from . import proto as pb
from ._contact import log
from ._cover import Cover, Kind, Supply
from ._stream import Message, Stream
from .client import Client
from .errors import AccountantError, BudgetExceeded, Closed, FailedPrecondition, OutOfRange, PermissionDenied
from .mechanisms import Events

F = TypeVar("F", bound=Callable[..., Any])

COMMIT_INTERVAL = 2.0  # seconds between commits while steps go on
LEAVE_PATIENCE = 10.0  # seconds that leaving by an exception waits for the daemon


class Run:
    """Covers the steps of a training run on a ledger.

        with client.run("team/mnist") as run:
            for batch in batches:
                run.step(mechanism)        # then draw the noise
            print(run.epsilon(1e-5))

    When step returns, the step is durably charged or set aside: only then may its noise be
    released. On a ledger with budgets steps are set aside ahead, by reservations of at most
    `chunk` steps or `chunk_seconds` of them together, whichever is less, asked for in the
    background; steps that were made are merged and committed in the background over one
    stream. What was not used is given back at the end; after a crash it is charged when the
    reservation's `lifetime` (whole seconds) is over: at most one chunk too much. While the
    daemon is away training goes on until the chunk is used up, and then waits.

    A ledger without budgets (DESCRIPTIVE) knows no reservations, so each step is one
    synchronous call, as with strict="each" everywhere. ahead=True charges chunks ahead
    instead: as fast as reservations, but what is left of the chunk at the end stays charged;
    give `steps`, the number that will be made, and nothing is charged beyond it.

    If the budget refuses, step raises BudgetExceeded; the last step that fits was charged.
    An exception out of step means that the step is not covered: do not release its noise.
    deadline: seconds that step, flush and a query wait for the daemon; None: no bound.

    A Run is a writer of its own, made anew in each process: steps that are run again after a
    checkpoint was restored are new releases and charged again. state_dict has the number of
    steps only, after everything was flushed.
    """

    def __init__(
        self, client: Client, ledger: str, *, strict: Literal["each"] | None = None, ahead: bool = False, chunk: int = 100,
        chunk_seconds: float = 10.0, lifetime: int = 86400, steps: int | None = None, labels: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> None:
        if strict not in (None, "each"):
            raise ValueError(f'strict: {strict!r}; allowed: "each", or None')
        if strict and ahead:
            raise ValueError('strict="each" and ahead; allowed: one of them')
        if chunk < 1 or chunk_seconds <= 0:
            raise ValueError(f"chunk, chunk_seconds: {chunk}, {chunk_seconds}; allowed: positive numbers")
        if not 1 <= lifetime <= 366 * 86400 or lifetime != int(lifetime):
            raise ValueError(f"lifetime: {lifetime}; allowed: whole seconds, 1 to 31622400 (366 days)")
        self.ledger, self.steps = ledger, 0
        self._client, self._strict, self._ahead = client, strict, ahead
        self._chunk, self._chunk_seconds, self._lifetime = chunk, chunk_seconds, int(lifetime)
        self._limit, self._labels, self._deadline = steps, dict(labels or {}), deadline
        self._lock = threading.RLock()
        self._monitor = threading.Condition(self._lock)
        self._supplies: dict[bytes, Supply] = {}  # by mechanism, the latest last
        self._lost: dict[str, tuple[int, pb.Charge]] = {}  # of reservations that ended; by the key under which to charge it
        self._writer: Client | None = None
        self._stream: Stream | None = None
        self._made = 0  # steps of this object, whatever was restored
        self._interval: float | None = None  # seconds a step takes
        self._last_step = self._last_commit = 0.0
        self._ended = False
        self._pid = 0

    # Beginning and end

    def open(self) -> Run:
        """Begins; `with` does it."""
        if self._writer is not None:
            raise Closed("run", self.ledger, "a run begins once; allowed: a new one")
        self._pid = os.getpid()
        state = self._client.get_ledger(self.ledger, deadline=self._deadline)
        if state.closed:
            raise FailedPrecondition("run", self.ledger, "the ledger is closed; allowed: an open one")
        budgets = state.spec.policy in (pb.LedgerSpec.PLAN, pb.LedgerSpec.FILTER)
        self._reserving = budgets and not self._ahead
        self._each = self._strict == "each" or not budgets and not self._ahead
        self._writer = self._client.new_writer()
        if not self._each:
            self._stream = self._writer._open(self.ledger, self._monitor, sys.maxsize, self._deadline)
        atexit.register(self._leave)
        return self

    def close(self, *, deadline: float | None = None) -> None:
        """Charges what was made, gives back the rest, and ends the run once that is durable."""
        if self._writer is None or self._ended:
            return
        self._own("close")
        self._ended = True
        atexit.unregister(self._leave)
        if self._writer._core.closed:
            raise Closed("close", self.ledger, "the client was closed before the run; what was made is set aside, and charged when the time is over")
        deadline = deadline if deadline is not None else self._deadline
        try:
            if self._stream is not None:
                try:
                    self._give_back(self._stream, deadline)
                finally:
                    self._settle_lost(deadline)
        finally:
            if self._stream is not None:
                self._stream.abandon()
            self._writer.close()

    def _give_back(self, stream: Stream, deadline: float | None) -> None:
        with self._monitor:
            for supply in self._supplies.values():
                self._drop(supply)
            stream.wait(lambda: not stream.outstanding, "close", self._until(deadline))  # what is granted meanwhile is given back, too
        stream.close(deadline=deadline)

    @property
    def ended(self) -> bool:
        """Whether close was called, or the `with` block left."""
        return self._ended

    def _leave(self) -> None:
        """Ends the run where nobody can be told any more that it failed."""
        if os.getpid() != self._pid:
            return
        try:
            self.close(deadline=LEAVE_PATIENCE if self._deadline is None else min(LEAVE_PATIENCE, self._deadline))
        except AccountantError as e:
            log.warning("run %s: not ended in order: %s; what is set aside will be charged", self.ledger, e)

    def __enter__(self) -> Run:
        return self.open()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._leave()

    def __reduce__(self) -> Any:
        raise TypeError("a Run cannot be copied or stored: its writer would be used twice; allowed: state_dict")

    # Steps

    def step(self, mechanism: Events | Kind, count: int = 1) -> None:
        """Covers count steps of a mechanism, or of several events each. On return they are
        durably charged or set aside; on an exception none of them is covered."""
        if not self._step(mechanism, count, wait=True):
            raise AssertionError("a step that waits is covered, or raises")

    def try_step(self, mechanism: Events, count: int = 1) -> bool:
        """As step, if it need not wait for the daemon; otherwise False, and nothing is covered."""
        return self._step(mechanism, count, wait=False)

    def _step(self, mechanism: Events | Kind, count: int, wait: bool) -> bool:
        # Called with the caches full of a batch's numbers, when each call of a Python
        # function takes some 20 µs: so there are few on the way of a step that is covered.
        if count < 1 or count != int(count):
            raise ValueError(f"count: {count}; allowed: a positive whole number")
        writer = self._check()
        if self._each:
            if wait:
                with writer._core.contact.waiting(self.ledger):
                    writer.report(self.ledger, _times(_per_step(mechanism), count), labels=self._labels, deadline=self._deadline)
                with self._lock:
                    self.steps += count
                    self._made += count
            return wait
        if self._lost:
            if not wait:
                return False
            self._settle_lost(self._deadline)
        with self._lock:
            now = time.monotonic()
            supply = self._supply(mechanism)
            if self._reserving and supply.covers and now > supply.covers[0].use_by:
                self._drop(supply)  # so old that the daemon may soon charge it
            if not supply.take(count):
                if not wait:
                    return False
                self._fetch(supply, count)
                supply.take(count)
            if self._ended:  # by a signal's handler, in the midst of this
                raise Closed("step", self.ledger, "the run has ended")
            self.steps += count
            self._made += count
            self._upkeep(supply, now)
        return True

    def _check(self) -> Client:
        writer, stream = self._writer, self._stream
        if (writer is not None and not self._ended and os.getpid() == self._pid and not writer._core.closed
                and (stream is None or stream._error is None)):
            return writer
        if writer is None:
            raise Closed("step", self.ledger, "the run has not begun; allowed: `with`, or open")
        self._own("step")
        if self._ended:
            raise Closed("step", self.ledger, "the run has ended")
        writer._core.check("step", self.ledger)
        if stream is not None and stream.error is not None:
            raise stream.error
        return writer

    def _own(self, op: str) -> None:
        if os.getpid() != self._pid:
            raise Closed(op, self.ledger, "this run belongs to the process that began it; allowed: a run of this process's own")

    def wrap(self, function: F, mechanism: Events, count: int = 1) -> F:
        """function, with each call covered before it runs: for JAX and plain loops.

            update = run.wrap(jax.jit(update), mechanism)

        Wrap what jit returns, not what it is given: a function that is being traced runs
        once for many executions, so a call with traced arguments is refused.
        """

        kind = Kind(mechanism)

        @functools.wraps(function)
        def covered(*args: Any, **kwargs: Any) -> Any:
            _refuse_tracing((args, kwargs))
            self.step(kind, count)
            return function(*args, **kwargs)

        return covered  # type: ignore[return-value]

    # Questions

    def flush(self, *, deadline: float | None = None) -> None:
        """Waits until every step made so far is charged."""
        self._check()
        self._flush(deadline)

    def _flush(self, deadline: float | None) -> None:
        if self._stream is None:
            return
        deadline = deadline if deadline is not None else self._deadline
        while True:
            with self._monitor:
                for supply in self._supplies.values():
                    self._commit(supply)
            self._stream.flush(deadline=deadline)
            if not self._lost:
                return
            self._settle_lost(deadline)

    def epsilon(self, delta: float) -> float:
        """ε of the ledger at delta under its guarantee, with every step made so far."""
        self.flush()
        return self._check().epsilon(self.ledger, delta, deadline=self._deadline)

    def query(self, **question: Any) -> pb.QueryPrivacyResponse:
        """As Client.query of the ledger, with every step made so far."""
        self.flush()
        return self._check().query(self.ledger, deadline=self._deadline, **question)

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint: the ledger and the number of steps, all of them charged. It has
        neither writer nor sequence: what is run again after a restore is charged again."""
        steps = self.steps  # before: other threads may go on
        self.flush()
        return {"ledger": self.ledger, "steps": steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on counting from a checkpoint's steps; nothing of the ledger changes."""
        if state["ledger"] != self.ledger:
            raise ValueError(f"state: of ledger {state['ledger']}; allowed: of {self.ledger}, where its steps are charged")
        self.steps = int(state["steps"])

    # Supply: the monitor is held

    def _supply(self, what: Events | Kind) -> Supply:
        if not isinstance(what, (Kind, pb.Mechanism)):
            what = Kind(what)
        key = what.key if isinstance(what, Kind) else what.SerializeToString()
        supply = self._supplies.get(key)
        if supply is None:
            supply = self._supplies[key] = Supply(_per_step(what))
        elif len(self._supplies) > 1:
            self._supplies[key] = self._supplies.pop(key)
        return supply

    def _fetch(self, supply: Supply, need: int) -> None:
        """Waits until the supply has what is needed, or raises why it cannot."""
        assert self._stream is not None
        until = self._until(self._deadline)
        supply.refusal, want, charge = None, 0, False
        supply.waiting += 1
        try:
            while (missing := need - supply.left) > 0:
                if supply.asked:
                    with self._client._core.contact.waiting(self.ledger):
                        self._stream.wait(lambda: not supply.asked, "step", until)
                    continue
                refusal, supply.refusal = supply.refusal, None
                if self._ended:
                    raise Closed("step", self.ledger, "the run has ended")
                if refusal is None:
                    want = max(missing, self._wanted(supply))
                elif isinstance(refusal, BudgetExceeded) and want > missing:
                    fits = supply.fitting(refusal)  # of each mechanism alone
                    want = max(missing, fits if fits < want else want // 2)
                elif isinstance(refusal, PermissionDenied) and self._reserving and not charge:
                    charge = want <= missing  # it may not be set aside, but it may be charged
                    want = max(missing, want // 2)
                else:
                    raise refusal
                self._ask(supply, want, waited=True, charge=charge)
        finally:
            supply.waiting -= 1

    def _upkeep(self, supply: Supply, now: float) -> None:
        """Commits what is due, and asks for more before the supply runs out."""
        if self._last_step:
            interval = now - self._last_step
            self._interval = interval if self._interval is None else min(0.8 * self._interval + 0.2 * interval, 1.5 * self._interval + 1e-4)
        self._last_step = now
        supply.uses += 1
        if now - self._last_commit >= COMMIT_INTERVAL:
            self._last_commit = now
            for other in self._supplies.values():
                self._commit(other)
        # A mechanism that comes for the first time may not come again.
        if supply.uses > 1 and not supply.asked and not supply.exhausted and supply.left <= supply.target // 3:
            want = self._wanted(supply)
            if want > 0:
                self._commit(supply)
                if len(self._supplies) == 1:
                    self._last_commit = now
                self._ask(supply, want, waited=False)

    def _wanted(self, supply: Supply) -> int:
        """How many more to set aside: few, until the mechanism came again and it is known how
        long steps take; then up to a chunk, which the mechanisms in use share."""
        supply.target = 1 if self._made else min(2, self._chunk)
        if self._interval and supply.uses:
            most = min(self._chunk, int(self._chunk_seconds / self._interval))
            supply.target = max(1, most // len(self._supplies))
        want = supply.target - supply.left
        if self._limit is not None:
            want = min(want, self._limit - self._made - sum(s.left + s.asked for s in self._supplies.values()))
        return want

    def _ask(self, supply: Supply, n: int, waited: bool, charge: bool = False) -> None:
        """Asks for n more, set aside unless they are to be charged, and gives back what others hold beyond one chunk in all, unless
        somebody waits for it."""
        assert self._stream is not None
        for key, other in list(self._supplies.items()):
            if sum(s.left + s.asked for s in self._supplies.values()) + n <= self._chunk and len(self._supplies) <= 16:
                break
            if other is not supply and not other.waiting:
                self._drop(other)
                if not other.asked and not other.covers:
                    self._supplies.pop(key, None)
        # Counted from before it is asked for: the daemon takes it later.
        use_by = time.monotonic() + self._lifetime / 2
        try:
            supply.asked, supply.dropped = n, False
            content = _times(supply.per_step, n)
            if self._reserving and not charge:
                message = Message("reserve", pb.Reserve(events=content, labels=self._labels, lifetime_seconds=self._lifetime), needs_receipt=True)
            else:
                message = Message("charge", pb.Charge(events=content, labels=self._labels))
            message.acknowledged = functools.partial(self._granted, supply, n, use_by, waited, message.needs_receipt)
            message.refused = functools.partial(self._refused, supply, n, waited)
            self._stream.add(message)
        except BaseException:
            supply.asked = 0  # nobody waits for an answer that may not come
            raise

    def _granted(self, supply: Supply, n: int, use_by: float, waited: bool, reserved: bool, receipt: pb.Receipt | None) -> None:
        position = receipt.position if receipt is not None and reserved else 0
        supply.covers.append(Cover(position, n, use_by if position else math.inf))
        supply.asked = 0
        supply.exhausted = supply.exhausted and not waited
        if supply.dropped:
            self._drop(supply)

    def _refused(self, supply: Supply, n: int, waited: bool, error: AccountantError) -> None:
        supply.asked = 0
        too_much = isinstance(error, PermissionDenied)  # more than half of the whole budget is for its creator
        if too_much:
            self._chunk = min(self._chunk, max(1, n // 2))
        if waited:
            supply.refusal = error
            return
        supply.exhausted = not too_much  # until somebody waits for more
        fits = n // 2 if too_much else supply.fitting(error)
        if 0 < fits < n and not supply.dropped:
            self._ask(supply, fits, waited=False)

    def _commit(self, supply: Supply) -> None:
        """Charges what was used."""
        for cover in list(supply.covers):
            used = cover.used
            if used > 0 and cover.position:
                assert self._stream is not None
                lost = functools.partial(self._commit_refused, supply, cover, used)
                self._stream.add(Message("commit", pb.Commit(
                    events=_times(supply.per_step, used), labels=self._labels, reservation=cover.position), refused=lost))
            cover.used -= used  # last: what interrupts this may charge steps twice, but forgets none
            if not cover.left:
                supply.forget(cover)

    def _drop(self, supply: Supply) -> None:
        """Charges what was used and gives back the rest, also of what is still asked for."""
        assert self._stream is not None
        supply.dropped = bool(supply.asked)
        self._commit(supply)
        # First: nothing is used of what is given back. What was charged ahead stays charged, and stays of use.
        covers, supply.covers = supply.covers, deque(c for c in supply.covers if not c.position)
        for cover in covers:
            if cover.position:
                self._stream.add(Message("release", pb.Release(reservation=cover.position, reason="not used"), refused=self._release_refused))

    def _release_refused(self, error: AccountantError) -> None:
        log.warning("run %s: what was not used could not be given back: %s", self.ledger, error)

    def _commit_refused(self, supply: Supply, cover: Cover, used: int, error: AccountantError) -> None:
        log.warning("run %s: reservation %d is not open any more: %s", self.ledger, cover.position, error)
        used += cover.used  # since that commit was sent
        cover.left = cover.used = 0
        supply.forget(cover)
        if used > 0:
            self._lost[str(uuid.uuid4())] = cover.position, pb.Charge(events=_times(supply.per_step, used), labels=self._labels)

    def _settle_lost(self, deadline: float | None) -> None:
        """Sees to steps whose commit was refused: they are charged now, each under a key of its
        own, however often this is tried, unless their reservation was charged when it ended."""
        writer = self._writer
        assert writer is not None
        refused, reason = [], None
        for key, (position, charge) in list(self._lost.items()):
            if not self._charged(writer, position, deadline):
                try:
                    writer.report(self.ledger, charge.events, labels=charge.labels, request_id=key, deadline=deadline)
                except (BudgetExceeded, FailedPrecondition, OutOfRange) as e:
                    refused.append(charge)
                    reason = e
                    continue
            self._lost.pop(key, None)
        if reason is not None:
            raise FailedPrecondition(
                "run", self.ledger, "steps were made and are charged nowhere (not_written): the reservation that covered them was released or used "
                f"by somebody else, and the ledger does not take them: {reason.message}", not_written=refused) from reason

    def _charged(self, writer: Client, position: int, deadline: float | None) -> bool:
        """Whether all that this run left of a reservation was charged, by time or by closing the ledger."""
        for e in writer.entries(self.ledger, start_position=position + 1, deadline=deadline):
            action = e.WhichOneof("action")
            if action == "close":
                return True
            if action in ("commit", "release", "expire") and getattr(e, action).reservation == position and e.writer != writer.writer:
                return bool(action == "expire")
        return False

    def _until(self, deadline: float | None) -> float | None:
        return None if deadline is None else time.monotonic() + deadline


def _per_step(what: Events | Kind) -> list[pb.Event]:
    return what.per_step if isinstance(what, Kind) else Kind(what).per_step


def _times(per_step: list[pb.Event], n: int) -> list[pb.Event]:
    if n == 1:
        return per_step
    return [pb.Event(mechanism=e.mechanism, count=e.count * n) for e in per_step]


def _refuse_tracing(arguments: Any) -> None:
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(arguments)):
        raise TypeError("wrap: called while JAX traces it: it would be charged once for many executions; allowed: run.wrap(jax.jit(f), …)")
