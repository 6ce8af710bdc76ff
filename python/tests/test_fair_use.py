# SPDX-License-Identifier: Apache-2.0
"""A daemon that bounds what one caller takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from conftest import STEP, Daemon

from privacy_accountant import Client


def test_calls_come_back_when_they_are_told_to(tmp_path: Path, connect: Callable[..., Client]) -> None:
    daemon = Daemon(tmp_path, "--fair-calls", "20").start()
    try:
        client = connect(daemon.address)
        client.create_ledger("fair", adjacency="zero-out")
        began = time.monotonic()
        for n in range(40):
            client.report("fair", STEP, labels={"n": str(n)})
        with client.stream("fair") as stream:
            for n in range(40, 100):
                stream.report(STEP, {"n": str(n)})
        assert time.monotonic() - began > 2.5
        assert [e.charge.labels["n"] for e in client.entries("fair")] == [str(n) for n in range(100)]
    finally:
        daemon.kill()
