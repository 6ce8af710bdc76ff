# SPDX-License-Identifier: Apache-2.0
"""What two people have to do, and who may do what, through both clients and with the real daemon."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import issuer
import pytest
from conftest import Daemon

from privacy_accountant import AsyncClient, Client, FailedPrecondition, PermissionDenied, laplace
from privacy_accountant import proto as pb

POLICY = f"""
version: 1
contact: privacy@example.org
people:
  ann: ["oidc:{issuer.URL}#ann"]
  ben: ["oidc:{issuer.URL}#ben"]
grants:
  - roles: [officer, manager]
    to: [person:ann, person:ben]
    on: [everything]
  - roles: [reporter]
    to: ["oidc:{issuer.URL}#job"]
    on: [prefix:vision/]
two_people:
  within: 72h
"""
ANN, BEN, JOB = (f"oidc:{issuer.URL}#{name}" for name in ("ann", "ben", "job"))


class Company:
    """A daemon with two officers and a job, and clients of each."""

    def __init__(self, daemon: Daemon, directory: Path, connect: Callable[..., Client]) -> None:
        self.daemon, self.files = daemon, {}
        for name in ("ann", "ben", "job"):
            self.files[name] = directory / f"{name}.token"
            self.files[name].write_text(issuer.token(name))
        self.ann, self.ben, self.job = (connect(daemon.address, token_file=f) for f in self.files.values())

    def charged(self) -> str:
        """A ledger with one charge, of ε = 1/2."""
        name = f"vision/{uuid.uuid4()}"
        self.ann.create_ledger(name, "add-or-remove-one", budgets=[{"epsilon": 1, "guard": "basic"}])
        self.job.report(name, laplace(scale=2, sensitivity=1))
        return name


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, Path]]:
    directory = tmp_path_factory.mktemp("company")
    policy, keys = directory / "policy.yaml", issuer.keys(directory / "keys.json")
    policy.write_text(POLICY)
    os.chmod(policy, 0o600)
    d = Daemon(directory, "--access-policy", str(policy), "--token-issuer", issuer.URL,
               "--token-audience", issuer.AUDIENCE, "--token-keys", str(keys)).start()
    yield d, directory
    d.kill()


@pytest.fixture
def company(served: tuple[Daemon, Path], connect: Callable[..., Client]) -> Company:
    return Company(*served, connect)


REFUND = {"position": 1, "nothing_released": True, "reason": "it never ran"}


def test_two_people_refund(company: Company) -> None:
    name = company.charged()
    with pytest.raises(FailedPrecondition, match="two people"):
        company.ann.refund(name, 1, "it never ran", nothing_released=True)
    with pytest.raises(PermissionDenied, match="officer"):
        company.job.propose(name, refund=REFUND)
    proposed = company.ann.propose(name, refund=REFUND).receipt.position
    found = [(n, p) for n, p in company.ben.proposals() if n == name]
    assert [(n, p.position, p.principal, p.propose.refund.position) for n, p in found] == [(name, proposed, ANN, 1)]
    with pytest.raises(FailedPrecondition, match="another person"):
        company.ann.approve(name, proposed)
    assert company.job.get_ledger(name).budgets[0].value.spent == 0.5
    receipt = company.ben.approve(name, proposed, request_id="ben-1").receipt
    assert company.ben.approve(name, proposed, request_id="ben-1").replayed
    assert company.job.get_ledger(name).budgets[0].value.spent == 0
    entry = next(company.ann.entries(name, start_position=receipt.position))
    assert (entry.principal, entry.approval.proposal, entry.approval.proposer) == (BEN, proposed, ANN)
    assert list(company.ann.proposals(name)) == []


def test_every_action_can_be_proposed(company: Company) -> None:
    name = company.charged()
    held = company.job.reserve(name, laplace(scale=10, sensitivity=1), lifetime=3600).receipt.position
    larger = {"budgets": [{"epsilon": 2, "guard": "basic"}], "independent_of_outputs": True, "reason": "the board"}
    company.ann.propose(name, raise_budgets=larger)
    company.ann.propose(name, free={"reservation": held, "nothing_released": True, "reason": "the job died"})
    company.ann.propose(name, refund=pb.Refund(**REFUND))
    assert [p.propose.WhichOneof("action") for _, p in company.ben.proposals(name)] == ["raise", "free", "refund"]
    for _, p in list(company.ben.proposals(name)):
        company.ben.approve(name, p.position)
    balance = company.ben.get_ledger(name).budgets[0].value
    assert (balance.limit, balance.spent, balance.reserved) == (2, 0, 0)
    with pytest.raises(FailedPrecondition, match="restore"):  # it was decided, and there is nothing to reconcile
        company.ann.propose(name, reconcile={"events": [laplace(scale=1, sensitivity=1)], "contribution": "over-all"})


def test_withdrawn(company: Company) -> None:
    name = company.charged()
    proposed = company.ann.propose(name, refund=REFUND).receipt.position
    company.ben.withdraw(name, proposed, "the wrong entry")
    with pytest.raises(FailedPrecondition, match=str(proposed)):
        company.ben.approve(name, proposed)


def test_two_people_register_a_dataset(company: Company) -> None:
    spec = {"version": "1", "privacy_unit": "user", "max_records_per_unit": 1, "bound_enforced_by": "one row each",
            "budgets": [{"epsilon": 2, "guard": "basic"}], "independence": "made for this test"}
    with pytest.raises(FailedPrecondition, match="two people"):
        company.ann.create_dataset("py-two", "add-or-remove-one", **spec)
    made = company.ann.create_dataset("py-two", "add-or-remove-one", propose=True, **spec)
    assert made.ledger.dataset.needs_confirming and ("dataset:py-two", made.proposal) in [
        (name, p.position) for name, p in company.ben.proposals()]
    ledger = {"privacy_unit": "user", "dataset_id": "py-two", "dataset_version": "1",
              "budgets": [{"epsilon": 1, "guard": "basic"}]}
    with pytest.raises(FailedPrecondition, match="waits for a second person"):
        company.ann.create_ledger("vision/two", "add-or-remove-one", **ledger)
    company.ben.approve(made.ledger.name, made.proposal)
    company.ann.create_ledger("vision/two", "add-or-remove-one", **ledger)
    assert company.ann.get_ledger("dataset:py-two").dataset.confirmed_by == BEN
    company.ann.propose("dataset:py-two", amend_dataset={"budgets": [{"epsilon": 3, "guard": "basic"}], "reason": "r"})


def test_what_cannot_be_proposed(company: Company) -> None:
    with pytest.raises(TypeError, match="0 actions; allowed: exactly one of refund, free, raise_budgets"):
        company.ann.propose("vision/x")
    with pytest.raises(TypeError, match="2 actions"):
        company.ann.propose("vision/x", refund=REFUND, free={"reservation": 1})
    with pytest.raises(TypeError, match="propose.refund: 'positoin' is not a field.*did you mean 'position'"):
        company.ann.propose("vision/x", refund={"positoin": 7})


def test_rights(company: Company) -> None:
    me = company.job.get_access()
    assert (me.principal, me.policy_in_force, me.two_people, len(me.grants)) == (JOB, True, True, 1)
    assert company.job.get_access(method="Report", ledger="vision/x").allowed
    refused = company.ann.get_access(JOB, "Refund", "vision/x")
    assert not refused.allowed and "needs the role officer" in refused.reason
    with pytest.raises(PermissionDenied, match="auditor"):
        company.job.get_access(ANN, "Refund", "vision/x")


def test_asyncio(company: Company) -> None:
    name = company.charged()

    async def main() -> None:
        async with AsyncClient(company.daemon.address, token_file=company.files["ann"]) as ann, \
                AsyncClient(company.daemon.address, token_file=company.files["ben"]) as ben:
            first = (await ann.propose(name, refund=REFUND)).receipt.position
            await ann.withdraw(name, first, "again")
            proposed = (await ann.propose(name, refund=REFUND)).receipt.position
            assert (name, proposed) in [(n, p.position) async for n, p in ben.proposals()]
            await ben.approve(name, proposed)
            assert [p async for p in ben.proposals(name)] == []
            assert (await ben.get_access()).principal == BEN

    asyncio.run(main())
