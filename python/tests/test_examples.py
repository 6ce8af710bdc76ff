# SPDX-License-Identifier: Apache-2.0
"""The examples run, charge what they say, and learn something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Daemon

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *args: str) -> tuple[int, float, float, int]:
    """Steps, accuracy in percent, ε, and what the ledger has."""
    out = subprocess.run([sys.executable, name, *args], cwd=EXAMPLES, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    found = re.search(r"after (\d+) steps:.*test accuracy ([\d.]+)%; \(([\d.]+), 1e-05\).*: (\d+) steps charged",
                      out.stdout, re.S)
    assert found, out.stdout
    return int(found[1]), float(found[2]), float(found[3]), int(found[4])


def test_numpy(shared: Daemon) -> None:
    steps, accuracy, epsilon, charged = run("digits_numpy.py", "--server", shared.address)
    assert (steps, charged) == (500, 500) and accuracy > 80
    assert epsilon == 4.3013  # as README.md has of the Go demonstration: the same run


@pytest.mark.frameworks
def test_opacus(shared: Daemon) -> None:
    pytest.importorskip("opacus")
    steps, accuracy, epsilon, charged = run("digits_opacus.py", "--server", shared.address)
    assert (steps, charged) == (160, 160) and accuracy > 60 and 0.5 < epsilon < 5
