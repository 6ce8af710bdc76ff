# SPDX-License-Identifier: Apache-2.0
"""A ledger's stored bytes, read by the oracle's reader, which knows record.proto alone: what the daemon was told is in
them, and their chain of hashes is the one that its receipts and its signed head name."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import STEP, Daemon

from privacy_accountant import Client, gaussian, laplace, pure_dp

ROOT = Path(__file__).parents[2]


def export(daemon: Daemon, ledger: str) -> str:
    return subprocess.run(["accountctl", "ledger", "entries", ledger, "--raw", "--output", "jsonl", "--server",
                           daemon.socket], stdout=subprocess.PIPE, check=True, text=True).stdout


def read(path: Path, text: str) -> subprocess.CompletedProcess[str]:
    path.write_text(text)
    return subprocess.run([sys.executable, "-m", "oracle.records", str(path)], cwd=ROOT, capture_output=True, text=True)


def records(path: Path, text: str) -> list[dict[str, Any]]:
    done = read(path, text)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_bytes_say_what_was_done(shared: Daemon, connect: Callable[..., Client], tmp_path: Path) -> None:
    client = connect(shared.socket)  # its owner, who may refund and raise
    names = [f"records/{uuid.uuid4()}" for _ in range(2)]
    for name in names:
        client.create_ledger(name, "add-or-remove-one", labels={"team": "ü", "empty": ""},
                             budgets=[{"epsilon": 8, "delta": 1e-5, "guard": "rdp"}], expected_run=(STEP, 100))
    name = names[0]
    said = [client.report(name, [(STEP, 99), pure_dp(epsilon=0.1)], labels={"run": "7"}),
            client.report(name, laplace(scale=2, sensitivity=0.1), request_id="table")]
    held = client.reserve(name, (gaussian(noise_multiplier=9), 8), lifetime=60)
    said += [held, client.commit(name, held.receipt.position, (gaussian(noise_multiplier=9), 5)),
             client.release(name, held.receipt.position, "enough"),
             client.refund(name, 1, "never run", nothing_released=True),
             client.raise_budgets(name, "more data", budgets=[{"epsilon": 9, "delta": 1e-5, "guard": "rdp"}])]
    together = client.ledger_set(names).report(pure_dp(epsilon=0.1), contribution="in-each").receipt
    said.append(client.close_ledger(name, "over"))

    text = export(shared, name)
    genesis, *entries = records(tmp_path / "entries", text)
    known = {s.receipt.position: s.receipt.head_hash for s in said}
    known |= {m.position: m.head_hash for m in together.members if m.ledger == name}
    head = client.signed_head(name)
    assert (head.position, head.head_hash) == (len(entries), known[len(entries)])
    assert {e["position"]: bytes.fromhex(e["hash"]) for e in entries} == known
    assert genesis["spec"] == {
        "name": name, "adjacency": "ADD_OR_REMOVE_ONE", "labels": {"empty": "", "team": "ü"}, "policy": "FILTER",
        "budgets": [{"epsilon": 8.0, "delta": 1e-5, "guard": "RDP"}], "expected_run": {
            "adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": 100, "mechanism": {"poisson_sampled": {
                "sampling_probability": 0.01, "mechanism": {"gaussian": {"noise_multiplier": 1.1}}}}}]}}
    kinds = ["charge", "charge", "reserve", "commit", "release", "refund", "raise", "charge", "close"]
    assert [kind in e for kind, e in zip(kinds, entries, strict=True)] == [True] * len(kinds)
    assert entries[1]["writer"] == "request/table" and entries[1]["charge"]["events"] == [
        {"mechanism": {"laplace": {"scale": 2.0, "sensitivity": 0.1}}, "count": 1}]
    assert entries[5]["refund"]["events"] == entries[0]["charge"]["events"]

    journal = records(tmp_path / "journal", export(shared, together.ledger))[together.position]
    assert bytes.fromhex(journal["hash"]) == together.head_hash
    members = b"".join(m["ledger"].encode() + b"\0" for m in journal["together"]["members"])
    assert entries[7]["set"]["names"] == hashlib.sha256(members).hexdigest()

    lines = text.splitlines()
    changed = json.loads(lines[4])
    raw = bytearray(base64.b64decode(changed["raw"]))
    raw[-1] ^= 1
    lines[4] = json.dumps(changed | {"raw": base64.b64encode(raw).decode()})
    for damage in lines, text.splitlines()[:3] + text.splitlines()[4:], text.splitlines()[1:]:
        done = read(tmp_path / "damaged", "\n".join(damage))
        assert done.returncode == 1 and "; allowed: " in done.stderr, (damage, done)
