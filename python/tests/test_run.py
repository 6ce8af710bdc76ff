# SPDX-License-Identifier: Apache-2.0
"""Runs: what is covered, charged, given back and refused."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import time
import uuid
from collections.abc import Callable

import pytest
from conftest import STEP, Daemon, plan

from privacy_accountant import (
    BudgetExceeded, Client, Closed, FailedPrecondition, InvalidArgument, PermissionDenied, gaussian, poisson_sampled,
)
from privacy_accountant import proto as pb

OTHER = poisson_sampled(gaussian(noise_multiplier=2), sampling_probability=0.01)


def balance(client: Client, ledger: str, i: int = 0) -> tuple[int, int]:
    """What is spent and what is set aside of a plan's mechanism."""
    p = client.get_ledger(ledger).plan[i]
    return p.spent, p.reserved


@pytest.mark.parametrize("steps", [1, 2, 3, 50, 1000])
def test_every_step_is_charged_once(client: Client, steps: int) -> None:
    ledger = plan(client, 1000)
    with client.run(ledger) as run:
        for _ in range(steps):
            run.step(STEP)
            spent, reserved = (0, 0) if steps > 50 else balance(client, ledger)
            assert steps > 50 or spent + reserved >= run.steps  # covered when step returns
    assert run.steps == steps and balance(client, ledger) == (steps, 0)
    assert client.get_ledger(ledger).position <= 20 + steps // 10  # merged


def test_at_most_a_chunk_is_set_aside(client: Client) -> None:
    ledger = plan(client, 10_000)
    with client.run(ledger, chunk=30) as run:
        for _ in range(300):
            run.step(STEP)
            run.flush()
            spent, reserved = balance(client, ledger)
            assert run.steps <= spent + reserved and spent <= run.steps and reserved <= 30
    with client.run(ledger, chunk_seconds=1e-9) as run:  # no step is that short
        for _ in range(20):
            run.step(STEP)
            run.flush()
            assert balance(client, ledger)[1] <= 1
    assert balance(client, ledger) == (320, 0)


def test_questions_flush(client: Client) -> None:
    ledger = plan(client, 1000)
    with client.run(ledger, labels={"run": "3"}) as run:
        for _ in range(150):
            run.step(STEP)
        answer = run.query(delta=1e-5)
        assert balance(client, ledger)[0] == 150
        assert run.epsilon(1e-5) == answer.epsilon and answer.guarantee == "plan" and answer.running < answer.epsilon
        for _ in range(7):
            run.step(STEP)
        assert run.state_dict() == {"ledger": ledger, "steps": 157}
        assert balance(client, ledger)[0] == 157
        assert sum(e.count for x in client.entries(ledger, labels={"run": "3"}) for e in x.commit.events) == 157
        assert client.writer not in {x.writer for x in client.entries(ledger)}


@pytest.mark.parametrize("budget", [1, 2, 137])
@pytest.mark.parametrize("options", [{}, {"strict": "each"}, {"chunk": 7}, {"ahead": True}])
def test_the_last_allowed_step_is_charged(client: Client, budget: int, options: dict[str, object]) -> None:
    ledger = plan(client, budget)
    with client.run(ledger, **options) as run:
        with pytest.raises(BudgetExceeded) as refused:
            while True:
                run.step(STEP)
        assert run.steps == budget and refused.value.shortfalls[0].left == 0
        with pytest.raises(BudgetExceeded):  # and so again
            run.step(STEP)
    assert balance(client, ledger) == (budget, 0)


def test_a_filter_stops_training(client: Client) -> None:
    ledger = client.create_ledger(
        f"f/{uuid.uuid4()}", "add-or-remove-one", budgets=[{"epsilon": 1, "delta": 1e-5, "guard": "rdp"}],
        expected_run=(STEP, 1)).spec.name
    with client.run(ledger) as run, pytest.raises(BudgetExceeded) as refused:
        while True:
            run.step(STEP)
    assert refused.value.shortfalls[0].unit.startswith("Rényi") and run.steps > 10
    assert client.get_ledger(ledger).total_count == run.steps
    with pytest.raises(BudgetExceeded):  # not one more would have fit
        client.check(ledger, STEP)
    assert client.epsilon(ledger, 1e-5) <= 1


def test_a_budget_that_others_use_too(client: Client) -> None:
    ledger = plan(client, 300)
    made = []

    def job() -> None:
        with client.run(ledger, chunk=20) as run:
            try:
                while True:
                    run.step(STEP)
            except BudgetExceeded:
                made.append(run.steps)

    threads = [threading.Thread(target=job) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 3 and sum(made) == client.get_ledger(ledger).total_count <= 300
    assert balance(client, ledger)[1] == 0


def test_raised_or_released_budget_goes_on(client: Client) -> None:
    ledger = plan(client, 10)
    held = client.reserve(ledger, (STEP, 5), lifetime=600).receipt.position
    with client.run(ledger) as run:
        with pytest.raises(BudgetExceeded):
            while True:
                run.step(STEP)
        assert run.steps == 5
        client.release(ledger, held)
        run.step(STEP, 5)
    assert balance(client, ledger) == (10, 0)


def test_descriptive_ledgers(client: Client, ledger: str) -> None:
    with client.run(ledger) as run:  # no reservations there: each step is charged
        for n in range(1, 20):
            run.step(STEP)
            assert client.get_ledger(ledger).total_count == n
    assert client.get_ledger(ledger).reservations == []  # type: ignore[comparison-overlap]
    with client.run(ledger, ahead=True, chunk=50, steps=130) as run:
        for _ in range(130):
            run.step(STEP)
            assert client.get_ledger(ledger).total_count <= 19 + run.steps + 50
    assert client.get_ledger(ledger).total_count == 149
    with client.run(ledger, ahead=True, chunk=50) as run:
        for _ in range(130):
            run.step(STEP)
    assert 149 + 130 <= client.get_ledger(ledger).total_count <= 149 + 130 + 50


def test_what_is_used_up_is_forgotten(client: Client) -> None:
    ledger = plan(client, 10_000)
    for options in ({}, {"ahead": True}):
        with client.run(ledger, chunk=3, **options) as run:
            for _ in range(200):
                run.step(STEP)
            assert len(run._books) + sum(len(s.covers) for s in run._supplies.values()) < 10


def test_the_worker_ends_with_its_run_or_client(shared: Daemon, connect: Callable[..., Client]) -> None:
    def workers() -> int:
        return sum(t.name.startswith("privacy-accountant w/") for t in threading.enumerate())

    def ends() -> None:
        for _ in range(100):
            if not workers():
                return
            time.sleep(0.05)
        raise AssertionError("a worker goes on")

    other = connect(shared.address)
    ledger = other.create_ledger(f"w/{uuid.uuid4()}", "add-or-remove-one", plan=(STEP, 100)).spec.name
    with other.run(ledger) as run:
        run.step(STEP)
        assert workers() == 1
    ends()
    run = other.run(ledger).open()
    assert workers() == 1
    other.close()
    ends()
    with pytest.raises(Closed):
        run.close()


def test_counts_and_several_events(client: Client) -> None:
    ledger = client.create_ledger(f"p/{uuid.uuid4()}", "add-or-remove-one",
                                  plan=[(STEP, 1000), (OTHER, 3000)]).spec.name
    with client.run(ledger, chunk=10) as run:
        run.step(STEP, 250)  # more than a chunk
        for _ in range(100):
            run.step([STEP, (OTHER, 2)])
        with pytest.raises(BudgetExceeded):
            run.step([STEP, (OTHER, 2)], 10_000)  # all or none
        with pytest.raises(ValueError, match="count"):
            run.step(STEP, 0)
        with pytest.raises(ValueError, match="whole"):
            run.step(STEP, 1.5)  # type: ignore[arg-type]
        run.step([STEP, (OTHER, 2)])
    assert run.steps == 351
    assert (balance(client, ledger), balance(client, ledger, 1)) == ((351, 0), (202, 0))


def test_alternating_and_changing_mechanisms(client: Client) -> None:
    noises = [poisson_sampled(gaussian(noise_multiplier=1 + i / 64), sampling_probability=0.01) for i in range(60)]
    ledger = client.create_ledger(f"p/{uuid.uuid4()}", "add-or-remove-one", plan=[(m, 1000) for m in noises]).spec.name
    with client.run(ledger, chunk=20) as run:
        for m in noises:  # a scheduler that never repeats
            run.step(m)
        for i in range(200):
            run.step(noises[i % 2])
            if i % 10 == 0:
                assert sum(p.reserved
                           for p in client.get_ledger(ledger).plan) <= 20 + 10  # steps made since are not committed yet
        for m in noises * 2:
            run.step(m)
    state = client.get_ledger(ledger)
    assert [p.spent for p in state.plan] == [103, 103] + [3] * 58 and not state.reservations


def test_what_is_not_allowed_at_all(client: Client) -> None:
    ledger = plan(client, 10)
    with client.run(ledger) as run:
        with pytest.raises(BudgetExceeded,
                           match="not in it; nearest is .* yours differs in noise_multiplier: 2 instead of 1.1; "
                                 "allowed: 10 × .*10 are planned") as told:
            run.step(OTHER)
        assert [(p.mechanism, p.planned, p.remaining) for p in told.value.plan] == [(STEP, 10, 10)]
        assert [(d.field, d.sent, d.planned)
                for d in told.value.unplanned[0].differences] == [("noise_multiplier", "2", "1.1")]
        with pytest.raises(InvalidArgument, match="noise_multiplier"):
            run.step(gaussian(noise_multiplier=-1))
        run.step(STEP)
    assert balance(client, ledger) == (1, 0)
    client.close_ledger(ledger)
    with pytest.raises(FailedPrecondition, match="closed"):
        client.run(ledger).open()


def test_a_ledger_closed_in_the_middle(client: Client) -> None:
    ledger = plan(client, 1000)
    with pytest.raises(FailedPrecondition, match="open ledger"), client.run(ledger, chunk=20) as run:
        for _ in range(50):
            run.step(STEP)
        client.close_ledger(ledger)  # charges what is set aside
        for _ in range(50):
            run.step(STEP)
    assert 50 <= run.steps <= 70 and run.steps <= client.get_ledger(ledger).total_count <= 70


def test_expired_reservations_are_charged_once(client: Client) -> None:
    ledger = plan(client, 1000)
    with client.run(ledger, chunk=20, lifetime=1) as run:
        for _ in range(30):
            run.step(STEP)
        held = client.get_ledger(ledger).reservations
        assert held
        for state in client.watch(ledger):  # until their time is over
            if not state.reservations:
                break
        before = run.steps
        for _ in range(30):
            run.step(STEP)
    assert run.steps == before + 30
    spent, reserved = balance(client, ledger)
    assert reserved == 0 and run.steps <= spent <= run.steps + 20  # the rest was charged, nothing twice


def test_a_released_reservation_is_charged_again(client: Client) -> None:
    ledger = plan(client, 1000)
    with client.run(ledger, chunk=20) as run:
        for _ in range(30):
            run.step(STEP)
        run.flush()
        for r in client.get_ledger(ledger).reservations:  # somebody of the same name
            client.release(ledger, r.position)
        for _ in range(30):
            run.step(STEP)
    assert balance(client, ledger)[0] >= run.steps == 60


def test_an_exception_gives_back_what_was_not_used(client: Client) -> None:
    ledger = plan(client, 1000)
    with pytest.raises(KeyError), client.run(ledger) as run:
        for _ in range(77):
            run.step(STEP)
        raise KeyError("of the training loop")
    assert balance(client, ledger) == (77, 0)
    with pytest.raises(Closed):
        run.step(STEP)
    with pytest.raises(Closed):
        run.open()
    with pytest.raises(Closed, match="not begun"):
        client.run(ledger).step(STEP)


def test_a_client_closed_too_early(shared: Daemon, client: Client, connect: Callable[..., Client]) -> None:
    ledger = plan(client, 100)
    early = connect(shared.address)
    with pytest.raises(Closed, match="before the run"), early.run(ledger) as run:
        run.step(STEP, 10)
        early.close()
        with pytest.raises(Closed):
            run.step(STEP)
    spent, reserved = balance(client, ledger)
    assert spent + reserved >= run.steps == 10


def test_state(client: Client) -> None:
    ledger = plan(client, 1000)
    with client.run(ledger) as run:
        run.step(STEP, 20)
        state = run.state_dict()
    assert state == {"ledger": ledger, "steps": 20}
    with client.run(ledger) as again:
        again.load_state_dict(state)
        again.step(STEP, 5)
        assert again.steps == 25
    assert balance(client, ledger) == (25, 0)  # a restored count charges nothing
    with pytest.raises(ValueError, match="ledger"):
        client.run("other").load_state_dict(state)
    with pytest.raises(TypeError, match="state_dict"):
        pickle.dumps(again)


def test_wrap(client: Client) -> None:
    ledger = plan(client, 3)
    with client.run(ledger, strict="each") as run:
        update = run.wrap(lambda x, by=1: x + by, STEP)
        assert [update(1), update(2, by=2), update(3)] == [2, 4, 4]
        called = []
        with pytest.raises(BudgetExceeded):
            run.wrap(lambda: called.append(1), STEP)()
        assert not called  # the noise was never drawn


def test_try_step(client: Client) -> None:
    ledger = plan(client, 100)
    with client.run(ledger, chunk=10) as run:
        assert not run.try_step(STEP) and run.steps == 0
        run.step(STEP, 3)
        run.step(STEP)
        covered = 0
        while covered < 50:
            if run.try_step(STEP):
                covered += 1
            else:
                run.flush()
        assert run.steps == 54
    assert balance(client, ledger) == (54, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_is_refused(client: Client) -> None:
    ledger = plan(client, 100)

    def child(answers: multiprocessing.Queue[str]) -> None:
        for call in (lambda: run.step(STEP), lambda: client.report(ledger, STEP)):
            try:
                call()
                answers.put("sent")
            except Closed as e:
                answers.put(e.message)

    with client.run(ledger) as run:
        run.step(STEP)
        fork = multiprocessing.get_context("fork")
        answers = fork.Queue()
        process = fork.Process(target=child, args=(answers,))
        process.start()
        got = [answers.get(timeout=20), answers.get(timeout=20)]
        process.join()
        assert all("process" in g for g in got), got
    assert balance(client, ledger) == (1, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_cannot_end_the_run(client: Client) -> None:
    ledger = plan(client, 100)
    with client.run(ledger) as run:
        run.step(STEP)
        run.flush()

        def child(answers: multiprocessing.Queue[str]) -> None:
            try:
                run.close()
            except Closed as e:
                answers.put(e.message)
            run._leave()  # as the end of a process does
            answers.put("abandoned")

        fork = multiprocessing.get_context("fork")
        answers = fork.Queue()
        process = fork.Process(target=child, args=(answers,))
        process.start()
        assert "process" in answers.get(timeout=20) and answers.get(timeout=20) == "abandoned"
        process.join()
        run.step(STEP)
    assert balance(client, ledger) == (2, 0)


def test_a_step_that_cannot_be_sent_leaves_nothing_to_wait_for(client: Client) -> None:
    ledger = plan(client, 100)
    with client.run(ledger) as run:
        run.step([(STEP, 2)])
        with pytest.raises(ValueError):
            run.step([(STEP, 2)], 2**32)  # more than the API counts
        run.step([(STEP, 2)])
    assert balance(client, ledger) == (4, 0)


@pytest.mark.parametrize("options",
                         [{"strict": "none"}, {"strict": "each", "ahead": True}, {"chunk": 0}, {"chunk_seconds": 0},
                          {"lifetime": 0}])
def test_options(client: Client, options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        client.run("any", **options)


def test_messages_are_copies(client: Client, shared: Daemon, connect: Callable[..., Client]) -> None:
    ledger = plan(client, 100)
    mine = pb.Mechanism()
    mine.CopyFrom(STEP)
    with client.run(ledger) as run:
        for _ in range(10):
            run.step(mine)
        mine.poisson_sampled.sampling_probability = 0.5
        with pytest.raises(BudgetExceeded):  # what it is now, not what it was
            run.step(mine)
    assert balance(client, ledger) == (10, 0)


@pytest.mark.parametrize("planned", [1, 2, 3, 30, 150])
def test_a_ledger_of_somebody_else(shared: Daemon, connect: Callable[..., Client], planned: int) -> None:
    """Only the creator, here the daemon's owner, reserves more than half of the whole budget at once."""
    own, job = connect(shared.socket), connect(shared.address)
    ledger = plan(own, planned)
    with pytest.raises(PermissionDenied, match="created by uid:"):
        job.reserve(ledger, (STEP, planned), lifetime=60)
    with pytest.raises(PermissionDenied, match="may not close it"):
        job.close_ledger(ledger)
    with pytest.raises(BudgetExceeded), job.run(ledger) as run:
        while True:
            run.step(STEP)
    p = own.get_ledger(ledger).plan[0]
    assert (run.steps, p.spent, p.reserved) == (planned, planned, 0)
    own.close_ledger(ledger)
