# SPDX-License-Identifier: Apache-2.0
"""The real daemon, and a proxy that cuts and delays. Tests need the binary ACCOUNTANTD."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from privacy_accountant import Client, gaussian, poisson_sampled

BINARY = os.environ.get("ACCOUNTANTD", str(Path(__file__).parents[2] / "bin" / "accountantd"))
os.environ["PATH"] += os.pathsep + str(Path(BINARY).resolve().parent)  # where accountctl is, too
STEP = poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01)


class Daemon:
    """accountantd with a directory and, once started, an address of its own."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self.directory, self.flags = directory, flags
        self.address = "127.0.0.1:0"
        self.process: subprocess.Popen[str] | None = None

    @property
    def socket(self) -> str:
        return f"unix:{self.directory}/data/accountant.sock"

    def start(self) -> Daemon:
        with open(self.directory / "log", "a") as log:
            self.process = subprocess.Popen(
                [BINARY, "--listen", self.address, "--http", "", "--data", str(self.directory / "data"), *self.flags],
                stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("accountantd ready"), (line, (self.directory / "log").read_text()[-2000:])
        self.address = dict(word.split("=", 1) for word in line.split()[2:])["listen"]
        return self

    def kill(self) -> None:
        """As a power cut would."""
        assert self.process is not None and self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def restart(self) -> None:
        self.kill()
        self.start()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One for all tests that leave it alive."""
    d = Daemon(tmp_path_factory.mktemp("d")).start()
    yield d
    d.kill()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """One for a test that kills it."""
    d = Daemon(tmp_path).start()
    yield d
    d.kill()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Makes clients, impatient ones, and closes them."""
    clients: list[Client] = []

    def make(server: str, **options: object) -> Client:
        clients.append(
            Client(server,
                   **({"timeout": 6.0, "deadline": 30.0, "backoff_min": 0.01,
                       "backoff_max": 0.1} | options)))  # type: ignore[arg-type]
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(shared: Daemon, connect: Callable[..., Client]) -> Client:
    return connect(shared.address)


@pytest.fixture
def ledger(client: Client) -> str:
    """A new DESCRIPTIVE ledger."""
    return client.create_ledger(f"t/{uuid.uuid4()}", "add-or-remove-one").spec.name


def plan(client: Client, count: int) -> str:
    """A new ledger on which STEP may be made count times."""
    return client.create_ledger(f"p/{uuid.uuid4()}", "add-or-remove-one", plan=(STEP, count)).spec.name


class Lost(grpc.RpcError):  # type: ignore[misc]
    """What a client sees of a request or an answer that never arrives."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "lost by the test"

    def trailing_metadata(self) -> None:
        return None


class Proxy:
    """A TCP proxy to a daemon on loopback that can hold back what passes and cut connections."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._flowing = threading.Event()
        self._flowing.set()
        self.cuts = 0
        self.connections = 0
        self.delay = 0.0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:  # the daemon is away
                near.close()
                continue
            with self._lock:
                self.connections += 1
                self._sockets += [near, far]
            for a, b in ((near, far), (far, near)):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    def _pump(self, a: socket.socket, b: socket.socket) -> None:
        try:
            while data := a.recv(4096):
                if self.delay:
                    time.sleep(self.delay)  # the network's, not the test's
                self._flowing.wait()
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def hold(self) -> None:
        """Lets nothing pass; connections stay."""
        self._flowing.clear()

    def resume(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        """Ends every connection; what was held is lost."""
        with self._lock:
            self.cuts += 1
            for s in self._sockets:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                s.close()
            self._sockets.clear()
        self._flowing.set()

    def close(self) -> None:
        self._listener.close()
        self.cut()


@pytest.fixture
def proxy(shared: Daemon) -> Iterator[Proxy]:
    p = Proxy(shared.address)
    yield p
    p.close()
