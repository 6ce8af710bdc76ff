# SPDX-License-Identifier: Apache-2.0
"""The same client for asyncio."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import grpc.aio

from . import _guards as guards
from . import _set_verbs as set_verbs
from . import _verbs as verbs
from . import proto as pb
from ._backup import Receiver
from ._contact import Contact
from ._core import Call, Core, Lane, Plan, Revive, Steps
from ._fields import Action, Events, OneEvent
from ._questions import Subject, Target, stated
from ._rpc import methods
from ._set_verbs import Ledgers
from ._settings import Settings
from .answers import Calibration, Curve
from .client import Client
from .errors import Failure, Unavailable, failure_of
from .run import Run, RunOptions
from .spend import Spend, SpendOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import (
        AmendDatasetOptions,
        CurveOptions,
        DatasetOptions,
        EntriesOptions,
        HistoryOptions,
        LedgerOptions,
        OverviewOptions,
    )

T = TypeVar("T")


class AsyncClient:
    """Client for asyncio: the same verbs, arguments, errors and retry rule, which are
    documented there. A call that is cancelled in the middle of an attempt leaves its write
    in the lane, of unknown outcome, as an error with `unknown` does.

    It belongs to the event loop in which it is first used. Streams and runs work in threads
    of their own: `run` returns an AsyncRun, and what streams do is Client's.
    """

    def __init__(
        self, server: str | None = None, *, context: str | None = None, principal: str = "",
        credentials: grpc.ChannelCredentials | None = None,
        token_file: str | PathLike[str] | None = None,
        insecure: bool = False, timeout: float = 10.0, deadline: float | None = None, max_attempts: int | None = None,
        backoff_min: float = 0.05, backoff_max: float = 5.0,
    ) -> None:
        self._begin(Settings.of(
            server, context=context, token_file=token_file, principal=principal, credentials=credentials,
            insecure=insecure, timeout=timeout, deadline=deadline, max_attempts=max_attempts,
            backoff_min=backoff_min, backoff_max=backoff_max,
        ))

    @classmethod
    def local(
        cls, path: str | PathLike[str], *, timeout: float = 10.0, deadline: float | None = None,
        max_attempts: int | None = None,
        backoff_min: float = 0.05, backoff_max: float = 5.0,
    ) -> AsyncClient:
        """Client.local for asyncio. It returns when the daemon is ready; in a server, call it in a thread."""
        client = cls.__new__(cls)
        client._begin(Settings.of_directory(
            path, timeout=timeout, deadline=deadline, max_attempts=max_attempts, backoff_min=backoff_min,
            backoff_max=backoff_max,
        ))
        return client

    def _begin(self, settings: Settings) -> None:
        self._settings = settings
        self._core = Core(self._settings, asyncio.Lock, Contact(self._settings))
        self._channel: Any = None
        self._rpc: dict[str, Any] = {}
        self._blocking: Client | None = None

    def _connect(self) -> dict[str, Any]:
        if self._channel is None:  # in the loop that uses it
            self._channel = self._settings.channel(grpc.aio)
            self._rpc = methods(self._channel)
        return self._rpc

    @property
    def writer(self) -> str:
        """The UUID under which this client's writes are recorded."""
        return self._core.writer

    @property
    def server(self) -> str:
        """Where the daemon is."""
        return self._settings.server

    async def close(self) -> None:
        """Ends the connection; end runs first."""
        self._core.closed = True
        if self._channel is not None:
            await self._channel.close()
        if self._blocking is not None:
            await asyncio.to_thread(self._blocking.close)
        if self._settings.served is not None:
            self._settings.served.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __reduce__(self) -> Any:
        raise TypeError("an AsyncClient cannot be copied or stored: its writer would be used twice; allowed: a new one")

    def __repr__(self) -> str:
        return f"<AsyncClient of {self._settings.server}{', closed' if self._core.closed else ''}>"

    # Ledgers

    async def create_ledger(self, name: str, adjacency: str | int | None = None, *, deadline: float | None = None,
                            **spec: Unpack[LedgerOptions]) -> pb.Ledger:
        return await self._carry_out(guards.told(verbs.create_ledger(name, adjacency, spec)), deadline)

    async def get_ledger(self, name: str, *, reservations_from: int = 0, deadline: float | None = None) -> pb.Ledger:
        return await self._carry_out(verbs.get_ledger(name, reservations_from), deadline)

    async def ledgers(self, prefix: str = "", *, deadline: float | None = None) -> AsyncIterator[pb.Ledger]:
        token, more = "", True
        while more:
            page, token = await self._carry_out(verbs.list_ledgers(prefix, token), deadline)
            for ledger in page:
                yield ledger
            more = token != ""

    async def close_ledger(self, name: str, reason: str = "", *, request_id: str | None = None,
                           deadline: float | None = None) -> pb.WriteResponse:
        return await self._carry_out(verbs.close_ledger(name, reason, request_id), deadline)

    async def entries(self, ledger: str, *, deadline: float | None = None,
                      **options: Unpack[EntriesOptions]) -> AsyncIterator[pb.Entry]:
        token, more = "", True
        while more:
            page, token = await self._carry_out(verbs.list_entries(ledger, token, options), deadline)
            for entry in page:
                yield entry
            more = token != ""

    async def get_writer(self, ledger: str, writer: str = "", *, deadline: float | None = None) -> pb.GetWriterResponse:
        return await self._carry_out(verbs.get_writer(ledger, writer or self.writer), deadline)

    async def signed_head(self, ledger: str, *, deadline: float | None = None) -> pb.SignedHead:
        return await self._carry_out(verbs.signed_head(ledger), deadline)

    async def store_status(self, *, deadline: float | None = None) -> pb.GetStoreStatusResponse:
        return await self._carry_out(verbs.store_status(), deadline)

    async def statement(self, ledger: str, deltas: Iterable[float] = (), *,
                        deadline: float | None = None) -> pb.Statement:
        return await self._carry_out(verbs.statement(ledger, deltas), deadline)

    # Datasets

    async def create_dataset(
        self, dataset: str, adjacency: str | int, *, independent_of_outputs: bool = False, reason: str = "",
        propose: bool = False, deadline: float | None = None, **spec: Unpack[DatasetOptions],
    ) -> pb.CreateDatasetResponse:
        plan = verbs.create_dataset(dataset, adjacency, independent_of_outputs, reason, propose, spec)
        return await self._carry_out(guards.told_of_dataset(plan), deadline)

    async def amend_dataset(
        self, dataset: str, reason: str, *, request_id: str | None = None, deadline: float | None = None,
        **changes: Unpack[AmendDatasetOptions],
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.amend_dataset(dataset, reason, request_id, changes), deadline)

    # Writes

    async def report(
        self, ledger: str, events: Events, *, labels: verbs.Labels = None, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.report(ledger, events, labels, request_id), deadline)

    async def check(self, ledger: str, events: Events, *, labels: verbs.Labels = None,
                    deadline: float | None = None) -> pb.WriteResponse:
        return await self._carry_out(verbs.check(ledger, events, labels, str(uuid.uuid4())), deadline)

    async def reserve(
        self, ledger: str, events: Events, *, lifetime: int, labels: verbs.Labels = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.reserve(ledger, events, lifetime, labels, request_id), deadline)

    async def commit(
        self, ledger: str, reservation: int, events: Events, *, labels: verbs.Labels = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.commit(ledger, reservation, events, labels, request_id), deadline)

    async def release(
        self, ledger: str, reservation: int, reason: str = "", *, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.release(ledger, reservation, reason, request_id), deadline)

    async def expire(self, ledger: str, reservation: int, *, request_id: str | None = None,
                     deadline: float | None = None) -> pb.WriteResponse:
        """Charges what is left of a reservation now, before its time is over. On the daemon's own socket only."""
        return await self._carry_out(verbs.expire(ledger, reservation, request_id), deadline)

    async def free(
        self, ledger: str, reservation: int, reason: str, *, nothing_released: bool, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Gives back what is left of a reservation that somebody else made, such as a job that died, on
        the caller's word that nothing computed for it was released. On the daemon's own socket only."""
        return await self._carry_out(verbs.free(ledger, reservation, reason, nothing_released, request_id), deadline)

    async def refund(
        self, ledger: str, position: int, reason: str, *, nothing_released: bool, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.refund(ledger, position, reason, nothing_released, request_id), deadline)

    async def raise_budgets(
        self, ledger: str, reason: str, *, budgets: Sequence[Any] = (),
        plan: Events | pb.Workload | None = None,
        independent_of_outputs: bool = False,
        request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        fields = {"budgets": budgets, "plan": plan, "independent_of_outputs": independent_of_outputs, "reason": reason}
        return await self._carry_out(verbs.raise_budgets(ledger, fields, request_id), deadline)

    async def reconcile(
        self, ledger: str, events: Events = (), *, contribution: str | int | None = None,
        accept_loss: bool = False, reason: str = "",
        request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        plan = verbs.reconcile(ledger, events, contribution, accept_loss, reason, request_id)
        return await self._carry_out(plan, deadline)

    async def acknowledge(
        self, ledger: str, warning: str, *, reason: str, request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(verbs.acknowledge(ledger, warning, reason, request_id), deadline)

    async def observe(
        self, ledger: str, *, inserted: int, guesses: int, correct: int, delta: float, confidence: float | None = None,
        reason: str = "", request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        plan = verbs.observe(ledger, inserted, guesses, correct, delta, confidence, reason, request_id)
        return await self._carry_out(plan, deadline)

    # Approvals and rights

    async def propose(
        self, ledger: str, *, refund: Action = None, free: Action = None, raise_budgets: Action = None,
        reconcile: Action = None, amend_dataset: Action = None, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        return await self._carry_out(
            verbs.propose(ledger, refund, free, raise_budgets, reconcile, amend_dataset, request_id), deadline)

    async def proposals(self, ledger: str = "", *,
                        deadline: float | None = None) -> AsyncIterator[tuple[str, pb.Proposal]]:
        async for name in self._proposing(ledger, deadline):
            for proposal in (await self.get_ledger(name, deadline=deadline)).proposals:
                yield name, proposal

    async def _proposing(self, ledger: str, deadline: float | None) -> AsyncIterator[str]:
        """The ledger, or all ledgers and records of datasets."""
        if ledger:
            yield ledger
            return
        for prefix in ("", "dataset:"):
            async for one in self.ledgers(prefix, deadline=deadline):
                yield one.name

    async def approve(self, ledger: str, proposal: int, comment: str = "", *, request_id: str | None = None,
                      deadline: float | None = None) -> pb.WriteResponse:
        return await self._carry_out(verbs.approve(ledger, proposal, comment, request_id), deadline)

    async def withdraw(self, ledger: str, proposal: int, reason: str = "", *, request_id: str | None = None,
                       deadline: float | None = None) -> pb.WriteResponse:
        return await self._carry_out(verbs.withdraw(ledger, proposal, reason, request_id), deadline)

    async def get_access(self, principal: str = "", method: str = "", ledger: str = "", *,
                         groups: Iterable[str] = (), deadline: float | None = None) -> pb.GetAccessResponse:
        return await self._carry_out(verbs.get_access(principal, method, ledger, groups), deadline)

    # Writes of unknown outcome

    def pending(self, ledger: str) -> list[Any]:
        return [item.request for item in self._core.lane(ledger).pending]

    async def settle(self, ledger: str, *, deadline: float | None = None) -> None:
        lane, until = self._core.lane_for_write("settle", ledger), self._core.until(deadline)
        await self._take(lane, "settle", until)
        try:
            await self._drive(self._core.settle("settle", lane, until))
        finally:
            lane.turn.release()

    # Questions

    async def query(
        self, subject: Subject, *, delta: float | None = None, epsilon: float | None = None,
        max_gap: float | None = None,
        deadline: float | None = None,
    ) -> pb.QueryPrivacyResponse:
        return await self._carry_out(verbs.query(subject, delta, epsilon, max_gap), deadline)

    async def epsilon(self, subject: Subject, delta: float | None = None, *, deadline: float | None = None) -> float:
        return stated(await self.query(subject, delta=delta, deadline=deadline), "epsilon")

    async def delta(self, subject: Subject, epsilon: float, *, deadline: float | None = None) -> float:
        return stated(await self.query(subject, epsilon=epsilon, deadline=deadline), "delta")

    async def overview(self, *, deadline: float | None = None,
                       **options: Unpack[OverviewOptions]) -> AsyncIterator[pb.OverviewRow]:
        token, more = "", True
        while more:
            page, token = await self._carry_out(verbs.overview(token, options), deadline)
            for row in page:
                yield row
            more = token != ""

    async def history(self, ledger: str, *, deadline: float | None = None,
                      **options: Unpack[HistoryOptions]) -> pb.QueryHistoryResponse:
        return await self._carry_out(verbs.history(ledger, options), deadline)

    async def spending(self, ledger: str, by: str | int, *, label: str | None = None, limit: int = 0,
                       delta: float | None = None, deadline: float | None = None) -> pb.QuerySpendingResponse:
        return await self._carry_out(verbs.spending(ledger, by, label, limit, delta), deadline)

    async def spending_anywhere(self, name: str, *, by: str | int = "principal", label: str | None = None,
                                prefix: str = "", delta: float | None = None,
                                deadline: float | None = None) -> AsyncIterator[pb.LedgerSpending]:
        token, more = "", True
        while more:
            page, token = await self._carry_out(verbs.spending_anywhere(name, token, by, label, prefix, delta),
                                                deadline)
            for row in page:
                yield row
            more = token != ""

    async def forecast(self, ledger: str, *, progress: bool = False,
                       deadline: float | None = None) -> pb.QueryForecastResponse:
        return await self._carry_out(verbs.forecast(ledger, progress), deadline)

    async def refusals(self, ledger: str, *, deadline: float | None = None) -> pb.ListRefusalsResponse:
        return await self._carry_out(verbs.refusals(ledger), deadline)

    async def curve(self, subject: Subject, *, deadline: float | None = None, **fields: Unpack[CurveOptions]) -> Curve:
        return await self._carry_out(verbs.curve(subject, fields), deadline)

    async def calibrate(
        self, solve: str, event: OneEvent, *, ledger: str = "", fixed: Events | pb.Workload | None = None,
        adjacency: str | int | None = None,
        deadline: float | None = None, **target: Unpack[Target],
    ) -> Calibration:
        return await self._carry_out(verbs.calibrate(solve, event, target, ledger, fixed, adjacency), deadline)

    async def watch(self, ledger: str) -> AsyncIterator[pb.Ledger]:
        await self._drive(self._core.meet("watch", ledger, self._core.until(None)))
        last: pb.Ledger | None = None
        failures = 0
        while True:
            self._core.check("watch", ledger)
            used = self._settings.token_now()
            call = self._connect()["WatchLedger"](pb.WatchLedgerRequest(name=ledger), metadata=self._settings.metadata)
            failure = Failure(grpc.StatusCode.UNAVAILABLE, "the daemon ended the stream")
            try:
                async for answer in call:
                    failures = 0
                    self._core.contact.answered()
                    if last is None or answer.ledger.position != last.position:
                        last = answer.ledger
                        yield last
                if last is not None and last.closed:
                    return
            except grpc.RpcError as e:
                failure = failure_of(e)
            finally:
                call.cancel()
            failures += 1
            await self._drive(self._core.again("watch", ledger, failure, failures, used, last is not None))

    async def backup(self, path: str | PathLike[str], *, deadline: float | None = None) -> int:
        self._core.check("backup")
        await self._drive(self._core.meet("backup", "", self._core.until(deadline)))
        with Receiver(path) as receiver:
            try:
                call = self._connect()["Backup"](pb.BackupRequest(), timeout=deadline or self._settings.deadline,
                                                 metadata=self._settings.metadata)
                async for message in call:
                    receiver.take(message)
            except grpc.RpcError as e:
                raise failure_of(e).error("backup", "") from None
            return receiver.finish()

    def ledger_set(self, ledgers: Sequence[str] | None = None, *, prefix: str = "", first: str = "",
                   last: str = "") -> AsyncLedgerSet:
        return AsyncLedgerSet(self, set_verbs.chosen(ledgers, prefix, first, last))

    def run(self, ledger: str | Sequence[str] | pb.LedgerRange, **options: Unpack[RunOptions]) -> AsyncRun:
        """Covers a training run's steps, with Run's options."""
        return AsyncRun(self._in_threads("run").run(ledger, **options))

    def spend(self, ledger: str | Sequence[str] | pb.LedgerRange, events: Events,
              **options: Unpack[SpendOptions]) -> AsyncSpend:
        """Sets events aside for an `async with` block, and charges them at its end, with Spend's options."""
        return AsyncSpend(self._in_threads("spend").spend(ledger, events, **options))

    def _in_threads(self, op: str) -> Client:
        """A blocking client for what runs in threads."""
        self._core.check(op)
        if self._blocking is None:
            self._blocking = Client.__new__(Client)
            self._blocking._begin(self._settings, self._core.contact)
        return self._blocking

    # Carrying out

    async def _carry_out(self, plan: Plan[T], deadline: float | None) -> T:
        until = self._core.until(deadline)
        if plan.once:
            return plan.finish(await self._drive(self._core.attempts_once(plan, until)))
        if not plan.in_lane:
            return await self._drive(self._core.read(plan, until))
        lane = self._core.lane_for_write(plan.op, plan.ledger)
        await self._take(lane, plan.op, until)
        try:
            return await self._drive(self._core.write(plan, lane, until))
        finally:
            lane.turn.release()

    async def _take(self, lane: Lane, op: str, until: float | None) -> None:
        try:
            await asyncio.wait_for(lane.turn.acquire(), None if until is None else max(0.0, until - time.monotonic()))
        except asyncio.TimeoutError:
            raise Unavailable(op, lane.ledger, "another call of this client has the lane",
                              code=grpc.StatusCode.DEADLINE_EXCEEDED) from None

    async def _drive(self, steps: Steps[T]) -> T:
        try:
            action = next(steps)
            while True:
                answer: Any = None
                try:
                    if isinstance(action, Call):
                        answer = await self._attempt(action)
                    elif isinstance(action, Revive):
                        answer = await asyncio.to_thread(action.run)
                    else:
                        await asyncio.sleep(action.seconds)
                except BaseException as e:  # cancelled: what is in flight is of unknown outcome
                    action = steps.throw(e)
                else:
                    action = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _attempt(self, call: Call) -> Any:
        try:
            return await self._connect()[call.method](call.request, timeout=call.timeout,
                                                      metadata=self._settings.metadata)
        except grpc.RpcError as e:
            return failure_of(e)
        except (grpc.aio.UsageError, asyncio.CancelledError) as e:
            if self._core.closed:  # gRPC's way to say that the channel was closed
                return Failure(grpc.StatusCode.CANCELLED, str(e))
            raise


class AsyncSpend:
    """Spend for asyncio: what waits for the daemon waits in a thread."""

    def __init__(self, spend: Spend) -> None:
        self._spend = spend

    def __repr__(self) -> str:
        return f"<async {self._spend!r}>"

    async def __aenter__(self) -> AsyncSpend:
        await asyncio.to_thread(self._spend.__enter__)
        return self

    async def __aexit__(self, kind: object, value: object, traceback: object) -> None:
        await asyncio.to_thread(self._spend.__exit__, kind, value, traceback)

    async def release(self, reason: str = "") -> None:
        await asyncio.to_thread(self._spend.release, reason)


class AsyncRun:
    """Run for asyncio: a step that is covered already does not wait, one that is not waits
    in a thread. A step that is cancelled meanwhile may be covered nevertheless."""

    def __init__(self, run: Run) -> None:
        self._run = run
        # A thread of their own for steps: many that wait would leave none to end the run in.
        self._steps = ThreadPoolExecutor(1, thread_name_prefix="privacy-accountant steps")

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return self._run.steps

    @property
    def ledger(self) -> str | list[str]:
        """The ledger's name, or those of several."""
        return self._run.ledger

    def __repr__(self) -> str:
        return f"<async {self._run!r}>"

    async def __aenter__(self) -> AsyncRun:
        await asyncio.to_thread(self._run.open)
        return self

    async def __aexit__(self, kind: object, value: object, traceback: object) -> None:
        await asyncio.to_thread(self._run.__exit__, kind, value, traceback)
        self._steps.shutdown(wait=False)

    async def step(self, mechanism: Events, count: int = 1) -> None:
        if not self._run.try_step(mechanism, count):
            await asyncio.get_running_loop().run_in_executor(self._steps, self._run.step, mechanism, count)

    async def flush(self, *, deadline: float | None = None) -> None:
        await asyncio.to_thread(lambda: self._run.flush(deadline=deadline))

    async def epsilon(self, delta: float) -> float:
        return await asyncio.to_thread(self._run.epsilon, delta)

    async def query(self, **question: Any) -> Any:
        return await asyncio.to_thread(lambda: self._run.query(**question))

    async def state_dict(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._run.state_dict)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._run.load_state_dict(state)


class AsyncLedgerSet:
    """LedgerSet for asyncio: the same verbs, arguments and errors."""

    def __init__(self, client: AsyncClient, ledgers: Ledgers) -> None:
        self.ledgers = ledgers if isinstance(ledgers, pb.LedgerRange) else list(set_verbs.message(ledgers).ledgers)
        self._client = client

    def __repr__(self) -> str:
        return f"<ledgers {set_verbs.shown(self.ledgers)}>"

    async def report(self, events: Events, *, contribution: str | int | None = None, labels: verbs.Labels = None,
                     request_id: str | None = None, deadline: float | None = None) -> pb.WriteResponse:
        plan = set_verbs.report(self.ledgers, events, contribution, labels, request_id)
        return await self._client._carry_out(plan, deadline)

    async def check(self, events: Events, *, contribution: str | int | None = None, labels: verbs.Labels = None,
                    deadline: float | None = None) -> pb.WriteResponse:
        plan = set_verbs.check(self.ledgers, events, contribution, labels, str(uuid.uuid4()))
        return await self._client._carry_out(plan, deadline)

    async def reserve(self, events: Events, *, lifetime: int, contribution: str | int | None = None,
                      labels: verbs.Labels = None, request_id: str | None = None,
                      deadline: float | None = None) -> pb.WriteResponse:
        plan = set_verbs.reserve(self.ledgers, events, contribution, lifetime, labels, request_id)
        return await self._client._carry_out(plan, deadline)

    async def commit(self, reservation: pb.Receipt, events: Events, *, labels: verbs.Labels = None,
                     request_id: str | None = None, deadline: float | None = None) -> pb.WriteResponse:
        return await self._client._carry_out(set_verbs.commit(reservation, events, labels, request_id), deadline)

    async def release(self, reservation: pb.Receipt, reason: str = "", *, request_id: str | None = None,
                      deadline: float | None = None) -> pb.WriteResponse:
        return await self._client._carry_out(set_verbs.release(reservation, reason, request_id), deadline)

    async def query(self, *, delta: float | None = None, epsilon: float | None = None, max_gap: float | None = None,
                    deadline: float | None = None) -> pb.QueryPrivacySetResponse:
        return await self._client._carry_out(set_verbs.query(self.ledgers, delta, epsilon, max_gap), deadline)

    async def epsilon(self, delta: float, *, deadline: float | None = None) -> float:
        return stated((await self.query(delta=delta, deadline=deadline)).in_all, "epsilon")
