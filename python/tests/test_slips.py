# SPDX-License-Identifier: Apache-2.0
"""What people get wrong in Python, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import Daemon

import privacy_accountant as pa
from privacy_accountant import proto as pb
from privacy_accountant._verbs import create_dataset, create_ledger, report
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


def test_wrong_types_are_named() -> None:
    step = pa.gaussian(noise_multiplier=2)
    assert refusal_of(report, "a", step, "run=1", None) == (
        "labels: 'run=1'; allowed: texts by their names, such as {'run': '7'}")
    assert refusal_of(report, "a", step, {"run": 1}, None).startswith("labels: {'run': 1}; allowed: ")
    assert refusal_of(create_ledger, "a", "add-or-remove-one", {"labels": "run=1"}).startswith("spec.labels: 'run=1'; ")
    assert refusal_of(pa.curve, step, epsilons=1) == "curve.epsilons: 1; allowed: a list, such as [1]"
    assert refusal_of(pa.poisson_sampled, "gaussian", sampling_probability=0.01) == (
        "poisson_sampled.mechanism: 'gaussian'; allowed: a mechanism, such as gaussian(noise_multiplier=1.1)")
    with pytest.raises(ValueError, match=r"request_id: 7; allowed: 1 to 128 bytes"):
        report("a", step, None, 7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"server: 'http://127.0.0.1:7878'; allowed: HOST:PORT or unix:PATH"):
        pa.Client("http://127.0.0.1:7878")


@pytest.mark.parametrize(("given", "meant"), [("dpsgd", "dp_sgd"), ("gausian", "gaussian"), ("budget", "")])
def test_names_of_the_package(given: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(pa, given)
    assert str(caught.value).endswith(f"has no attribute {given!r}; did you mean {meant!r}?" if meant else repr(given))


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
