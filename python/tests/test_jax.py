# SPDX-License-Identifier: Apache-2.0
"""JAX, pandas and matplotlib. Run by make test-frameworks."""

from __future__ import annotations

import uuid

import pytest
from conftest import STEP, plan

from privacy_accountant import BudgetExceeded, Client, entries_frame

pytestmark = pytest.mark.frameworks


def test_jax(client: Client) -> None:
    jax = pytest.importorskip("jax")
    ledger = plan(client, 30)

    @jax.jit
    def update(weights, key):  # type: ignore[no-untyped-def]
        return weights + jax.random.normal(key, weights.shape)

    weights, keys = jax.numpy.zeros(3), jax.random.split(jax.random.key(0), 40)
    with client.run(ledger) as run:
        private = run.wrap(update, STEP)
        with pytest.raises(BudgetExceeded):
            for key in keys:
                weights = private(weights, key)
        assert run.steps == 30
        with pytest.raises(TypeError, match="traces"):
            jax.jit(private)(weights, keys[0])
        with pytest.raises(TypeError, match="traces"):
            jax.lax.scan(lambda w, k: (private(w, k), None), weights, keys)
    assert client.get_ledger(ledger).total_count == 30


def test_frames(client: Client) -> None:
    pytest.importorskip("pandas")
    ledger = plan(client, 100)
    with client.run(ledger, labels={"job": "a"}) as run:
        run.step(STEP, 40)
        run.step(STEP, 2)
    frame = entries_frame(client.entries(ledger))
    assert frame[frame.action == "commit"]["count"].sum() == 42 and set(frame["label.job"].dropna()) == {"a"}
    assert str(frame.time.dtype).startswith("datetime64[ns")
    curve = client.curve(ledger, points=11).to_frame()
    assert len(curve) == 11 and (curve.delta.diff().dropna() < 0).all() and (curve.delta_lower <= curve.delta).all()


def test_plots(client: Client, tmp_path: object) -> None:
    pytest.importorskip("matplotlib")
    from privacy_accountant.plots import budget_over_steps, plot_budget

    ledger = client.create_ledger(f"q/{uuid.uuid4()}", "add-or-remove-one", plan=(STEP, 500)).spec.name
    with client.run(ledger, chunk=50) as run:
        for _ in range(400):
            run.step(STEP)
    curve = client.curve(ledger)
    for ax in (curve.plot(), curve.plot_trade_off(), plot_budget(client, ledger, 1e-5)):
        ax.figure.savefig(f"{tmp_path}/plot.png")
        assert ax.get_xlabel() and ax.lines
    path = budget_over_steps(client, ledger, 1e-5, points=5)
    assert path[-1] == (400, pytest.approx(client.query(ledger, delta=1e-5).running, rel=1e-6)) and len(path) <= 6
    assert [e for _, e in path] == sorted(e for _, e in path)
