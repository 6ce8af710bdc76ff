# SPDX-License-Identifier: Apache-2.0
"""Ledgers in a directory that processes share without a standing daemon."""

from __future__ import annotations

import asyncio
import collections
import fcntl
import logging
import multiprocessing
import os
import random
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BINARY, STEP, Daemon
from local_job import LEDGER, once, together

from privacy_accountant import AsyncClient, Client, Unavailable, _local

JOB = str(Path(__file__).parent / "local_job.py")


def alone(directory: Path) -> bool:
    """Whether no process has the ledgers open."""
    with open(directory / "accountant.db") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def ends(directory: Path) -> None:
    """Waits until the directory's daemon has ended."""
    until = time.monotonic() + 60
    while not alone(directory):
        assert time.monotonic() < until, "a daemon is left"
        time.sleep(0.02)


def daemon_of(client: Client) -> int:
    """The process of a client's daemon."""
    served = client._settings.served
    assert served is not None
    found = re.match(r"process (\d+), accountantd ", served.served_by())
    assert found
    return int(found[1])


def kill(client: Client) -> int:
    pid = daemon_of(client)
    os.kill(pid, signal.SIGKILL)
    return pid


def refused(path: str | Path) -> str:
    with pytest.raises(Unavailable) as e:
        Client.local(path)
    return e.value.message


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """One whose daemon has ended when the test is over."""
    out = tmp_path / "ledgers"
    yield out
    if (out / "accountant.db").exists():
        ends(out)


def test_clients_share_a_daemon_that_ends_after_the_last(directory: Path) -> None:
    first, second = Client.local(directory), Client.local(str(directory))
    first.create_ledger(LEDGER, "add-or-remove-one")
    second.report(LEDGER, STEP)
    assert daemon_of(first) == daemon_of(second)
    assert first.server == second.server == f"unix:{directory}/local.sock"
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(directory / "local.sock").st_mode) == 0o600
    first.close()
    time.sleep(1.5)  # longer than an unused daemon lives
    second.report(LEDGER, STEP)
    second.close()
    ends(directory)
    with Client.local(directory) as third:
        assert third.get_ledger(LEDGER).total_count == 2
    assert (directory / "local.log").read_text() == ""


def test_a_client_that_nobody_has_any_more_keeps_no_daemon(directory: Path) -> None:
    Client.local(directory)
    ends(directory)


def test_eight_processes_at_once(directory: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(8, together, [context.Barrier(8)]) as pool:
        assert len(set(pool.map(once, [str(directory)] * 8, chunksize=1))) == 1
        with Client.local(directory) as client:
            assert client.get_ledger(LEDGER).total_count == 8


def test_forks(directory: Path) -> None:
    job = subprocess.run([sys.executable, JOB, "fork", str(directory)], stdout=subprocess.PIPE, text=True, timeout=120,
                         check=True)
    ends(directory)
    idle = int(job.stdout)
    os.kill(idle, signal.SIGKILL)  # it was alive all the time
    with Client.local(directory) as client:
        assert [e.charge.labels["id"] for e in client.entries(LEDGER)] == ["parent", "child", "parent again"]


def test_whoever_is_killed_no_charge_is_lost_or_made_twice(directory: Path, tmp_path: Path) -> None:
    chance = random.Random(15)

    def start(n: int) -> subprocess.Popen[bytes]:
        with open(tmp_path / f"acknowledged{n}", "ab") as out:
            return subprocess.Popen([sys.executable, JOB, "charge", str(directory)], stdout=out)

    jobs = [start(n) for n in range(3)]
    try:
        with Client.local(directory, deadline=60) as client:
            client.create_ledger(LEDGER, "add-or-remove-one")
            daemons = set()
            for _ in range(16):
                before = client.get_ledger(LEDGER).position
                while client.get_ledger(LEDGER).position < before + 5:  # the game goes on: nobody hangs
                    time.sleep(0.01)
                time.sleep(chance.random() * 0.3)
                victim = chance.randrange(6)
                if victim < 3:
                    jobs[victim].kill()
                    jobs[victim].wait()
                    jobs[victim] = start(victim)
                else:
                    daemons.add(kill(client))
            assert len(daemons) > 2
            assert all(job.poll() is None for job in jobs)
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    ends(directory)
    acknowledged = [line for n in range(3) for line in (tmp_path / f"acknowledged{n}").read_text().splitlines()
                    if len(line) == 32]
    with Client.local(directory) as client:
        charged = collections.Counter(e.charge.labels["id"] for e in client.entries(LEDGER))
    assert len(acknowledged) > 50
    assert set(charged.values()) == {1}
    assert set(acknowledged) <= set(charged)


def test_the_daemon_is_killed_under_every_kind_of_call(directory: Path) -> None:
    with Client.local(directory, deadline=60) as client:
        client.create_ledger(LEDGER, "add-or-remove-one", plan=(STEP, 1000))
        kill(client)
        client.report(LEDGER, STEP)
        states = client.watch(LEDGER)
        assert next(states).total_count == 1
        kill(client)
        client.report(LEDGER, STEP)
        assert next(states).total_count == 2
        states.close()  # type: ignore[attr-defined]
        with client.stream(LEDGER) as stream:
            kill(client)
            stream.report(STEP)
            stream.flush(deadline=60)
        with client.run(LEDGER, chunk=10) as run:
            for n in range(100):
                run.step(STEP)
                if n == 50:
                    kill(client)
        assert client.get_ledger(LEDGER).total_count == 103

    async def main() -> int:
        async with AsyncClient.local(directory, deadline=60) as client:
            with Client.local(directory) as other:
                kill(other)
            await client.report(LEDGER, STEP)
            return (await client.get_ledger(LEDGER)).total_count

    assert asyncio.run(main()) == 104


def test_a_daemon_that_cannot_be_started_again_ends_the_calls(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client.local(directory) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
        client.report(LEDGER, STEP)
        stream = client.new_writer().stream(LEDGER)
        run = client.new_writer().run(LEDGER, strict="each")
        run.open()
        monkeypatch.setattr(_local, "find", _missing)
        kill(client)
        with pytest.raises(Unavailable, match="accountantd is missing") as lost:
            client.report(LEDGER, STEP)
        for call in (lambda: run.step(STEP), lambda: (stream.report(STEP), stream.flush())):
            with pytest.raises(Unavailable, match="accountantd is missing"):
                call()
        # It was sent, unless gRPC had noticed the daemon's end before.
        sent = int(lost.value.unknown)
        assert len(client.pending(LEDGER)) == sent
        monkeypatch.undo()
        client.settle(LEDGER)
        assert client.get_ledger(LEDGER).total_count == 1 + sent
        stream.abandon()
        run.close()


def _missing(program: str) -> str:
    raise FileNotFoundError(f"{program} is missing")


def test_the_lock_file_is_removed_while_it_is_used(directory: Path) -> None:
    with Client.local(directory, deadline=60) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
        (directory / "local.lock").unlink()
        with Client.local(directory) as other:  # on another lock, by the same daemon
            assert other.get_ledger(LEDGER).total_count == 0
        kill_by_socket = [int(p) for p in os.listdir("/proc") if p.isdigit() and _serves(int(p), directory)]
        for pid in kill_by_socket:
            os.kill(pid, signal.SIGKILL)
        client.report(LEDGER, STEP)  # on the lock of its new daemon
        time.sleep(1.5)
        client.report(LEDGER, STEP)
        assert daemon_of(client)


def _serves(pid: int, directory: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b"local" in command and os.readlink(f"/proc/{pid}/cwd") == str(directory)
    except OSError:
        return False


@pytest.mark.parametrize("name", ["with spaces", "größer ε %41 #?", "long/" * 600])
def test_any_path(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    with Client.local(directory) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
        client.report(LEDGER, STEP)
        (tmp_path / "link").symlink_to(directory)
        with Client.local(tmp_path / "link") as same:
            assert daemon_of(same) == daemon_of(client)
        # accountctl takes the address that the client shows.
        shown = subprocess.run(
            [str(Path(BINARY).with_name("accountctl")), "ledger", "show", LEDGER, "--server", client.server, "-o",
             "json"],
            capture_output=True, text=True, check=True)
        assert LEDGER in shown.stdout
    ends(directory)


def test_a_long_path_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    directory = tmp_path / ("long" * 40)
    with Client.local(directory) as client:
        assert len(client.server) < _local.LONGEST
        client.create_ledger(LEDGER, "add-or-remove-one")
        alias = Path(client.server.removeprefix("unix:")).parents[1]
        assert stat.S_IMODE(alias.stat().st_mode) == 0o700
    assert not alias.exists()
    ends(directory)


def test_home_and_relative_paths(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(directory.parent))
    monkeypatch.chdir(directory.parent)
    with Client.local("~/ledgers") as one, Client.local("ledgers") as other:
        assert daemon_of(one) == daemon_of(other)


# What cannot be served says why.


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o500 if os.geteuid() else 0o755)
        me = os.geteuid()
        if me == 0:
            os.seteuid(65534)
        try:
            assert refused(directory) == f"the directory {directory!r} cannot be used for ledgers: Permission denied."
            assert os.listdir(directory) == []
        finally:
            os.seteuid(me)
            os.chmod(directory, 0o700)


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refused(
        tmp_path / "file") == f"the directory {str(tmp_path / 'file')!r} cannot be used for ledgers: File exists."


def test_no_program(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privacy_accountant._process.BUNDLED", directory)
    monkeypatch.setenv("PATH", "")
    message = refused(directory)
    assert message.startswith("accountantd is missing: looked in ")
    assert message.endswith('or use a daemon that runs already: Client("HOST:PORT").')


def test_windows(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_local, "fcntl", None)
    assert refused(directory) == ('private ledgers do not work on Windows. Start accountantd and give its address: '
                                  'Client("127.0.0.1:7878").')


def test_a_standing_daemon_has_the_directory(daemon: Daemon) -> None:
    path = daemon.directory / "data"
    assert refused(path) == (f"a daemon that somebody started already serves {str(path)!r}. Use it: "
                             f"Client('unix:{path}/accountant.sock').")
    with Client(f"unix:{path}/accountant.sock") as client:
        client.create_ledger(LEDGER, "add-or-remove-one")


def test_another_process_has_the_file(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client.local(directory):
        pass
    ends(directory)
    monkeypatch.setattr(_local, "PATIENCE", 0.3)
    with open(directory / "accountant.db") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        assert refused(
            directory).startswith(f"another process has the ledgers in {str(directory)!r} open and does not serve "
                                  "them to you.")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_daemon(directory: Path) -> None:
    with Client.local(directory):
        os.chown(directory / "local.sock", 65534, -1)
        assert refused(
            directory).startswith(f"the ledgers in {str(directory)!r} are in use by another user (uid 65534).")


def test_processes_that_hang_are_not_waited_for_for_ever(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client.local(directory):
        pass
    ends(directory)
    monkeypatch.setattr(_local, "PATIENCE", 0.3)
    with open(directory / "local.lock") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        assert refused(
            directory).startswith(f"the daemon that served {str(directory)!r} does not end for 0 s (process ")
    fd = os.open(directory, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert refused(
        directory).startswith(f"another process is starting a daemon for {str(directory)!r}, and is not ready")
    os.close(fd)


def test_what_the_daemon_says_when_it_does_not_start(directory: Path) -> None:
    directory.mkdir()
    (directory / "accountant.db").write_bytes(b"not a store" * 10_000)
    message = refused(directory)
    assert message.startswith(f"the daemon for {str(directory)!r} did not start: accountantd: store accountant.db: ")


def test_a_full_disk(directory: Path) -> None:
    directory.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", "import resource, sys, conftest; from privacy_accountant import Client; "
         "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); Client.local(sys.argv[1])", str(directory)],
        cwd=Path(__file__).parent, stderr=subprocess.PIPE, text=True)
    assert f"the daemon for {str(directory)!r} did not start: accountantd: " in done.stderr


def test_the_directory_is_replaced_while_it_is_used(directory: Path) -> None:
    with Client.local(directory) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
        directory.rename(directory.with_name("elsewhere"))
        directory.mkdir()
        with pytest.raises(Unavailable, match="was moved or replaced while it was in use"):
            client.report(LEDGER, STEP, deadline=30)
    assert list(directory.iterdir()) == []
    ends(directory.with_name("elsewhere"))


def test_another_version_serves_and_the_log_says_so(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Client.local(directory):
        (directory / "local.lock").write_text("process 7, accountantd v1.0.0-dev\n")
        with caplog.at_level(logging.WARNING), Client.local(directory):  # built from a clone
            assert caplog.text == ""
        (directory / "local.lock").write_text("process 7, accountantd v0.1.9\n")
        with caplog.at_level(logging.WARNING), Client.local(directory) as client:
            client.create_ledger(LEDGER, "add-or-remove-one")
        assert "are served by another version (process 7, accountantd v0.1.9) than this package's" in caplog.text


def test_settings_of_other_daemons_are_not_taken(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCOUNTANT_SERVER", "127.0.0.1:1")
    monkeypatch.setenv("ACCOUNTANT_TLS_CA", "/nowhere")
    monkeypatch.setenv("ACCOUNTANT_DATA", "/nowhere")
    with Client.local(directory) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
    with pytest.raises(ValueError, match="timeout"):
        Client.local(directory, timeout=0)
