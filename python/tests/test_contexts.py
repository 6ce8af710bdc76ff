# SPDX-License-Identifier: Apache-2.0
"""Contexts, which accountctl login makes and both programs and this package read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from privacy_accountant import Client, Unavailable

from conftest import BINARY, Daemon
from test_tls import files, secure  # noqa: F401  fixtures

ACCOUNTCTL = str(Path(BINARY).resolve().with_name("accountctl"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder for settings, where nothing else says where a daemon is."""
    for name in list(os.environ):
        if name.startswith("ACCOUNTANT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    return tmp_path / "settings" / "privacy-accountant" / "contexts.json"


def ctl(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ACCOUNTCTL, *args], capture_output=True, text=True)


def test_login_once_for_accountctl_and_python(home: Path, files: Path, secure: Daemon,  # noqa: F811
                                              shared: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)  # names of files are kept whole
    said = ctl("login", "prod", "--server", secure.address, "--tls-ca", "ca.crt", "--tls-cert", "ann.crt", "--tls-key",
               "ann.key")
    assert said.stdout.split() == ["context", "prod,", "which", "is", "used", "from", "now", "on", "server",
                                   secure.address, "you", "are", "cn:ann"], said.stderr
    monkeypatch.chdir("/")
    assert home.stat().st_mode & 0o777 == 0o600
    assert ctl("login", "dev", "--server", shared.address).returncode == 0
    assert ctl("contexts").stdout.split() == ["*", "dev", shared.address, "prod", secure.address]
    with Client() as dev, Client(context="prod", deadline=20) as prod:
        assert (dev.server, prod.server) == (shared.address, secure.address)
        prod.create_ledger("team/contexts", "add-or-remove-one")
    assert ctl("login", "prod").returncode == 0
    assert "team/contexts" in ctl("ledger", "list").stdout
    with Client(deadline=20) as prod:
        assert prod.get_ledger("team/contexts").name == "team/contexts"
    monkeypatch.setenv("ACCOUNTANT_CONTEXT", "dev")
    with Client() as dev:
        assert dev.server == shared.address
    assert ctl("logout", "dev").returncode == 0
    assert list(json.loads(home.read_text())["contexts"]) == ["prod"]


def test_a_context_is_taken_whole_or_not_at_all(home: Path, shared: Daemon, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    home.parent.mkdir(parents=True)
    home.write_text(json.dumps({"current": "far", "contexts": {
        "far": {"server": "far.example.org:7878", "tls": True, "token_file": str(token)}}}))
    with Client(shared.address) as client:  # not with far's token
        assert client._settings.token is None
    monkeypatch.setenv("ACCOUNTANT_SERVER", shared.address)
    with Client() as client:
        assert (client.server, client._settings.token) == (shared.address, None)
    for both in (lambda: Client(context="far"), lambda: Client("127.0.0.1:1", context="far")):
        with pytest.raises(ValueError, match="are both given"):
            both()
    assert "--context" in (said := ctl("ledger", "list", "--context", "far")).stderr and said.returncode == 2
    monkeypatch.delenv("ACCOUNTANT_SERVER")
    monkeypatch.setenv("ACCOUNTANT_TOKEN", "another")  # for a daemon on this machine
    with Client() as client:
        assert client.server == "127.0.0.1:7878"


def test_nothing_is_kept_of_a_daemon_that_does_not_answer(home: Path) -> None:
    said = ctl("login", "prod", "--server", "127.0.0.1:1")
    assert said.returncode == 4 and "no answer from 127.0.0.1:1" in said.stderr
    assert not home.exists()
    assert "no context is kept" in ctl("contexts").stdout
    with pytest.raises(ValueError, match="'prod' is not known; known: none"):
        Client(context="prod")


@pytest.mark.parametrize(("text", "told"), [
    ("{", "cannot be read"), ("[]", "cannot be read"), ('{"contexts": {"a": {"server": 1}}}', "cannot be read"),
    ('{"contexts": {"a": {"server": "127.0.0.1:1", "proxy": "x"}}}', "proxy"), ('{"current": "b"}', "b.* is not known"),
    ('{"contexts": {"a": {"tls": true}}}', "server"), ("{} {}", "cannot be read"),
])
def test_a_broken_file(home: Path, text: str, told: str) -> None:
    home.parent.mkdir(parents=True)
    home.write_text(text)
    with pytest.raises(ValueError, match=told):
        Client()
    assert "version" not in ctl("version").stderr  # what needs no daemon goes on
    said = ctl("ledger", "list")
    assert said.returncode == 2 and "context" in said.stderr


def test_an_error_names_the_context(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text('{"current": "dev", "contexts": {"dev": {"server": "127.0.0.1:1"}}}')
    with Client(deadline=1) as client, pytest.raises(Unavailable, match=r"127.0.0.1:1 \(the context 'dev'\)"):
        client.get_ledger("a")
