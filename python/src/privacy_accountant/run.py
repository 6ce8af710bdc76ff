# SPDX-License-Identifier: Apache-2.0
"""A training run whose steps are covered before their noise is released."""

from __future__ import annotations

import atexit
import functools
import math
import operator
import os
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypedDict, TypeVar

import grpc

from . import _html
from . import _verbs as verbs
from . import proto as pb
from ._caller import Caller
from ._contact import log
from ._core import Plan
from ._cover import Cover, Kind, Order, Supply
from ._fields import Events, texts
from ._questions import stated
from ._set_verbs import Ledgers
from ._target import target_of
from ._real import DEADLINE, positive
from ._whole import whole
from .batches import dealt_by, refuse_repeats, shuffles
from .errors import (
    AccountantError, BudgetExceeded, Closed, DataLoss, FailedPrecondition, NotSent, PermissionDenied, Unavailable,
)

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

COMMIT_INTERVAL = 2.0  # seconds between commits while steps go on
LEAVE_PATIENCE = 10.0  # seconds that leaving by an exception waits for the daemon
KINDS = 16  # kinds of step for which something is kept set aside


class RunOptions(TypedDict, total=False):
    """The keyword arguments of a Run, which its documentation explains."""

    strict: Literal["each"] | None
    ahead: bool
    chunk: int
    chunk_seconds: float
    lifetime: int
    steps: int | None
    contribution: str | int | None
    labels: Mapping[str, str] | None
    deadline: float | None


class Run:
    """Covers the steps of a training run on a ledger.

        with client.run("team/mnist") as run:
            for batch in batches:
                run.step(mechanism)        # then draw the noise
            print(run.epsilon(1e-5))

    When step returns, the step is durably charged or set aside: only then may its noise be
    released. On a ledger with budgets steps are set aside ahead, by reservations of at most
    `chunk` steps or `chunk_seconds` of them together, whichever is less, asked for in the
    background; steps that were made are merged and committed in the background. What was
    not used is given back at the end; after a crash it is charged when the reservation's
    `lifetime` (whole seconds) is over: at most one chunk too much. While the daemon is away
    training goes on until the chunk is used up, and then waits.

    ledger: a name, or a list of names or a LedgerRange: then each step is charged to all of these
    ledgers or to none, and epsilon is that of a record that is in all of them. A range is looked up
    once, when the run begins.

    contribution: required for several ledgers, and about what a step's sensitivity bounds: "over-all" or
    one of the others that LedgerSet explains.

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

    # How it works. A step takes from what is set aside, under the lock, and waits only where
    # that is not enough. One thread, the worker, does all writing, one write after the other:
    # it looks at what was used and what is left, and does what is missing. So what a write
    # says follows from counts that only grow, and nothing has to be undone when a step is
    # interrupted by Ctrl-C or by a signal's handler that itself uses the run.

    def __init__(
        self, client: Caller, ledger: str | Ledgers, *, strict: Literal["each"] | None = None, ahead: bool = False,
        chunk: int = 100,
        chunk_seconds: float = 10.0, lifetime: int = 86400, steps: int | None = None,
        contribution: str | int | None = None, labels: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> None:
        if strict not in (None, "each"):
            raise ValueError(f'strict: {strict!r}; allowed: "each", or None')
        if strict and ahead:
            raise ValueError('strict="each" and ahead; allowed: one of them')
        self._target, self.steps = target_of(ledger, contribution), 0
        self._client, self._strict, self._ahead = client, strict, ahead
        self._chunk, self._chunk_seconds = whole("chunk", chunk, 1), positive("chunk_seconds", chunk_seconds)
        self._lifetime, self._limit = verbs.seconds(lifetime), None if steps is None else whole("steps", steps)
        self._labels = dict(texts("labels", labels))
        self._deadline = None if deadline is None else positive("deadline", deadline, DEADLINE)
        self._lock = threading.RLock()
        self._monitor = threading.Condition(self._lock)
        self._supplies: dict[bytes, Supply] = {}
        self._books: list[Cover] = []  # the reservations that are open
        self._orders: list[Order] = []  # steps that wait
        self._owed: list[Order] = []  # steps that were told to take what they waited for, and have not woken yet
        self._lost: list[tuple[Cover, int]] = []  # steps made of reservations that somebody else has ended
        self._unpaid: Exception | None = None  # why the ledger does not take those
        self._writer: Caller | None = None
        self._made = 0  # steps of this object, whatever was restored
        self._pace: float | None = None  # seconds a step takes
        self._mark = 0.0, 0  # when so many steps had been done, to tell the pace
        self._last_commit = 0.0
        self._wake = self._hurry = False  # there is something to do; everything is to be committed
        self._begun = self._finished = 0  # passes of the worker
        self._ended = self._stopped = False  # the run was closed; the worker has stopped
        self._error: AccountantError | None = None  # why the worker stopped, if not by close
        self._pid = 0

    @property
    def ledger(self) -> str | list[str]:
        """The ledger's name, or those of several."""
        return self._target.ledger

    # Beginning and end

    def open(self) -> Run:
        """Begins; `with` does it."""
        if self._writer is not None:
            raise Closed("run", self._target.shown, "a run begins once; allowed: a new one")
        self._pid = os.getpid()
        budgets = True
        for name in self._target.names(self._client, self._deadline):
            state = self._client._carry_out(verbs.get_ledger(name), self._deadline)
            if state.closed:
                raise FailedPrecondition("run", name, "the ledger is closed; allowed: an open one")
            budgets = budgets and state.spec.policy in (pb.LedgerSpec.PLAN, pb.LedgerSpec.FILTER)
        self._reserving = budgets and not self._ahead
        self._each = self._strict == "each" or not budgets and not self._ahead
        self._writer = self._client.new_writer()
        self._last_commit = time.monotonic()
        if self._each:
            self._stopped = True
        else:
            threading.Thread(target=self._work, name=f"privacy-accountant {self._target.shown}", daemon=True).start()
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
            raise Closed("close", self._target.shown,
                         "the client was closed before the run; what was made is set aside, and charged when the time "
                         "is over")
        deadline = deadline if deadline is not None else self._deadline
        try:
            with self._lock:
                self._wait(lambda: self._stopped, "close", deadline)
                self._account_for_lost()
        finally:
            self._writer.close()

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
            log.warning("run %s: not ended in order: %s; what is set aside will be charged", self._target.shown, e)

    def __enter__(self) -> Run:
        return self.open()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._leave()

    def __reduce__(self) -> Any:
        raise TypeError("a Run cannot be copied or stored: its writer would be used twice; allowed: state_dict")

    def progress(self) -> dict[str, int]:
        """How many steps were made, and how many more need not wait for the daemon: for a progress bar, such as
        `bar.set_postfix(run.progress())` of tqdm. It asks nobody."""
        with self._lock:
            return {"steps": self.steps, "ahead": sum(s.left for s in self._supplies.values())}

    def __repr__(self) -> str:
        state = "ended" if self._ended else "failed" if self._error is not None else "open"
        state = "not begun" if self._writer is None else state
        return f"<run of {self._target.shown!r}: {self.steps} steps, {state}>"

    def _repr_html_(self) -> str:
        p = self.progress()
        with self._lock:
            waiting = sum(c.used - c.charged for c in self._books)
        rows = [("steps", str(p["steps"])), ("made and not committed yet", str(waiting)),
                ("set aside for the next steps", str(p["ahead"]))]
        whole = max(1, p["steps"] + p["ahead"])
        parts = [((p["steps"] - waiting) / whole, _html.USED), (waiting / whole, _html.HELD),
                 (p["ahead"] / whole, _html.FREE)]
        return _html.card(repr(self)[1:-1], rows, _html.bars([("steps", parts, str(p["steps"]))]))

    # Steps

    def over(self, batches: Iterable[T], mechanism: Events | Kind, count: int = 1) -> Iterable[T]:
        """batches, with a step covered before each is handed out. It has a length if they have one:

            for batch in tqdm(run.over(loader, step)):
                ...                              # draw the noise

        If a RandomAllocation deals the batches (itself, or as a DataLoader's batch_sampler), mechanism is what
        each step runs, such as gaussian(noise_multiplier=1.1), and each epoch is charged at its first step.
        A DataLoader that shuffles gets a warning: its batches are no samples. One that draws with replacement is
        refused: a record would be in a batch several times.
        """
        return _Over(self, batches, mechanism, count)

    def step(self, mechanism: Events | Kind, count: int = 1) -> None:
        """Covers count steps of a mechanism, or of several events each. On return they are
        durably charged or set aside; on an exception none of them is covered."""
        if not self._step(mechanism, count, wait=True):
            raise AssertionError("a step that waits is covered, or raises")

    def try_step(self, mechanism: Events, count: int = 1) -> bool:
        """As step, if it need not wait for the daemon; otherwise False, and nothing is covered."""
        return self._step(mechanism, count, wait=False)

    def _prepare(self, mechanism: Events | Kind, count: int = 1) -> None:
        """Sets count steps aside and takes none of them, or raises why step would. It is for callers that can stop
        between two steps only. Where steps are charged one by one, it asks whether the next would be taken."""
        writer = self._check()
        if self._each:
            events = Kind(mechanism).times(count) if not isinstance(mechanism, Kind) else mechanism.times(count)
            for name in self._target.names(self._client, self._deadline):
                writer._carry_out(verbs.check(name, events, self._labels, str(uuid.uuid4())), self._deadline)
            return
        if self._lost:
            self.flush()
        with self._lock:
            supply = self._supply(mechanism)
            if supply.left < count:
                self._order(supply, count, take=False)

    def _step(self, mechanism: Events | Kind, count: int, wait: bool) -> bool:
        # Called with the caches full of a batch's numbers, when each call of a Python
        # function takes some 20 µs: so there are few on the way of a step that is covered.
        if type(count) is not int or count < 1:
            count = whole("count", count, 1)
        writer = self._check()
        if self._each:
            return wait and self._charge(writer, mechanism, count)
        if self._lost:
            if not wait:
                return False
            self.flush()
        with self._lock:
            supply = self._supply(mechanism)
            if not supply.take(count):
                if not wait:
                    return False
                self._order(supply, count)
            if self._ended:  # by a signal's handler, in the midst of this
                raise Closed("step", self._target.shown, "the run has ended")
            self.steps += count
            self._made += count
            supply.calls += 1
            if supply.left <= supply.low:
                self._wake = True
                self._monitor.notify_all()
        return True

    def _charge(self, writer: Caller, mechanism: Events | Kind, count: int) -> bool:
        """Charges steps on their own, and waits for it."""
        kind = mechanism if isinstance(mechanism, Kind) else Kind(mechanism)
        with writer._core.contact.waiting(self._target.shown):
            writer._carry_out(self._target.report(kind.times(count), self._labels), self._deadline)
        with self._lock:
            self.steps += count
            self._made += count
        return True

    def _check(self) -> Caller:
        writer = self._writer
        ours = not self._ended and os.getpid() == self._pid and self._error is None
        if writer is not None and ours and not writer._core.closed:
            return writer
        if writer is None:
            raise Closed("step", self._target.shown, "the run has not begun; allowed: `with`, or open")
        self._own("step")
        if self._ended:
            raise Closed("step", self._target.shown, "the run has ended")
        writer._core.check("step", self._target.shown)
        raise self._error or AssertionError("a run that goes on is refused")

    def _own(self, op: str) -> None:
        if os.getpid() != self._pid:
            raise Closed(op, self._target.shown,
                         "this run belongs to the process that began it; allowed: a run of this process's own")

    def wrap(self, function: F, mechanism: Events, count: int = 1) -> F:
        """function, with each call covered before it runs: for JAX and plain loops.

            update = run.wrap(jax.jit(update), mechanism)

        Wrap what jit returns, not what it is given: a function that is being traced runs
        once for many executions, so a call with traced arguments is refused.
        """

        kind, count = Kind(mechanism), whole("count", count, 1)

        @functools.wraps(function)
        def covered(*args: Any, **kwargs: Any) -> Any:
            _refuse_tracing((args, kwargs))
            self.step(kind, count)
            return function(*args, **kwargs)

        return covered  # type: ignore[return-value]

    def _supply(self, what: Events | Kind) -> Supply:
        if not isinstance(what, (Kind, pb.Mechanism)):
            what = Kind(what)
        key = what.key if isinstance(what, Kind) else what.SerializeToString()
        supply = self._supplies.get(key)
        if supply is None:
            supply = self._supplies[key] = Supply(what if isinstance(what, Kind) else Kind(what))
        return supply

    def _order(self, supply: Supply, count: int, take: bool = True) -> None:
        """Has the worker set more aside until count can be taken, and takes it; or raises why it cannot."""
        until = None if self._deadline is None else time.monotonic() + self._deadline
        supply.most = None
        while not (supply.take(count) if take else supply.left >= count):
            self._supplies.setdefault(supply.kind.key, supply)  # a kind that seemed out of use is dropped
            order = Order(supply, count)
            self._orders.append(order)
            try:
                with self._client._core.contact.waiting(self._target.shown):
                    self._wait(lambda: order.answered or self._ended, "step",
                               None if until is None else until - time.monotonic())
            finally:
                self._owed = [o for o in self._owed if o is not order]
            if order.error is not None:
                raise order.error
            if self._ended:
                raise Closed("step", self._target.shown, "the run has ended")

    def _wait(self, done: Callable[[], bool], op: str, seconds: float | None) -> None:
        """Wakes the worker and waits for what it is to do; the lock is held."""
        until = None if seconds is None else time.monotonic() + seconds
        self._wake = True
        self._monitor.notify_all()
        while True:
            if self._error is not None:
                raise self._error
            if done():
                return
            left = math.inf if until is None else until - time.monotonic()
            if left <= 0:
                raise Unavailable(op, self._target.shown, "no acknowledgement within the deadline; the run goes on",
                                  code=grpc.StatusCode.DEADLINE_EXCEEDED, unknown=True)
            # In slices: a signal's handler that uses the run just here may take the notice.
            self._monitor.wait(min(left, 1.0))

    # Questions

    def flush(self, *, deadline: float | None = None) -> None:
        """Waits until every step made so far is charged."""
        self._check()
        with self._lock:
            self._commit(deadline)
            if self._lost:  # found out just now
                self._commit(deadline)
            self._account_for_lost()

    def _commit(self, deadline: float | None) -> None:
        """Has the worker commit what was used, and waits for a whole pass that began after now."""
        mine = self._begun + 1
        self._hurry = True
        self._wait(lambda: self._finished >= mine or self._stopped, "flush",
                   deadline if deadline is not None else self._deadline)

    def _account_for_lost(self) -> None:
        if self._lost:
            raise FailedPrecondition(
                "run", self._target.shown,
                "steps were made and are charged nowhere (not_written): the reservation that covered them was released "
                "or used "
                f"by somebody else, and the ledger does not take them: {self._unpaid}",
                not_written=[pb.Charge(events=cover.supply.kind.times(used), labels=self._labels)
                             for cover, used in self._lost])

    def epsilon(self, delta: float) -> float:
        """ε of the ledger at delta under its guarantee, with every step made so far. Of several ledgers it is that
        of a record that is in all of them."""
        return stated(self._target.whole(self.query(delta=delta)), "epsilon")

    def query(self, *, delta: float | None = None, epsilon: float | None = None,
              max_gap: float | None = None) -> Any:
        """As Client.query of the ledger, or LedgerSet.query of several, with every step made so far."""
        self.flush()
        return self._check()._carry_out(self._target.query(delta, epsilon, max_gap), self._deadline)

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint: the ledger and the number of steps, all of them charged. It has
        neither writer nor sequence: what is run again after a restore is charged again."""
        steps = self.steps  # before: other threads may go on
        self.flush()
        return {"ledger": self.ledger, "steps": steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on counting from a checkpoint's steps; nothing of the ledger changes."""
        if state["ledger"] != self.ledger:
            raise ValueError(f"state: of ledger {state['ledger']}; allowed: of {self.ledger}, where its steps are "
                             "charged")
        self.steps = whole("steps", state["steps"])

    # The worker: it writes without the lock, and takes the lock to look and to note

    def _work(self) -> None:
        try:
            while self._pass():
                pass
        except AccountantError as e:
            self._error = e
        except BaseException as e:  # never in silence: others wait for this thread
            self._error = AccountantError("run", self._target.shown, f"internal: {e!r}", unknown=True)
            raise
        finally:
            with self._lock:
                self._stopped = True
                self._monitor.notify_all()

    def _pass(self) -> bool:
        """Does all that is to do, in order, then waits for more. It answers whether the run goes on."""
        assert self._writer is not None
        self._writer._core.check("run", self._target.shown)
        with self._lock:
            self._begun += 1
            ended, asked = self._ended, self._hurry or self._ended
            self._wake = self._hurry = False
            now, hurry = time.monotonic(), asked
            if now - self._last_commit >= COMMIT_INTERVAL:
                self._last_commit, hurry = now, True
            for cover in list(self._books):
                if ended or now > cover.use_by:
                    cover.retire()
            supplies = list({o.supply: None for o in self._orders} | dict.fromkeys(self._supplies.values()))
        for loss in list(self._lost) if asked else []:
            self._recover(*loss)
        for supply in supplies:
            self._replenish(supply)
        for cover in list(self._books):
            if hurry or cover.retired or not cover.left:
                self._settle(cover)
            if self._orders and not hurry and len(self._books) <= KINDS:
                break  # who waits goes first
        with self._lock:
            self._finished = self._begun
            self._monitor.notify_all()
            if ended:
                return False
            if not self._wake:
                self._monitor.wait(COMMIT_INTERVAL)
        return True

    def _write(self, plan: Plan[Any]) -> Any:
        """Sends until the outcome is known. A refusal wrote nothing; everything else ends the run."""
        assert self._writer is not None
        return self._writer._carry_out(plan, math.inf)

    def _settle(self, cover: Cover) -> None:
        """Charges what was used of a reservation, and gives back the rest if it is retired."""
        with self._lock:
            if not cover.left:
                cover.retire()
            used, rest, retired = cover.used - cover.charged, cover.left, cover.retired
        if used:
            try:
                self._write(
                    self._target.commit(cover.position, cover.supply.kind.times(used), self._labels))
            except AccountantError as e:
                self._lose(cover, _refusal(e))
                return
            cover.charged += used
        if not retired:
            return
        if rest:
            try:
                self._write(self._target.release(cover.position, "not used"))
            except AccountantError as e:
                log.warning("run %s: what was not used could not be given back: %s", self._target.shown, _refusal(e))
        self._books.remove(cover)

    def _lose(self, cover: Cover, refusal: Exception) -> None:
        """Remembers the steps of a reservation that somebody else has ended."""
        log.warning("run %s: reservation %s is not open any more: %s", self._target.shown,
                    getattr(cover.position, "position", cover.position), refusal)
        with self._lock:
            cover.retire()
            self._books.remove(cover)
            self._lost.append((cover, cover.used - cover.charged))  # with those since the commit was sent

    def _recover(self, cover: Cover, used: int) -> None:
        """Charges such steps, unless their reservation was charged when it ended."""
        try:
            missing = [name for name, at in self._target.places(cover.position) if not self._charged(name, at)]
            if missing:
                self._write(self._target.report_to(missing, cover.supply.kind.times(used), self._labels))
        except AccountantError as e:
            self._unpaid = _refusal(e)
        else:
            self._lost.remove((cover, used))

    def _charged(self, ledger: str, position: int) -> bool:
        """Whether all that this run left of a ledger's reservation was charged, by time or by closing the ledger."""
        writer = self._writer
        assert writer is not None
        for e in writer._pages(lambda token: verbs.list_entries(ledger, token, {"start_position": position + 1}),
                               math.inf):
            action = e.WhichOneof("action")
            if action == "close":
                return True
            ends = action in ("commit", "release", "expire")
            if ends and getattr(e, action).reservation == position and e.writer != writer.writer:
                return bool(action == "expire")
        return False

    def _replenish(self, supply: Supply) -> None:
        """Sets aside what is wanted of a kind, or as much of it as the budget allows."""
        charge = not self._reserving
        while True:
            with self._lock:
                n, least = self._wanted(supply)
                if n <= 0:
                    self._answer(supply, None)
                    return
                given_back = self._make_room(supply, n)
            for cover in [*given_back, *supply.covers]:
                if cover.position:
                    self._settle(cover)  # first: never is more than a chunk set aside that is not used
            use_by = time.monotonic() + self._lifetime / 2  # from before it is asked for: the daemon takes it later
            try:
                events = supply.kind.times(n)
                if charge:
                    self._write(self._target.report(events, self._labels))
                    cover = Cover(supply, 0, n, math.inf)
                else:
                    receipt = self._write(
                        self._target.reserve(events, self._lifetime, self._labels)).receipt
                    cover = Cover(supply, self._target.reservation(receipt), n, use_by)
            except (AccountantError, ValueError) as e:
                if isinstance(_refusal(e), PermissionDenied) and n <= least and not charge:
                    charge = True  # it may not be set aside, but it may be charged
                else:
                    self._refused(supply, n, least, e)
                continue
            with self._lock:
                if not self._made:
                    self._mark = time.monotonic(), 0
                supply.covers = [c for c in supply.covers if c.left] + [cover]
                if cover.position:
                    self._books.append(cover)
                waited = self._answer(supply, None)
                if supply.most is not None:
                    supply.most = None if waited else 0
            return

    def _wanted(self, supply: Supply) -> tuple[int, int]:
        """How many steps to ask for, and with how few of them one that waits would go on (0: none waits).

        Few, until the kind came again and it is known how long steps take; then up to a chunk,
        which the kinds in use share.
        """
        waiting = [o.missing for o in self._orders if o.supply is supply]
        left, calls = supply.left, supply.calls
        ahead_is_enough = calls < 2 or left > supply.low or supply.most == 0
        if self._ended or min(waiting, default=1) <= 0 or not waiting and ahead_is_enough:
            return 0, 0  # a kind that came for the first time may not come again
        now, done = time.monotonic(), self._made - 1  # the last has only begun
        if done > self._mark[1]:
            pace = (now - self._mark[0]) / (done - self._mark[1])
            self._pace = pace if self._pace is None else min(pace, 2 * self._pace + 1e-4)  # a pause is not a step
            self._mark = now, done
        target = 1 if self._made else min(2, self._chunk)
        if self._pace is not None and calls:
            target = max(1, min(self._chunk, int(self._chunk_seconds / self._pace)) // max(1, len(self._supplies)))
        supply.low = target // 2
        want = max(target - left, sum(waiting))
        if self._limit is not None:
            want = min(want, self._limit - self._made - sum(s.left for s in self._supplies.values()))
        if supply.most is not None:
            want = min(want, supply.most)
        least = min(waiting, default=0)
        return max(want, least), least

    def _make_room(self, supply: Supply, n: int) -> list[Cover]:
        """Where all kinds together would have more than a chunk, retires what the others hold, unless somebody waits
        for it."""
        out: list[Cover] = []
        if sum(s.left for s in self._supplies.values()) + n <= self._chunk and len(self._supplies) <= KINDS:
            return out
        needed = {supply, *(o.supply for o in self._orders), *(o.supply for o in self._owed)}
        for key, other in list(self._supplies.items()):
            if other not in needed:
                out += [c for c in other.covers if c.position]
                for cover in list(other.covers):
                    cover.retire()
                if not other.covers:
                    del self._supplies[key]
        return out

    def _refused(self, supply: Supply, n: int, least: int, error: Exception) -> None:
        """Lowers what is asked for next, or tells those who wait that they have to do without."""
        with self._lock:
            if isinstance(error, PermissionDenied):  # more than half of the whole budget is for its creator
                self._chunk = min(self._chunk, max(1, n // 2))
            if n <= least or not isinstance(error, (BudgetExceeded, PermissionDenied)):
                self._answer(supply, error)
                supply.most = 0
                return
            fits = supply.fitting(error) if isinstance(error, BudgetExceeded) else n
            supply.most = fits if fits < n else n // 2

    def _answer(self, supply: Supply, error: Exception | None) -> bool:
        """Wakes those who wait for a kind: they take, order again, or raise. It answers whether there were any."""
        mine = [o for o in self._orders if o.supply is supply]
        self._orders = [o for o in self._orders if o.supply is not supply]
        for order in mine:
            order.answered, order.error = True, error
        self._owed += mine
        self._monitor.notify_all()
        return bool(mine)


def _covering(run: Run, batches: Any, mechanism: Events | Kind, count: int = 1) -> tuple[
        Callable[[], None], Callable[[], None]]:
    """Two functions for a loop over batches: one covers a step, the other prepares the next, as Run._prepare does."""
    count = whole("count", count, 1)
    kind = mechanism if isinstance(mechanism, Kind) else Kind(mechanism)
    dealer = dealt_by(batches)
    if dealer is not None and (len(kind.per_step) != 1 or kind.per_step[0].count != 1 or count != 1):
        raise ValueError("mechanism: several for each step; allowed: one, on each batch of a RandomAllocation")
    refuse_repeats(batches)
    if dealer is not None:
        runs = kind.per_step[0].mechanism
        return functools.partial(dealer.cover, run, runs), functools.partial(dealer._prepare, run, runs)
    if shuffles(batches):
        warn_of_shuffling(kind.per_step)
    return functools.partial(run.step, kind, count), functools.partial(run._prepare, kind, count)


class _Over(Iterable[T]):
    """Run.over."""

    def __init__(self, run: Run, batches: Iterable[T], mechanism: Events | Kind, count: int) -> None:
        self._batches = batches
        self._cover, _ = _covering(run, batches, mechanism, count)

    def __iter__(self) -> Iterator[T]:
        for batch in self._batches:
            self._cover()
            yield batch

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]

    def __length_hint__(self) -> int:
        return operator.length_hint(self._batches)


def warn_of_shuffling(events: Iterable[pb.Event]) -> None:
    """Says of a loader that shuffles what is not counted for it, or that these events claim too little."""
    sampled = [kind for kind in (str(e.mechanism.WhichOneof("kind")) for e in events)
               if kind in ("poisson_sampled", "truncated_poisson_sampled", "fixed_size_sampled", "dp_sgd")]
    text = ("no gain from the random order is counted, since none worth having is proven" if not sampled else
            f"these are not the samples of {sampled[0]}, whose ε is too small for them")
    warnings.warn(f"the DataLoader shuffles the data and cuts it into batches: {text}; allowed for amplification: "
                  "privacy_accountant.batches.RandomAllocation as its batch_sampler, or Poisson samples", UserWarning,
                  stacklevel=5)


def _refusal(error: Exception) -> Exception:
    """error, if it says that nothing was written and that the run can go on; otherwise it is raised."""
    if isinstance(error, AccountantError) and (
            error.unknown or isinstance(error, (Closed, DataLoss, NotSent, Unavailable))):
        raise error
    return error


def _refuse_tracing(arguments: Any) -> None:
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(arguments)):
        raise TypeError("wrap: called while JAX traces it: it would be charged once for many executions; allowed: "
                        "run.wrap(jax.jit(f), …)")
