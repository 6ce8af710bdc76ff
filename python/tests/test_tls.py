# SPDX-License-Identifier: Apache-2.0
"""TLS with the daemon's files, and certificates that say who reports."""

from __future__ import annotations

import asyncio
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from conftest import STEP, Daemon, plan

from privacy_accountant import AsyncClient, Client, Unavailable

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")


def openssl(directory: Path, *args: str) -> None:
    subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True)


def certificate(directory: Path, name: str, subject: str, extension: str) -> None:
    """name.crt and name.key, certified by ca.crt."""
    openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
    (directory / f"{name}.ext").write_text(extension)
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-out",
            f"{name}.crt", "-days", "2", "-extfile", f"{name}.ext")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with ca.crt, and with certificates and keys of the daemon and of ann."""
    files = tmp_path / "tls"
    files.mkdir()
    openssl(files, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            "ca.key", "-out", "ca.crt", "-subj", "/CN=test", "-days", "2")
    certificate(files, "server", "/CN=daemon", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth")
    certificate(files, "ann", "/CN=ann", "extendedKeyUsage=clientAuth")
    return files


@pytest.fixture
def secure(tmp_path: Path, files: Path) -> Iterator[Daemon]:
    """A daemon with mutual TLS."""
    daemon = Daemon(tmp_path, "--tls-cert", str(files / "server.crt"), "--tls-key", str(files / "server.key"),
                    "--tls-client-ca", str(files / "ca.crt")).start()
    yield daemon
    daemon.kill()


def test_mutual_tls(files: Path, secure: Daemon, connect: Callable[..., Client]) -> None:
    read = {p.name: p.read_bytes() for p in files.iterdir()}
    ann = connect(secure.address,
                  credentials=grpc.ssl_channel_credentials(read["ca.crt"], read["ann.key"], read["ann.crt"]))
    ledger = plan(ann, 100)
    with ann.run(ledger) as run:
        for _ in range(60):
            run.step(STEP)
    assert {e.principal for e in ann.entries(ledger)} == {"cn:ann"}
    for stranger in (None, grpc.ssl_channel_credentials(read["ca.crt"])):
        with pytest.raises(Unavailable):
            connect(secure.address, credentials=stranger, deadline=1.0).get_ledger(ledger)


def test_mistakes(tmp_path: Path, files: Path, secure: Daemon, connect: Callable[..., Client]) -> None:
    """Whoever sets up a connection wrongly is told what to do, in one sentence."""
    openssl(files, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
            "other.key", "-out", "other.crt", "-subj", "/CN=other", "-days", "2")
    ca, other = ((files / name).read_bytes() for name in ("ca.crt", "other.crt"))
    ended = "it may speak TLS where this client does not"
    (tmp_path / "plain").mkdir()
    plain = Daemon(tmp_path / "plain").start()

    class Page(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    try:
        for address, credentials, says in (
            (secure.address, None, ended),
            (plain.address, grpc.ssl_channel_credentials(ca), "speaks no TLS on this port"),
            (secure.address, grpc.ssl_channel_credentials(other), "an authority that is not trusted here"),
            (secure.address, grpc.ssl_channel_credentials(ca), ended),
            (f"127.0.0.1:{page.server_port}", None, "Something else than gRPC answers there"),
        ):
            with pytest.raises(Unavailable, match=says):
                connect(address, credentials=credentials, deadline=5.0).get_ledger("a")
    finally:
        page.shutdown()
        page.server_close()
        plain.kill()


def environment(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    for name in ("CA", "CERT", "KEY", "SERVER_NAME"):
        monkeypatch.delenv("ACCOUNTANT_TLS_" + name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv("ACCOUNTANT_TLS_" + name, str(value))


def test_files_of_the_environment(files: Path, secure: Daemon, connect: Callable[..., Client],
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    ann = {"CA": files / "ca.crt", "CERT": files / "ann.crt", "KEY": files / "ann.key"}
    environment(monkeypatch, **ann)
    client = connect(secure.address)
    ledger = plan(client, 100)
    client.report(ledger, STEP)
    assert {e.principal for e in client.entries(ledger)} == {"cn:ann"}

    async def main() -> str:
        async with AsyncClient(secure.address, deadline=20.0) as client:
            return (await client.get_ledger(ledger)).name

    assert asyncio.run(main()) == ledger
    assert connect(secure.socket).get_ledger(ledger).name == ledger  # a socket needs none
    for wrong in ({"CERT": files / "ann.crt", "KEY": files / "ann.key"}, ann | {"SERVER_NAME": "other"},
                  {"CA": files / "ca.crt"}):
        environment(monkeypatch, **wrong)  # authorities that did not certify it; another name; no certificate
        with pytest.raises(Unavailable, match="no daemon answers at " + secure.address):
            connect(secure.address, deadline=1.0).get_ledger(ledger)


def test_a_server_name_of_the_environment(tmp_path: Path, files: Path, connect: Callable[..., Client],
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    certificate(files, "named", "/CN=daemon", "subjectAltName=DNS:accountant.example\nextendedKeyUsage=serverAuth")
    daemon = Daemon(tmp_path, "--tls-cert", str(files / "named.crt"), "--tls-key", str(files / "named.key")).start()
    try:
        environment(monkeypatch, CA=files / "ca.crt", SERVER_NAME="accountant.example")
        plan(connect(daemon.address), 1)
        monkeypatch.delenv("ACCOUNTANT_TLS_SERVER_NAME")
        with pytest.raises(Unavailable):
            plan(connect(daemon.address, deadline=1.0), 1)
        # The system's authorities, where the environment says that these are they.
        environment(monkeypatch, SERVER_NAME="accountant.example")
        monkeypatch.setenv("SSL_CERT_FILE", str(files / "ca.crt"))
        plan(connect(daemon.address), 1)
    finally:
        daemon.kill()


@pytest.mark.parametrize(("values", "told"), [
    ({"CERT": "ann.crt"}, "TLS certificate and key.*both or neither"),
    ({"CA": "none.crt"}, "TLS authorities: .*none.crt.*No such file"),
    ({"CA": "ann.key"}, "TLS authorities: .*ann.key.*PEM file"),
    ({"CERT": "ann.crt", "KEY": "server.key"}, "TLS certificate and key: .*server.key"),
])
def test_broken_files_of_the_environment(files: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, str],
                                         told: str) -> None:
    environment(monkeypatch, **{name: files / file for name, file in values.items()})
    with pytest.raises(ValueError, match=told):
        Client("127.0.0.1:1")


def test_one_line_of_a_handshake_that_fails(files: Path, secure: Daemon) -> None:
    """gRPC's C library would write three at each attempt."""
    program = ("from privacy_accountant import Client, Unavailable\n"
               f"try: Client({secure.address!r}, deadline=2).get_ledger('a')\nexcept Unavailable: print('told')")
    env = {k: v for k,
           v in os.environ.items() if not k.startswith("GRPC_")} | {"ACCOUNTANT_TLS_CA": str(files / "ca.crt")}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True, text=True)
    assert done.stdout == "told\n" and len(done.stderr.splitlines()) == 1, done.stderr
