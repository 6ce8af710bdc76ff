# SPDX-License-Identifier: Apache-2.0
"""NVIDIA FLARE's simulator: its server, two clients and the workflow FedAvg. Run by make test-frameworks."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from conftest import Daemon

from privacy_accountant import Client, gaussian

pytestmark = pytest.mark.frameworks
pytest.importorskip("nvflare")
ROUND = gaussian(noise_multiplier=1.1)


def train(shared: Daemon, ledger: str, rounds: int, directory: Path) -> tuple[int, str]:
    """How many tasks reached clients, and the log."""
    script = Path(__file__).with_name("nvflare_job.py")
    done = subprocess.run([sys.executable, str(script), shared.address, ledger, str(rounds), str(directory)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, cwd=directory)
    trained = directory / "trained"
    return len(trained.read_text().splitlines()) if trained.exists() else 0, done.stdout


def test_rounds(shared: Daemon, client: Client, tmp_path: Path) -> None:
    ledger = client.create_ledger(f"n/{uuid.uuid4()}", "add-or-remove-one", plan=(ROUND, 2)).spec.name
    (tmp_path / "fits").mkdir()
    trained, log = train(shared, ledger, 2, tmp_path / "fits")
    state = client.get_ledger(ledger)
    assert trained == 2 * 2 and state.total_count == 2 and not state.reservations, log[-3000:]
    assert [e.WhichOneof("action") for e in client.entries(ledger)] == ["reserve", "commit"] * 2
    (tmp_path / "over").mkdir()
    trained, log = train(shared, ledger, 1, tmp_path / "over")
    assert trained == 0 and "the budget takes no further round" in log, log[-3000:]
    assert client.get_ledger(ledger).total_count == 2


def test_what_counts_as_a_round(client: Client, shared: Daemon) -> None:
    # FLARE's own messages and contexts, without its server.
    from nvflare.apis.fl_constant import ReservedKey
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.shareable import ReservedHeaderKey, Shareable
    from nvflare.app_common.app_constant import AppConstants

    from privacy_accountant.nvflare import LedgerFilter

    ledger = client.create_ledger(f"n/{uuid.uuid4()}", "add-or-remove-one", plan=(ROUND, 9)).spec.name
    gate = LedgerFilter(ledger, "gaussian", {"noise_multiplier": 1.1}, shared.address)

    def send(site: str, task: str, number: int | None, workflow: str = "a") -> int:
        """How many rounds are charged or set aside once the task has left."""
        message, context, peer = Shareable(), FLContext(), FLContext()
        if number is not None:
            message.set_header(AppConstants.CURRENT_ROUND, number)
        message.set_header(ReservedHeaderKey.TASK_ID, task)
        message.add_cookie(ReservedHeaderKey.WORKFLOW, workflow)
        peer.set_prop(ReservedKey.IDENTITY_NAME, site)
        context.set_peer_context(peer)
        assert gate.process(message, context) is message
        state = client.get_ledger(ledger)
        return int(state.total_count) + len(state.reservations)

    assert [send("x", "t1", 0), send("y", "t2", 0)] == [1, 1]
    assert send("x", "t1", 0) == 1  # sent again, as after a crash of the client
    assert send("y", "t3", 1) == 2  # a round in which others take part
    assert [send("y", "t4", 1), send("y", "t5", 1)] == [3, 4]  # more tasks in one round
    assert send("x", "t6", 1, workflow="b") == 5  # another workflow begins to count again
    with pytest.raises(ValueError, match="the task does not say its round, so it is not sent"):
        send("x", "t7", None)
    gate.handle_event("_end_run", FLContext())
    state = client.get_ledger(ledger)
    assert state.total_count == 5 and not state.reservations
