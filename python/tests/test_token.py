# SPDX-License-Identifier: Apache-2.0
"""Tokens that say who calls, with the real daemon."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import issuer
import pytest
from conftest import BINARY, STEP, Daemon, plan

from privacy_accountant import AsyncClient, Client, PermissionDenied
from privacy_accountant._token import Token

ANN = f"oidc:{issuer.URL}#ann"


@pytest.fixture
def tokened(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that takes the issuer's tokens, and logs everything."""
    keys = issuer.keys(tmp_path / "keys.json")
    d = Daemon(tmp_path, "--token-issuer", issuer.URL, "--token-audience", issuer.AUDIENCE, "--token-keys", str(keys),
               "--log-level", "debug").start()
    yield d
    d.kill()


def put(path: Path, token: str) -> Path:
    """Replaces a file in one step."""
    path.with_suffix(".new").write_text(token + "\n")
    os.replace(path.with_suffix(".new"), path)
    return path


def test_a_token_says_who_calls(tokened: Daemon, tmp_path: Path, connect: Callable[..., Client],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    token = issuer.token("ann")
    file = put(tmp_path / "token", token)
    for n, client in enumerate(
        (connect(tokened.address, token_file=file), connect(tokened.socket, token_file=file, principal="bob"))):
        assert client.create_ledger(f"who/{n}", adjacency="zero-out").principal == ANN
        client.report(f"who/{n}", STEP)
        assert [e.principal for e in client.entries(f"who/{n}")] == [ANN]
    monkeypatch.setenv("ACCOUNTANT_TOKEN", token)
    assert connect(tokened.address).create_ledger("who/env", adjacency="zero-out").principal == ANN
    monkeypatch.setenv("ACCOUNTANT_TOKEN_FILE", str(put(tmp_path / "bob", issuer.token("bob"))))
    assert connect(tokened.address).create_ledger("who/file",
                                                  adjacency="zero-out").principal == f"oidc:{issuer.URL}#bob"

    async def alone() -> str:
        async with AsyncClient(tokened.address, token_file=file) as client:
            return (await client.create_ledger("who/aio", adjacency="zero-out")).principal
    assert asyncio.run(alone()) == ANN

    # accountctl, a process of its own
    environment = {**os.environ, "ACCOUNTANT_TOKEN_FILE": str(file), "ACCOUNTANT_SERVER": tokened.address}
    accountctl = Path(BINARY).with_name("accountctl")
    subprocess.run([accountctl, "ledger", "create", "who/ctl", "--adjacency", "zero-out"], env=environment, check=True)
    assert connect(tokened.address).get_ledger("who/ctl").principal == ANN

    log = (tmp_path / "log").read_text()
    assert ANN in log
    for part in token.split("."):
        assert part[-16:] not in log


def test_a_bad_token_is_refused(tokened: Daemon, tmp_path: Path, connect: Callable[..., Client]) -> None:
    for says, token in {
        "expired": issuer.token("ann", -60), "audience accountant": issuer.token("ann", aud="billing"),
        "its signature is wrong": issuer.token("ann")[:-8] + "AAAAAAAA", "three parts": "garbage",
        "another issuer": issuer.token("ann", iss="https://other.example.org"), '"sub"': issuer.token(""),
    }.items():
        client = connect(tokened.address, token_file=put(tmp_path / "bad", token))
        with pytest.raises(PermissionDenied, match=says) as e:
            client.create_ledger("bad", adjacency="zero-out")
        assert e.value.code.name == "UNAUTHENTICATED" and token.split(".")[-1] not in str(e.value)


def test_a_token_needs_encryption(tmp_path: Path) -> None:
    file = put(tmp_path / "token", issuer.token("ann"))
    with pytest.raises(ValueError, match="a token in plain text could be read"):
        Client("accountant.example.org:7878", insecure=True, token_file=file)
    for content, says in {"": "is empty", "two tokens": "other characters", "a" * 9000: "more than 8192"}.items():
        with pytest.raises(ValueError, match=says) as e:
            Client(token_file=put(tmp_path / "wrong", content))
        assert not content or content not in str(e.value)
    with pytest.raises(ValueError, match="No such file"):
        Client(token_file=tmp_path / "missing")


def test_a_file_is_read_again(tmp_path: Path) -> None:
    file = put(tmp_path / "token", "first")
    token = Token.of(file)
    assert token is not None and token.now() == "first" and "first" not in repr(token)
    for n in range(20):
        file.write_text(f"in-place-{n}")
        assert token.now() == f"in-place-{n}"
    file.write_text("not a token")
    assert token.now() == "in-place-19"
    file.unlink()
    assert token.now() == "in-place-19"


def test_streams_and_runs_go_on_with_the_next_token(tokened: Daemon, tmp_path: Path,
                                                    connect: Callable[..., Client]) -> None:
    """Each token ends before the next one comes."""
    file = put(tmp_path / "token", issuer.token("ann"))
    client = connect(tokened.address, token_file=file)
    client.create_ledger("through/stream", adjacency="zero-out")
    run_ledger = plan(client, 10_000)
    done = threading.Event()

    def renew() -> None:
        while not done.wait(2.5):
            put(file, issuer.token("ann", 2))
    put(file, issuer.token("ann", 2))
    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        sent = steps = 0
        began = time.monotonic()
        with client.new_writer().stream("through/stream",
                                        window=16) as stream, client.new_writer().run(run_ledger) as run:
            while time.monotonic() - began < 8 or stream.connections < 3:
                assert time.monotonic() - began < 60
                stream.report(STEP, {"n": str(sent)})
                sent += 1
                run.step(STEP)
                steps += 1
                time.sleep(0.005)
    finally:
        done.set()
        renewing.join()
        put(file, issuer.token("ann"))
    entries = list(client.entries("through/stream"))
    assert [e.charge.labels["n"] for e in entries] == [str(n) for n in range(sent)]
    assert {e.principal for e in entries} == {ANN}
    assert client.get_ledger(run_ledger).total_count == steps
