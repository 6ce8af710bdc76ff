# SPDX-License-Identifier: Apache-2.0
"""Daemons, jobs and networks that break in the middle."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import BINARY, STEP, Daemon, Lost, Proxy, plan

from privacy_accountant import (
    AccountantError, Client, Closed, DataLoss, FailedPrecondition, NotSent, PermissionDenied, Run, Unavailable)
from privacy_accountant import proto as pb

Connect = Callable[..., Client]


@pytest.mark.parametrize("options", [{}, {"strict": "each"}, {"chunk": 5}])
def test_the_daemon_is_killed_and_comes_back(daemon: Daemon, connect: Connect, options: dict[str, object]) -> None:
    client = connect(daemon.address, deadline=60.0)
    ledger = plan(client, 10_000)
    with client.run(ledger, **options) as run:
        for n in range(1, 301):
            run.step(STEP)
            if n == 100:
                daemon.restart()
            if n == 200:  # while the job goes on
                killer = threading.Thread(target=daemon.restart)
                killer.start()
        killer.join()
        p = client.get_ledger(ledger).plan[0]
        assert 300 <= p.spent + p.reserved <= 300 + 100  # covered; at most one chunk more
    p = client.get_ledger(ledger).plan[0]
    assert (run.steps, p.spent, p.reserved) == (300, 300, 0)


def test_the_job_goes_on_while_its_chunk_lasts(daemon: Daemon, connect: Connect) -> None:
    client = connect(daemon.address, deadline=60.0)
    ledger = plan(client, 10_000)
    with client.run(ledger, chunk=64) as run:
        for _ in range(200):
            run.step(STEP)
        run.flush()
        daemon.kill()
        alone = 0
        while run.try_step(STEP):
            alone += 1
        assert 32 <= alone <= 64  # at least what is left before more is asked for
        assert len(run._books) + len(run._orders) < 10  # memory is bounded
        daemon.start()
        run.step(STEP)
    assert client.get_ledger(ledger).total_count == run.steps == 200 + alone + 1


def test_a_daemon_that_stays_away(daemon: Daemon, connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    client = connect(daemon.address, deadline=60.0)
    ledger = plan(client, 1000)
    with client.run(ledger, chunk=10, deadline=0.3) as run:
        for _ in range(30):
            run.step(STEP)
        daemon.kill()
        with pytest.raises(Unavailable):
            while True:
                run.step(STEP)
        with pytest.raises(Unavailable):
            run.flush()
        assert "trying again" in caplog.text
        daemon.start()
        run.flush(deadline=30)
        run.step(STEP)
    p = client.get_ledger(ledger).plan[0]
    assert (p.spent, p.reserved) == (run.steps, 0)


def job(daemon: Daemon, ledger: str, checkpoint: Path, steps: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "job.py"), daemon.address, ledger, str(checkpoint), str(steps)],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})


def steps_of(process: subprocess.Popen[str], until: int | None = None) -> int:
    """Reads the steps that a job made, up to one of them."""
    last = 0
    assert process.stdout is not None
    while line := process.stdout.readline():
        last = int(line)
        if last == until:
            break
    return last


def test_a_killed_job_resumes_and_repeated_steps_are_charged_again(
    client: Client, shared: Daemon, tmp_path: Path) -> None:
    ledger = plan(client, 10_000)
    first = job(shared, ledger, tmp_path / "c", 10_000)
    steps_of(first, 95)
    first.send_signal(signal.SIGKILL)
    made = max(95, steps_of(first))  # what it printed before it died
    first.wait()
    assert first.stdout is not None
    first.stdout.close()
    p = client.get_ledger(ledger).plan[0]
    covered = p.spent + p.reserved
    assert made <= covered <= made + 1 + 40  # a step may be covered and not printed
    saved = json.loads((tmp_path / "c").read_text())
    assert set(saved) == {"ledger", "steps"} and made - 10 <= saved["steps"] <= made + 1
    second = job(shared, ledger, tmp_path / "c", saved["steps"] + 50)
    assert steps_of(second) == saved["steps"] + 50
    assert second.wait() == 0
    second.stdout.close()  # type: ignore[union-attr]
    p = client.get_ledger(ledger).plan[0]
    assert p.spent + p.reserved == covered + 50  # all that it made, repeated ones too
    assert len({e.writer for e in client.entries(ledger)}) == 2


def test_two_jobs_from_one_checkpoint_are_both_charged(client: Client, shared: Daemon, tmp_path: Path) -> None:
    ledger = plan(client, 10_000)
    for name in "ab":
        (tmp_path / name).write_text(json.dumps({"ledger": ledger, "steps": 1000}))
    jobs = [job(shared, ledger, tmp_path / name, 1060) for name in "ab"]
    assert [steps_of(j) for j in jobs] == [1060, 1060]
    for j in jobs:
        assert j.wait() == 0
        j.stdout.close()  # type: ignore[union-attr]
    p = client.get_ledger(ledger).plan[0]
    assert (p.spent, p.reserved) == (120, 0)


def test_a_refused_connection_wrote_nothing(daemon: Daemon, connect: Connect) -> None:
    client = connect(daemon.address, deadline=2.0)
    ledger = plan(client, 100)
    client.report(ledger, STEP)
    daemon.kill()
    with pytest.raises(Unavailable):
        client.get_ledger(ledger, deadline=0.5)  # by now the end of the connection is known
    with pytest.raises(Unavailable) as refused:
        client.report(ledger, STEP)
    assert not refused.value.unknown and client.pending(ledger) == [], str(refused.value)
    with pytest.raises(Unavailable) as refused:
        client.report(ledger, STEP, request_id="k")
    assert not refused.value.unknown, str(refused.value)
    daemon.start()
    client.report(ledger, STEP, deadline=20)
    assert client.get_ledger(ledger).plan[0].spent == 2


@pytest.mark.parametrize("options", [{}, {"strict": "each"}, {"chunk": 4}])
def test_a_network_that_cuts(client: Client, proxy: Proxy, connect: Connect, options: dict[str, object]) -> None:
    ledger = plan(client, 10_000)
    draw = random.Random(7)
    with connect(proxy.address, deadline=60.0).run(ledger, **options) as run:
        for _ in range(200):
            run.step(STEP)
            if draw.random() < 0.05:
                if draw.random() < 0.5:
                    proxy.hold()  # what is on its way is lost, in either direction
                    run.try_step(STEP)
                proxy.cut()
    assert proxy.cuts > 5
    p = client.get_ledger(ledger).plan[0]
    assert (p.spent, p.reserved) == (run.steps, 0) and run.steps >= 200


def test_a_network_that_delays(client: Client, proxy: Proxy, connect: Connect) -> None:
    ledger = plan(client, 10_000)
    with connect(proxy.address, timeout=0.5, deadline=60.0).run(ledger, chunk=10) as run:
        proxy.delay = 0.01
        for _ in range(40):
            run.step(STEP)
        proxy.hold()  # longer than an attempt may take
        held = threading.Thread(target=lambda: [run.step(STEP) for _ in range(40)])
        held.start()
        before = proxy.connections
        held.join(1.5)
        assert held.is_alive() and proxy.connections >= before
        proxy.resume()
        held.join()
    p = client.get_ledger(ledger).plan[0]
    assert (run.steps, p.spent, p.reserved) == (80, 80, 0)


def test_a_lost_answer_is_settled(client: Client, proxy: Proxy, connect: Connect, ledger: str) -> None:
    far = connect(proxy.address, timeout=0.3, deadline=0.6)
    far.report(ledger, STEP, deadline=60)
    proxy.hold()
    with pytest.raises(Unavailable) as lost:
        far.report(ledger, (STEP, 5))
    assert lost.value.unknown and far.pending(ledger)[0].charge.events[0].count == 5
    with pytest.raises(NotSent):
        far.report(ledger, STEP)
    proxy.resume()
    far.settle(ledger, deadline=20)
    assert far.pending(ledger) == []
    far.report(ledger, STEP, deadline=20)
    assert client.get_ledger(ledger).total_count == 7  # 1 + 5 + 1: once each


def test_an_abandoned_stream_is_settled(client: Client, proxy: Proxy, connect: Connect, ledger: str) -> None:
    far = connect(proxy.address)
    with pytest.raises(KeyError), far.stream(ledger) as stream:
        stream.report(STEP)
        stream.flush()
        proxy.hold()
        for _ in range(5):
            stream.report(STEP)
        raise KeyError
    assert len(far.pending(ledger)) == 5
    proxy.resume()
    far.report(ledger, STEP)
    assert client.get_ledger(ledger).total_count == 7


def test_a_stream_says_what_was_not_sent(daemon: Daemon, connect: Connect) -> None:
    client = connect(daemon.address)
    ledger = plan(client, 1000)
    stream = client.stream(ledger, window=3)
    stream.report(STEP)
    stream.flush()
    daemon.kill()
    while stream._connection is not None and stream._connection.live:
        time.sleep(0.01)
    for _ in range(3):
        stream.report(STEP)
    with pytest.raises(Unavailable, match="was not taken") as full:
        stream.report(STEP, deadline=0.1)
    with pytest.raises(Closed) as ended:
        stream.close(deadline=0.1)
    assert not full.value.unknown and not ended.value.unknown and ended.value.not_written == []
    assert len(client.pending(ledger)) == 3
    daemon.start()
    client.report(ledger, STEP)
    assert client.pending(ledger) == [] and client.get_ledger(ledger).total_count == 5


class Forbids(Lost):
    """A stream on which the daemon takes nothing more, since the caller lost his right."""

    def __init__(self, requests: Any, **_: object) -> None:
        self._requests = requests

    def __iter__(self) -> Any:
        next(self._requests)
        yield pb.ReportStreamResponse(opened=pb.ReportStreamResponse.Opened(last_sequence=1))
        next(self._requests)  # is not read by the daemon
        raise self

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.PERMISSION_DENIED

    def cancel(self) -> None:
        pass


def test_a_stream_without_its_right_wrote_nothing_more(client: Client, ledger: str,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    client.report(ledger, STEP)
    monkeypatch.setitem(client._rpc, "ReportStream", Forbids)
    stream = client.stream(ledger)
    stream.report(STEP)
    with pytest.raises(PermissionDenied) as ended:
        stream.close()
    assert not ended.value.unknown and len(ended.value.not_written) == 1 and client.pending(ledger) == []


def test_a_stream_is_patient_with_a_busy_daemon(daemon: Daemon, connect: Connect, ledger: str,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    enough = threading.Event()

    class Silent(Lost):
        """A stream on which nothing is answered."""

        def __init__(self, requests: Any, **_: object) -> None:
            self._requests, self._cancelled = requests, threading.Event()

        def __iter__(self) -> Any:
            next(self._requests)
            yield pb.ReportStreamResponse(opened=pb.ReportStreamResponse.Opened(last_sequence=0))
            next(self._requests)
            self._cancelled.wait()
            raise self

        def code(self) -> grpc.StatusCode:
            return grpc.StatusCode.CANCELLED

        def cancel(self) -> None:
            if not self._cancelled.is_set():
                self._cancelled.set()
                assert stream._connection is not None
                waited.append(stream._connection.wait)
            if len(waited) == 6:
                enough.set()

    client = connect(daemon.address, timeout=0.0625)
    monkeypatch.setitem(client._rpc, "ReportStream", Silent)
    stream = client.stream(ledger)
    stream.report(STEP)
    assert enough.wait(60)
    stream.abandon()
    assert waited[:6] == [0.0625, 0.125, 0.25, 0.5, 1, 1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_stream_that_cannot_keep_its_writes_ends(client: Client, proxy: Proxy, connect: Connect, ledger: str,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    stream = connect(proxy.address).stream(ledger)
    stream.report(STEP)
    stream.flush()
    proxy.hold()
    stream.report(STEP)
    monkeypatch.setattr("privacy_accountant._stream._ALONE", {})
    ends = threading.Thread(target=stream.abandon, daemon=True)
    ends.start()
    ends.join(60)
    assert not ends.is_alive()
    with pytest.raises(AccountantError, match="internal: KeyError"):
        stream.close()


@pytest.mark.parametrize("options", [{"chunk": 10}, {"strict": "each"}])
def test_a_rolled_back_store_is_told(daemon: Daemon, connect: Connect, tmp_path: Path,
                                     options: dict[str, object]) -> None:
    client = connect(daemon.address)
    ledger = plan(client, 1000)
    with pytest.raises(DataLoss), client.run(ledger, **options) as run:
        for _ in range(20):
            run.step(STEP)
        run.flush()
        daemon.kill()
        shutil.copytree(tmp_path / "data", tmp_path / "old", ignore=shutil.ignore_patterns("*.sock"))
        daemon.start()
        for _ in range(20):
            run.step(STEP)
        run.flush()
        daemon.kill()
        shutil.rmtree(tmp_path / "data")
        (tmp_path / "old").rename(tmp_path / "data")
        daemon.start()
        for _ in range(100):
            run.step(STEP)
    assert run.steps <= 40 + 10


@pytest.mark.parametrize("call", [Run.flush, Run.close, Run.state_dict, lambda run: run.query(delta=1e-5)])
def test_a_run_that_failed_never_says_that_all_is_charged(
    daemon: Daemon, connect: Connect, monkeypatch: pytest.MonkeyPatch, call: Callable[[Run], object],
) -> None:
    client = connect(daemon.address)
    run = client.run(plan(client, 1000), chunk=10).open()
    run.step(STEP, 3)

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setitem(client._rpc, "Commit", broken)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    for _ in range(2):
        with pytest.raises(AccountantError, match="a defect"):
            call(run)
        if run.ended:
            break
    else:
        with pytest.raises(AccountantError, match="a defect"):
            run.close()


def used(run: Run, steps: int) -> None:
    """Makes steps, the last of them from what is set aside, and not committed."""
    run._last_commit = math.inf
    while sum(s.left for s in run._supplies.values()) < run._chunk * 3 // 4:
        run.step(STEP)
        run.flush()
    run.step(STEP, steps)


def finds_out(run: Run) -> None:
    """Has the run find out what became of its reservations."""
    with run._lock:
        run._commit(None)


def rob(client: Client, ledger: str, leave: int | None = None) -> None:
    """As somebody of the same name: releases what is set aside, or uses it up but for some."""
    for r in client.get_ledger(ledger).reservations:
        if leave is None:
            client.release(ledger, r.position)
        else:
            client.commit(ledger, r.position, (STEP, r.rest[0].count - leave))


def test_a_lost_answer_charges_steps_of_a_released_reservation_once(
    client: Client, shared: Daemon, connect: Connect) -> None:
    ledger = plan(client, 1000)
    far = connect(shared.address)
    report = far._rpc["Report"]

    def lost(*args: Any, **options: Any) -> None:
        report(*args, **options)
        raise Lost

    with far.run(ledger, chunk=40) as run:
        used(run, 5)
        rob(client, ledger)
        finds_out(run)
        assert client.get_ledger(ledger).total_count == run.steps - 5
        far._rpc["Report"] = lost
        for _ in range(3):
            assert not run.try_step(STEP)  # which would have to wait
            with pytest.raises(Unavailable):
                run.flush(deadline=0.1)
        far._rpc["Report"] = report
        run.flush()
        assert client.get_ledger(ledger).total_count == run.steps
    assert client.get_ledger(ledger).total_count == run.steps


def test_steps_that_budgets_refuse_afterwards(client: Client) -> None:
    ledger = plan(client, 1000)
    with client.run(ledger, chunk=40) as run:
        used(run, 5)
        rob(client, ledger)
        hoard = client.reserve(ledger, (STEP, client.get_ledger(ledger).plan[0].remaining),
                               lifetime=600).receipt.position
        finds_out(run)
        for call in (lambda: run.step(STEP), run.flush):
            with pytest.raises(FailedPrecondition, match="charged nowhere") as told:
                call()
            assert [e.count for c in told.value.not_written for e in c.events] == [5]
        client.release(ledger, hoard)
        run.step(STEP)  # now they are charged
    p = client.get_ledger(ledger).plan[0]
    assert (p.spent, p.reserved) == (run.steps, 0)


@pytest.mark.parametrize("leave", [None, 2])
def test_steps_that_a_closed_ledger_refuses(client: Client, leave: int | None) -> None:
    ledger = plan(client, 1000)
    with pytest.raises(FailedPrecondition, match="charged nowhere") as told, client.run(ledger, chunk=40) as run:
        used(run, 5)
        rob(client, ledger, leave)
        client.close_ledger(ledger)
    assert [e.count for c in told.value.not_written for e in c.events] == [5]


def test_a_restored_ledger_is_reconciled(daemon: Daemon, connect: Connect, tmp_path: Path) -> None:
    own = connect(daemon.socket)
    ledger = plan(own, 1000)
    own.report(ledger, (STEP, 5))
    own.backup(tmp_path / "backup")
    own.report(ledger, (STEP, 7))  # lost
    daemon.kill()
    shutil.rmtree(tmp_path / "data")
    subprocess.run([BINARY, "restore", str(tmp_path / "backup"), "--data", str(tmp_path / "data")], check=True,
                   capture_output=True)
    daemon.start()
    with pytest.raises(DataLoss):  # this client knows better
        own.report(ledger, STEP)
    fresh = connect(daemon.socket)
    with pytest.raises(FailedPrecondition, match="reconcile"):
        fresh.report(ledger, STEP)
    fresh.reconcile(ledger, (STEP, 7), contribution="over-all")
    with fresh.run(ledger) as run:
        run.step(STEP)
    assert fresh.get_ledger(ledger).total_count == 13
