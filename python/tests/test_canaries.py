# SPDX-License-Identifier: Apache-2.0
"""Canaries in a training: their coins, their norms, and what the digits show of right and of broken training."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Daemon

np = pytest.importorskip("numpy")

from privacy_accountant.canaries import GradientCanaries  # noqa: E402

ROOT = Path(__file__).parents[2]


def test_rows() -> None:
    """About half of the canaries are in, the same in every step, and each is in about as many steps as sampling has
    it; all have the norm."""
    canaries = GradientCanaries(1000, 20, guesses=10, norm=3, sampling_probability=0.25, seed=1)
    seen: dict[bytes, int] = {}
    for _ in range(400):
        rows = canaries.rows()
        assert np.allclose(np.linalg.norm(rows, axis=1), 3, rtol=1e-5)
        for row in rows:
            seen[row.tobytes()] = seen.get(row.tobytes(), 0) + 1
    # Five standard deviations: √(1000/4) ≈ 16, and √(400·0.25·0.75) ≈ 8.7.
    assert 420 < len(seen) < 580 and 56 < min(seen.values()) and max(seen.values()) < 144


def test_guesses() -> None:
    """Without noise all guesses are right, with noise alone half of them, and with equal scores none."""
    for noise, low, high in ((0.0, 100, 100), (1e6, 25, 75)):
        canaries = GradientCanaries(200, 5000, guesses=100, norm=1, seed=2)
        canaries.observe(canaries.rows().sum(axis=0) + np.random.default_rng(3).normal(0, noise, 5000))
        assert low <= canaries.guess().correct <= high
    nothing = GradientCanaries(200, 5, guesses=60, norm=1, seed=2)
    assert nothing.guess() == (200, 60, 0)
    with pytest.raises(ValueError, match="noisy: 4 numbers; allowed: 5"):
        nothing.observe(np.zeros(4))
    for wrong in ({"guesses": 11}, {"guesses": 0}, {"norm": 0}, {"sampling_probability": 1.5}, {"size": 0}):
        with pytest.raises(ValueError, match="allowed: "):
            GradientCanaries(**{"count": 10, "size": 5, "guesses": 5, "norm": 1, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("broken", ["", "clipping", "noise"])
def test_digits(shared: Daemon, broken: str) -> None:
    """Right training shows less than what is proven; each mistake is told. The page has the same figures."""
    out = subprocess.run(
        [sys.executable, "digits_canaries.py", "--server", shared.address, "--seed", "1",
         *(["--broken", broken] if broken else [])], cwd=ROOT / "python/examples", capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    found = re.search(r"accuracy ([\d.]+)%; (\d+) of 100 .* observed ε ≥ ([\d.]+), proven ε ≤ ([\d.]+), p ≤ (\S+)",
                      out.stdout)
    assert found, out.stdout
    accuracy, right, observed, proven, p = (float(n) for n in found.groups())
    assert ("The training is not what was reported, as entry " in out.stdout) == bool(broken)
    assert (observed > proven and p < 1e-3) if broken else (observed < proven and p > 0.1)
    row = f"| {right:g} | {observed:.2f} | {proven:.2f} | {p:g} |"
    page = (ROOT / "docs/frameworks.md").read_text()
    assert row in page, row


@pytest.mark.frameworks
def test_opacus() -> None:
    """Each step's canaries go through Opacus's own clipping, once, and are observed with its noise."""
    torch, opacus = pytest.importorskip("torch"), pytest.importorskip("opacus")
    model = torch.nn.Linear(50, 20)
    data = torch.utils.data.TensorDataset(torch.zeros(400, 50), torch.zeros(400, dtype=torch.long))
    model, optimizer, loader = opacus.PrivacyEngine().make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.0),
        data_loader=torch.utils.data.DataLoader(data, batch_size=40), noise_multiplier=1e-6, max_grad_norm=1.0)
    canaries = GradientCanaries(50, 1020, guesses=50, norm=7, sampling_probability=0.1, seed=4)
    canaries.watch(optimizer)
    divisor = optimizer.expected_batch_size
    for _ in range(10):
        for x, _ in loader:
            optimizer.zero_grad()
            (0 * model(x).sum()).backward()  # the data's own gradients are 0
            optimizer.step()
    assert optimizer.expected_batch_size == divisor == 40
    assert canaries.guess().correct >= 40  # it is said of half that they were in
    # A row of norm 7 is clipped to 1, and each canary that is in has about 10 of the 100 steps.
    assert 5 < np.sort(canaries._scores / 7)[-10:].mean() < 25
