# SPDX-License-Identifier: Apache-2.0
"""A daemon that is not there, and one that goes away and comes back: what is raised, and what the log has."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import STEP, Daemon, plan

from privacy_accountant import AsyncClient, Client, Unavailable, _contact, _core

Connect = Callable[..., Client]
PATIENT = {"deadline": None, "timeout": 10.0}

CALLS: dict[str, Callable[[Client, Path], object]] = {
    "read": lambda c, _: c.get_ledger("a"),
    "write": lambda c, _: c.report("a", STEP),
    "keyed write": lambda c, _: c.report("a", STEP, request_id="k"),
    "stream": lambda c, _: c.stream("a"),
    "run": lambda c, _: c.run("a").open(),
    "watch": lambda c, _: next(c.watch("a")),
    "backup": lambda c, path: c.backup(path / "copy"),
}


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nobody listens, and nobody else will."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield "127.0.0.1:%d" % s.getsockname()[1]


@pytest.fixture
def silent() -> Iterator[str]:
    """An address at which connections are taken, and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        yield "127.0.0.1:%d" % s.getsockname()[1]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _contact.FIRST_CONTACT < 10
    monkeypatch.setattr(_core, "FIRST_CONTACT", 0.4)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "privacy_accountant"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("name", CALLS)
def test_no_daemon(name: str, nobody: str, connect: Connect, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    client = connect(nobody, **PATIENT)
    with pytest.raises(Unavailable) as told:
        CALLS[name](client, tmp_path)
    for part in (nobody, "Connection refused", f"accountantd --data ./data --listen {nobody}", "ACCOUNTANT_SERVER"):
        assert part in told.value.message
    assert not told.value.unknown and client.pending("a") == []  # nothing was sent
    assert len(lines(caplog)) == 1 and "does not answer yet" in lines(caplog)[0]


@pytest.mark.usefixtures("soon")
def test_no_daemon_for_asyncio(nobody: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncClient(nobody) as client:
            with pytest.raises(Unavailable, match=r"accountantd --data \./data"):
                await client.get_ledger("a")
            with pytest.raises(Unavailable, match=r"accountantd --data \./data"):
                await client.watch("a").__anext__()
            with pytest.raises(Unavailable, match=r"accountantd --data \./data"):
                await client.backup(tmp_path / "copy")
            with pytest.raises(Unavailable, match=r"accountantd --data \./data"):
                async with client.run("a"):
                    pass

    asyncio.run(main())


@pytest.mark.usefixtures("soon")
def test_something_else_answers_the_phone(silent: str, connect: Connect) -> None:
    with pytest.raises(Unavailable, match="no daemon answers at " + silent):
        connect(silent, **PATIENT).get_ledger("a")


@pytest.mark.usefixtures("soon")
def test_where_it_was_sought(tmp_path: Path, nobody: str, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "none.sock"
    with pytest.raises(Unavailable, match=f"at unix:{path}: .*No such file.*--listen unix://{path}`"):
        connect(f"unix:{path}", **PATIENT).get_ledger("a")
    monkeypatch.setenv("ACCOUNTANT_SERVER", nobody)
    with pytest.raises(Unavailable, match=rf"at {nobody} \(ACCOUNTANT_SERVER\)"):
        connect(None, **PATIENT).get_ledger("a")


@pytest.mark.usefixtures("soon")
def test_a_deadline_waits_longer_for_the_first_answer(daemon: Daemon, connect: Connect,
                                                      caplog: pytest.LogCaptureFixture) -> None:
    daemon.kill()
    client = connect(daemon.address, deadline=60.0)
    late = threading.Timer(0.8, daemon.start)
    late.start()
    client.create_ledger("a", "add-or-remove-one")
    late.join()
    assert [("yet" in line, "answers now" in line) for line in lines(caplog)] == [(True, False), (False, True)]


@pytest.mark.parametrize("options", [{}, {"strict": "each"}])
def test_one_line_when_it_goes_one_when_steps_wait_one_when_it_is_back(
    daemon: Daemon, connect: Connect, caplog: pytest.LogCaptureFixture, options: dict[str, object],
) -> None:
    caplog.set_level(logging.INFO)
    client = connect(daemon.address, deadline=60.0)
    ledgers = [plan(client, 10_000) for _ in range(2)]
    runs = [client.run(name, **options).open() for name in ledgers]
    for run in runs:
        run.step(STEP, 200)
        run.step(STEP)
        run.flush()
    assert lines(caplog) == []
    for outage in range(1, 3):
        daemon.kill()
        time.sleep(0.5)  # idle streams find out, and try again many times
        trainers = [threading.Thread(target=lambda run=run: [run.step(STEP) for _ in range(400)]) for run in runs]
        for t in trainers:
            t.start()
        while len(lines(caplog)) < 3 * outage - 1:
            time.sleep(0.01)
        time.sleep(0.5)
        daemon.start()
        for t in trainers:
            t.join()
        for run in runs:
            run.flush()
        found = lines(caplog)[3 * (outage - 1):]
        assert len(found) == 3, found
        assert "does not answer any more" in found[0] and "steps wait" in found[1] and "answers again" in found[2]
    for run in runs:
        run.close()
    assert [client.get_ledger(name).total_count for name in ledgers] == [run.steps for run in runs]


def test_a_refusal_is_an_answer(daemon: Daemon, connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    client = connect(daemon.address, deadline=60.0)
    ledger = plan(client, 3)
    client.report(ledger, (STEP, 3))
    daemon.kill()
    late = threading.Timer(0.3, daemon.start)
    late.start()
    with pytest.raises(Exception, match="plan"):
        client.report(ledger, STEP)
    late.join()
    assert "answers again" in lines(caplog)[-1]
