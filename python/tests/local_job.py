# SPDX-License-Identifier: Apache-2.0
"""What processes do that share a directory with ledgers; test_local.py starts them."""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from conftest import STEP  # which puts accountantd on PATH

from privacy_accountant import Client, Closed

LEDGER = "shared"
meet: Callable[[float], object]


def together(barrier: Any) -> None:
    """Gives a process of a pool what all of them wait for."""
    global meet
    meet = barrier.wait


def once(path: str) -> str:
    """Opens the directory at the same time as the others, charges once, and returns which daemon served it."""
    meet(120)
    with Client.local(path, deadline=60) as client:
        meet(120)
        client.create_ledger(LEDGER, "add-or-remove-one")
        client.report(LEDGER, STEP, labels={"id": str(os.getpid())})
        served = client._settings.served
        assert served is not None
        return served.served_by()


def charge(path: str) -> None:
    """Charges again and again, each time under another label, and prints the label once the charge is acknowledged."""
    with Client.local(path, deadline=60) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
        while True:
            name = uuid.uuid4().hex
            client.report(LEDGER, STEP, labels={"id": name})
            print(name, flush=True)


def fork(path: str) -> None:
    """Forks with a client open. The child cannot use it, and opens the directory itself. Another
    child, which lives on, does not keep the daemon."""
    with Client.local(path, deadline=60) as client:
        client.create_ledger(LEDGER, "add-or-remove-one")
        client.report(LEDGER, STEP, labels={"id": "parent"})
        child = os.fork()
        if child == 0:
            try:
                client.report(LEDGER, STEP, labels={"id": "never"})
            except Closed:
                with Client.local(path, deadline=60) as own:
                    own.report(LEDGER, STEP, labels={"id": "child"})
                    os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        client.report(LEDGER, STEP, labels={"id": "parent again"})
        idle = os.fork()
        if idle == 0:
            os.close(1)
            time.sleep(60)
            os._exit(0)
    print(idle, flush=True)
    os._exit(0)


if __name__ == "__main__":
    {"charge": charge, "fork": fork}[sys.argv[1]](sys.argv[2])
