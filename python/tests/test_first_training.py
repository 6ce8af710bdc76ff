# SPDX-License-Identifier: Apache-2.0
"""The Opacus job of docs/first-training.md is killed and started again, and its account stays right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from privacy_accountant import Client

PAGE = Path(__file__).parents[2] / "docs" / "first-training.md"


@pytest.mark.frameworks
def test_opacus_killed_and_resumed(tmp_path: Path) -> None:
    pytest.importorskip("opacus")
    section = PAGE.read_text().partition("## The same with Opacus")[2]
    make, train = re.findall(r"```python\n(.*?)```", section, re.S)
    (tmp_path / "train_opacus.py").write_text(train)
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True)

    command = [sys.executable, "-u", "train_opacus.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if line.startswith("epoch 3"):
                break
        job.kill()
    resumed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.startswith("goes on after epoch ") and "epoch 10\n" in resumed.stdout
    assert "ε ≤ 2.26 at δ = 1e-05" in resumed.stdout
    with Client.local(tmp_path / "ledgers") as client:
        (plan,) = client.get_ledger("digits/opacus").plan
    assert 250 <= plan.spent <= 300 and plan.spent + plan.reserved + plan.remaining == 300
