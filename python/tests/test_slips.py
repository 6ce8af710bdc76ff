# SPDX-License-Identifier: Apache-2.0
"""What people get wrong in Python, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import Daemon

import privacy_accountant as pa
from privacy_accountant import proto as pb
from privacy_accountant._verbs import create_dataset, create_ledger
from privacy_accountant.errors import BudgetExceeded


def refusal_of(call: Any, *args: Any, **fields: Any) -> str:
    with pytest.raises(TypeError) as caught:
        call(*args, **fields)
    return str(caught.value)


def test_parameters_have_names() -> None:
    assert refusal_of(pa.gaussian, 2) == (
        "gaussian: 2 has no name; allowed: each parameter by its name, standard_deviation=… or sensitivity=… or "
        "distance=… or noise_multiplier=…")
    assert "60 has no name" in refusal_of(pa.poisson_sampled, pa.gaussian(noise_multiplier=1), 60)


@pytest.mark.parametrize(("given", "meant"), [
    ("sigma", "'noise_multiplier' or 'standard_deviation'"), ("std", "'standard_deviation'"),
    ("noise_multiplyer", "'noise_multiplier'"),
])
def test_other_names_of_parameters(given: str, meant: str) -> None:
    assert refusal_of(pa.gaussian, **{given: 2}).endswith(f"; did you mean {meant}?")


def test_budgets_are_a_list() -> None:
    one = {"epsilon": 1, "delta": 1e-6}
    assert refusal_of(create_ledger, "a", "add-or-remove-one", {"budgets": one}) == (
        f"spec.budgets: {one!r}; allowed: a list, such as [{one!r}]")
    assert refusal_of(create_ledger, "a", "add-or-remove-one", {"budget": [one]}).endswith("did you mean 'budgets'?")
    assert refusal_of(create_ledger, "a", "add-or-remove-one", {"epsilon": 1}).endswith("did you mean 'budgets'?")
    # A text is no list of its letters.
    assert "owners: 'ann'; allowed: a list, such as ['ann']" in refusal_of(
        create_dataset, "survey", "add-or-remove-one", False, "", False, {"owners": "ann"})


def test_a_refusal_has_what_is_needed_and_left() -> None:
    lacks = pb.BudgetExceeded.Shortfall(budget=0, unit="ρ", needed=2, left=0.5, short=1.5)
    e = BudgetExceeded("report", "a", "", detail=pb.BudgetExceeded(shortfalls=[lacks]))
    assert (e.needed, e.left, e.short) == (2, 0.5, 1.5)
    e = BudgetExceeded("report", "", "", refusal=pb.SetRefusal(members=[
        pb.SetRefusal.Member(ledger="a", budget_exceeded=pb.BudgetExceeded(shortfalls=[lacks]))]))
    assert (e.needed, e.left, e.short) == (2, 0.5, 1.5)
    cannot = pb.BudgetExceeded.Shortfall(budget=0, reason="a gaussian has no ρ")
    for e in (BudgetExceeded("report", "a", ""),
              BudgetExceeded("report", "a", "", detail=pb.BudgetExceeded(shortfalls=[cannot]))):
        assert (e.needed, e.left, e.short) == (None, None, None)


def test_a_client_answers_about_mechanisms(daemon: Daemon, connect: Callable[..., pa.Client]) -> None:
    client = connect(daemon.address)
    step = pa.gaussian(noise_multiplier=2)
    # δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) is 1e-6 at ε = 2.25408 for μ = ½.
    assert client.epsilon(step, delta=1e-6) == pytest.approx(2.25408, abs=1e-5)
    assert client.epsilon((step, 4), delta=1e-6) == client.epsilon(
        pa.workload((step, 4), adjacency="add-or-remove-one"), delta=1e-6)
    client.create_ledger("slips", "add-or-remove-one")
    written = client.report("slips", step, request_id="once")
    assert repr(written) == "<written: ledger 'slips', position 1>"
    assert repr(client.report("slips", step, request_id="once")) == "<written before: ledger 'slips', position 1>"
    assert repr(client.check("slips", step)) == "<nothing written>"
