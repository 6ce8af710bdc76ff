# SPDX-License-Identifier: Apache-2.0
"""Plots as a newcomer sees them: in a notebook, and in a script without a screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import STEP, Daemon, plan

from privacy_accountant import Client

PLOTS = ["client.curve(ledger).plot()", "client.curve(ledger).plot_trade_off()",
         "plots.plot_budget(client, ledger, delta=1e-5)"]


@pytest.fixture
def begin(client: Client, shared: Daemon) -> str:
    """A program's first lines: a ledger of which something was charged."""
    ledger = plan(client, 100)
    client.report(ledger, (STEP, 10))
    return f"from privacy_accountant import Client, plots\nclient, ledger = Client({shared.address!r}), {ledger!r}\n"


def test_a_notebook_shows_each_plot_once(begin: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    given = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nclient.curve(ledger).plot(ax)"
    cells = [begin, *PLOTS, given]
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(notebook, timeout=120).execute()
    shown = [sum("image/png" in o.get("data", {}) for o in cell.outputs) for cell in notebook.cells]
    assert shown == [0, 1, 1, 1, 1]


def test_a_script_without_a_screen_saves_them(begin: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")}
    program = begin + "\n".join(f"{plot}.figure.savefig('{i}.png')" for i, plot in enumerate(PLOTS))
    subprocess.run([sys.executable, "-c", program], env=env, cwd=tmp_path, check=True)
    assert all(p.read_bytes().startswith(b"\x89PNG")
               for p in tmp_path.glob("*.png")) and len(list(tmp_path.glob("*.png"))) == len(PLOTS)


def test_plots_speak_in_words(client: Client) -> None:
    """Axes are named in words, lines at their ends, and the limit is drawn; what others wrote is text."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from privacy_accountant import _draw, plots

    name = plan(client, 100)
    client.report(name, (STEP, 10))

    def texts(ax: Any) -> str:
        return "\n".join(t.get_text() for t in ax.texts) + "\n" + ax.get_xlabel()

    curve = client.curve(name)
    assert "probability of failure δ" in texts(curve.plot()) and "privacy loss ε" in texts(curve.plot())
    assert "proven: δ at most" in texts(curve.plot()) and "This holds for the whole plan" in texts(curve.plot())
    guess = curve.plot_trade_off()
    assert "guessing" in texts(guess) and "chance of a miss β" in texts(guess) and guess.get_legend() is None
    budget = client.create_ledger(f"{name}/b", "add-or-remove-one", budgets=[{"epsilon": 8, "delta": 1e-6}]).spec.name
    client.report(budget, (STEP, 10))
    drawn = plots.plot_budget(client, budget, delta=1e-6)
    assert "the limit: ε = 8" in texts(drawn) and f"Privacy budget of {budget}" == drawn.get_title(loc="left")
    assert "privacy loss ε at δ = 1e-06" in texts(drawn)
    assert _draw.plain("a\x1b[31m\u202e$x^2$") == "a [31m " + r"\$x^2\$"


def test_colours_are_seen() -> None:
    """Each ink stands out from its ground: 4.5 to 1, as WCAG 2.2 (1.4.3) asks of text."""
    from privacy_accountant import _draw

    def luminance(ink: str) -> float:
        parts = [int(ink[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    for inks, ground in ((_draw.LIGHT, "#ffffff"), (_draw.DARK, "#000000")):
        for ink in (inks["text"], inks["quiet"], inks["limit"], inks["reserved"], *inks["lines"]):
            high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, ink
