# SPDX-License-Identifier: Apache-2.0
"""Callbacks under torch.distributed: rank 0 covers for all, and all stop together. Run by make test-frameworks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import STEP, Daemon, plan

from privacy_accountant import Client

pytestmark = pytest.mark.frameworks
torch = pytest.importorskip("torch")


def worker(rank: int, address: str, ledger: str, file: str) -> None:
    from privacy_accountant._training import Training

    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    with Client(address) as client, Training(client, ledger, STEP) as training:
        training.begin()
        made = 0
        while True:
            training.cover()
            made += 1
            if not training.goes_on():
                break
    assert made == 5 and (training.run is None) == (rank != 0)
    torch.distributed.destroy_process_group()


def test_ranks(shared: Daemon, client: Client, tmp_path: Path) -> None:
    ledger = plan(client, 5)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.spawn(worker, args=(shared.address, ledger, str(tmp_path / "r")), nprocs=2)
    state = client.get_ledger(ledger)
    assert state.total_count == 5 and not state.reservations
