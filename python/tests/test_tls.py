"""TLS with the daemon's files, and certificates that say who reports."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from conftest import STEP, Daemon, plan

from dp_accountant import Client, Unavailable

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make certificates with")


def openssl(directory: Path, *args: str) -> None:
    subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True)


def certificate(directory: Path, name: str, subject: str, extension: str) -> None:
    """name.crt and name.key, certified by ca.crt."""
    openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
    (directory / f"{name}.ext").write_text(extension)
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-out", f"{name}.crt", "-days", "2", "-extfile", f"{name}.ext")


def test_mutual_tls(tmp_path: Path, connect: Callable[..., Client]) -> None:
    files = tmp_path / "tls"
    files.mkdir()
    openssl(files, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test", "-days", "2")
    certificate(files, "server", "/CN=daemon", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth")
    certificate(files, "ann", "/CN=ann", "extendedKeyUsage=clientAuth")
    read = {p.name: p.read_bytes() for p in files.iterdir()}
    daemon = Daemon(tmp_path, "--tls-cert", str(files / "server.crt"), "--tls-key", str(files / "server.key"), "--tls-client-ca", str(files / "ca.crt")).start()
    try:
        ann = connect(daemon.address, credentials=grpc.ssl_channel_credentials(read["ca.crt"], read["ann.key"], read["ann.crt"]))
        ledger = plan(ann, 100)
        with ann.run(ledger) as run:
            for _ in range(60):
                run.step(STEP)
        assert {e.principal for e in ann.entries(ledger)} == {"cn:ann"}
        for stranger in (None, grpc.ssl_channel_credentials(read["ca.crt"])):
            with pytest.raises(Unavailable):
                connect(daemon.address, credentials=stranger, deadline=1.0).get_ledger(ledger)
    finally:
        daemon.kill()
