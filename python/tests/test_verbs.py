# SPDX-License-Identifier: Apache-2.0
"""Every verb against the daemon."""

from __future__ import annotations

import math
import os
import re
import pickle
import threading
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from conftest import STEP, Daemon, plan

from privacy_accountant import (
    BudgetExceeded, Client, Closed, Conflict, FailedPrecondition, InvalidArgument, NotFound, PermissionDenied,
    StreamOpen,
    Unavailable, gaussian, laplace, poisson_sampled, workload,
)
from privacy_accountant import proto as pb
from privacy_accountant.errors import retry_delay
from privacy_accountant.mechanisms import name_and_shame
from privacy_accountant.proto.privacy_accountant_status_pb2 import Status

Connect = Callable[..., Client]


def test_ledgers(client: Client) -> None:
    a = client.create_ledger("verbs/a", "add-or-remove-one", owner="me", labels={"team": "x"})
    assert a.spec.policy == pb.LedgerSpec.DESCRIPTIVE and a.spec.owner == "me" and a.spec.labels == {"team": "x"}
    assert client.create_ledger("verbs/a", "ADD_OR_REMOVE_ONE", owner="me",
                                labels={"team": "x"}).create_time == a.create_time
    with pytest.raises(Conflict, match="verbs/a"):
        client.create_ledger("verbs/a", "replace-one")
    b = client.create_ledger(
        "verbs/b", "add-or-remove-one", budgets=[{"epsilon": 8, "delta": 1e-5, "guard": "rdp"}],
        expected_run=(STEP, 100))
    assert b.spec.policy == pb.LedgerSpec.FILTER and b.budgets[0].budget.order > 1
    assert [x.name for x in client.ledgers("verbs/")] == ["verbs/a", "verbs/b"]
    assert client.get_ledger("verbs/a").position == 0
    with pytest.raises(NotFound, match="verbs/none"):
        client.get_ledger("verbs/none")
    with pytest.raises(InvalidArgument, match="name") as invalid:
        client.get_ledger("Verbs")
    assert isinstance(invalid.value, ValueError)
    with pytest.raises(TypeError, match="'colour' is not a field"):
        client.create_ledger("verbs/c", "add-or-remove-one", colour="red")
    with pytest.raises(ValueError, match="add-or-drop"):
        client.create_ledger("verbs/c", "add-or-drop")


def test_report(client: Client, ledger: str) -> None:
    first = client.report(ledger, [(STEP, 99), gaussian(noise_multiplier=5)], labels={"run": "7"})
    assert (first.receipt.sequence, first.receipt.position, first.receipt.writer) == (1, 1, client.writer)
    assert client.report(ledger, STEP).receipt.sequence == 2  # equal content is another charge
    assert client.get_ledger(ledger).total_count == 101
    assert client.get_writer(ledger).last_sequence == 2
    with pytest.raises(InvalidArgument, match="noise_multiplier"):
        client.report(ledger, gaussian(noise_multiplier=-1))
    assert client.report(ledger, STEP).receipt.sequence == 3  # a refusal uses up no number
    assert client.check(ledger, STEP).check_only
    assert [e.WhichOneof("action") for e in client.entries(ledger, page_size=2)] == ["charge"] * 3
    assert [e.position for e in client.entries(ledger, labels={"run": "7"})] == [1]
    assert list(client.entries(ledger, since=datetime.now(timezone.utc) + timedelta(hours=1))) == []
    assert client.signed_head(ledger).position == 3
    assert client.close_ledger(ledger, "over").receipt.position == 4
    with pytest.raises(FailedPrecondition, match="open ledger"):
        client.report(ledger, STEP)


def test_part_of_a_history(client: Client, ledger: str) -> None:
    """A part of a history is chosen by times, aware of their zone, or by positions; what cannot be meant is refused in
    the caller's words."""
    for _ in range(3):
        client.report(ledger, STEP)
    whole = client.history(ledger)
    assert [p.position for p in whole.points] == [0, 1, 2, 3]
    second = whole.points[2].time.ToDatetime(timezone.utc)
    elsewhere = (second + timedelta(microseconds=1)).astimezone(timezone(timedelta(hours=5)))  # rounded down before
    part = client.history(ledger, start_time=elsewhere)
    assert part.points[-1] == whole.points[3] and part.points[0].position in (1, 2)
    assert [p.position for p in client.history(ledger, start_time=second - timedelta(days=1)).points] == [0, 1, 2, 3]
    assert client.history(ledger, start_position=1, end_position=2).points == whole.points[1:3]
    assert list(client.history(ledger, end_time=second - timedelta(days=1)).points) == [whole.points[0]]
    assert [p.position for p in client.history(ledger, start_time=whole.points[2].time).points] == [2, 3]
    with pytest.raises(InvalidArgument, match="end_time"):
        client.history(ledger, start_time=second, end_time=second - timedelta(days=1))
    with pytest.raises(InvalidArgument, match="start_position"):
        client.history(ledger, start_time=second, start_position=1)
    assert not client.forecast(ledger, progress=True).HasField("reading")


def test_request_id(client: Client, ledger: str, shared: Daemon, connect: Connect) -> None:
    assert not client.report(ledger, STEP, request_id="nightly-1").replayed
    again = connect(shared.address).report(ledger, STEP, request_id="nightly-1")
    assert again.replayed and again.receipt.position == 1
    with pytest.raises(Conflict):
        client.report(ledger, (STEP, 2), request_id="nightly-1")
    with pytest.raises(ValueError, match="request_id"):
        client.report(ledger, STEP, request_id="a b")


def test_reservations(client: Client) -> None:
    ledger = plan(client, 10)
    reserved = client.reserve(ledger, (STEP, 8), lifetime=60)
    position = reserved.receipt.position
    with pytest.raises(BudgetExceeded) as refused:
        client.report(ledger, (STEP, 3))
    (short,) = refused.value.shortfalls
    assert (short.budget, short.needed, short.left, short.short) == (None, 3, 2, 1)
    assert refused.value.fits == [(STEP, 2)]
    client.commit(ledger, position, (STEP, 5))
    client.release(ledger, position, "early stop")
    state = client.get_ledger(ledger)
    assert (state.plan[0].spent, state.plan[0].reserved, state.plan[0].remaining) == (5, 0, 5)
    with pytest.raises(FailedPrecondition, match="reservation"):
        client.commit(ledger, position, STEP)
    with pytest.raises(ValueError, match="lifetime"):
        client.reserve(ledger, STEP, lifetime=0.5)


def test_reservations_of_dead_jobs(client: Client, shared: Daemon, connect: Connect) -> None:
    """The rest of what a dead job has reserved is charged early, or freed; what was freed is listed with later
    answers."""
    ledger = plan(client, 10)
    first, second = (client.reserve(ledger, (STEP, 3), lifetime=3600).receipt.position for _ in range(2))
    with pytest.raises(PermissionDenied, match=f"own socket.*--server {re.escape(shared.socket)}"):
        client.expire(ledger, first)
    own = connect(shared.socket, principal="operator")
    with pytest.raises(FailedPrecondition, match=f"is of unverified:anonymous, and you are uid:{os.getuid()};"):
        own.release(ledger, first)
    own.expire(ledger, first)
    own.free(ledger, second, "its machine died", nothing_released=True)
    state = client.get_ledger(ledger)
    assert (state.plan[0].spent, state.plan[0].reserved, state.plan[0].remaining) == (3, 0, 7)
    assert [a.kind for a in state.assumptions] == ["freed"]
    answers = client.query(ledger, delta=1e-6), client.curve(ledger).message
    for answer in answers:
        assert answer.guarantee == "descriptive"
        assert [a.kind for a in answer.assumptions] == ["freed"]


def test_observe(client: Client, ledger: str) -> None:
    client.report(ledger, gaussian(noise_multiplier=1))
    client.observe(ledger, inserted=1000, guesses=100, correct=95, delta=1e-5, reason="run 7")
    assert not [w for w in client.statement(ledger).warnings if "not what was reported" in w]
    client.observe(ledger, inserted=1000, guesses=1000, correct=1000, delta=1e-5)
    client.report(ledger, gaussian(noise_multiplier=0.01))  # hides nothing
    said = client.statement(ledger)
    assert [w for w in said.warnings if "not what was reported, as entry 3 shows" in w]
    assert [e.observe.canaries.correct for e in client.entries(ledger) if e.HasField("observe")] == [95, 1000]
    with pytest.raises(InvalidArgument, match="guesses: 11; allowed: a whole number from 1 to inserted = 10"):
        client.observe(ledger, inserted=10, guesses=11, correct=1, delta=1e-5)


def test_acknowledge(client: Client, ledger: str) -> None:
    client.report(ledger, name_and_shame(delta=1e-9))
    (warning,) = client.query(ledger, delta=1e-6).warnings
    assert warning.endswith("[name-and-shame]")
    client.acknowledge(ledger, "name-and-shame", reason="only a test")
    assert not client.query(ledger, delta=1e-6).warnings
    assert [(a.warning, a.reason, a.position) for a in client.get_ledger(ledger).acknowledgements] == [
        ("name-and-shame", "only a test", 2)]
    assert "only a test" in client.statement(ledger).markdown
    with pytest.raises(InvalidArgument, match="allowed: large-delta"):
        client.acknowledge(ledger, "large_delta", reason="only a test")
    with pytest.raises(FailedPrecondition, match="only a test"):
        client.acknowledge(ledger, "name-and-shame", reason="again")


def test_own_socket(client: Client, shared: Daemon, connect: Connect, tmp_path: Path) -> None:
    ledger = plan(client, 10)
    client.report(ledger, (STEP, 4))
    with pytest.raises(PermissionDenied, match="own socket"):
        client.refund(ledger, 1, "a test", nothing_released=True)
    own = connect(shared.socket, principal="operator")
    own.refund(ledger, 1, "never run", nothing_released=True)
    own.raise_budgets(ledger, "more data", plan=workload((STEP, 20), adjacency="add-or-remove-one"))
    state = client.get_ledger(ledger)
    assert (state.plan[0].spent, state.plan[0].planned) == (0, 20)
    assert [a.kind for a in state.assumptions] == ["refund", "raise"]
    assert {e.principal for e in client.entries(ledger)} == {"unverified:anonymous",
                                                             f"uid:{os.getuid()}"}  # who is at a socket is known
    copy = tmp_path / "copy"
    assert own.backup(copy) == copy.stat().st_size > 0
    with pytest.raises(FileExistsError):
        own.backup(copy)
    with pytest.raises(PermissionDenied):
        client.backup(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_questions(client: Client, ledger: str) -> None:
    client.report(ledger, (STEP, 1000))
    epsilon = client.epsilon(ledger, 1e-5)
    answer = client.query(ledger, delta=1e-5)
    assert answer.epsilon == epsilon and answer.epsilon_lower <= epsilon <= answer.epsilon_lower * (1 + 1e-6)
    same = workload((STEP, 1000), adjacency="add-or-remove-one")
    assert client.epsilon(same, 1e-5) == pytest.approx(epsilon, rel=1e-6)
    assert client.delta(ledger, epsilon) == pytest.approx(1e-5, rel=1e-4)
    with pytest.raises(TypeError, match="exactly one"):
        client.query(ledger, delta=1e-5, epsilon=1)
    curve = client.curve(ledger, epsilons=[0.5, epsilon])
    assert list(curve.epsilon) == [0.5,
                                   epsilon] and curve.delta[1] == pytest.approx(1e-5, rel=1e-4) and curve.delta[
                                       0] > curve.delta[1]
    assert curve.guarantee == "descriptive" and curve.advantage is not None and 0 < curve.advantage < 1
    found = client.calibrate("count", STEP, target_epsilon=2, target_delta=1e-5, adjacency="add-or-remove-one")
    assert found.field == "count" and found.epsilon is not None and found.epsilon <= 2
    assert client.epsilon(workload((STEP, int(found.value) + 1), adjacency="add-or-remove-one"), 1e-5) > 2
    noise = client.calibrate(
        "standard-deviation", (poisson_sampled(gaussian(), sampling_probability=0.01), 500), target_epsilon=2,
        target_delta=1e-6, ledger=ledger)
    assert noise.field == "noise_multiplier" and noise.event.count == 500
    statement = client.statement(ledger, [1e-5])
    assert statement.privacy[0].epsilon == epsilon and statement.guarantee == "descriptive"


def test_no_bound_is_not_zero(client: Client) -> None:
    ledger = client.create_ledger("verbs/basic", "add-or-remove-one",
                                  budgets=[{"epsilon": 1, "delta": 1e-5, "guard": "basic"}]).spec.name
    client.report(ledger, laplace(scale=10, sensitivity=1))
    assert client.epsilon(ledger, 1e-6) == math.inf  # below the budget's δ nothing is implied


def test_watch(client: Client, ledger: str, shared: Daemon, connect: Connect) -> None:
    states = connect(shared.address).watch(ledger)
    assert next(states).position == 0
    client.report(ledger, STEP)
    assert next(states).total_count == 1
    client.close_ledger(ledger)
    assert next(states).closed
    assert list(states) == []
    with pytest.raises(NotFound):
        next(connect(shared.address).watch("verbs/none"))


def test_unix_socket(shared: Daemon, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    own = connect(shared.socket)
    own.create_ledger("verbs/unix", "zero-out")
    monkeypatch.setenv("ACCOUNTANT_SERVER", shared.socket)
    assert connect("").get_ledger("verbs/unix").spec.adjacency == pb.Workload.ZERO_OUT


@pytest.mark.parametrize("options, message", [
    ({"server": "example.org:7878"}, "without TLS"), ({"server": "nonsense"}, "HOST:PORT"),
    ({"server": "unix:"}, "unix:PATH"),
    ({"principal": "a b"}, "principal"), ({"timeout": 0}, "timeout"), ({"max_attempts": 0}, "max_attempts"),
    ({"backoff_min": 2.0, "backoff_max": 1.0}, "backoff"), ({"deadline": -1.0}, "deadline"),
])
def test_settings(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Client(**options)  # type: ignore[arg-type]


def test_threads_share_a_lane(client: Client, ledger: str) -> None:
    def work() -> None:
        for _ in range(20):
            client.report(ledger, STEP)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert client.get_ledger(ledger).total_count == 80 and client.get_writer(ledger).last_sequence == 80


def test_a_client_is_not_copied(client: Client) -> None:
    with pytest.raises(TypeError, match="writer"):
        pickle.dumps(client)
    assert client.new_writer().writer != client.writer


def test_closed(shared: Daemon, connect: Connect) -> None:
    closed = connect(shared.address)
    closed.close()
    with pytest.raises(Closed):
        closed.get_ledger("any")
    with pytest.raises(Closed):
        closed.report("any", STEP)


def test_nobody_there(connect: Connect) -> None:
    nobody = connect("127.0.0.1:9", deadline=0.5)
    with pytest.raises(Unavailable) as gone:
        nobody.get_ledger("any")
    assert not gone.value.unknown
    with pytest.raises(Unavailable) as lost:
        nobody.report("any", STEP)
    assert not lost.value.unknown and nobody.pending("any") == []  # nothing is sent before there was an answer
    with pytest.raises(Unavailable):
        connect("127.0.0.1:9", max_attempts=2, deadline=None).get_ledger("any")


def test_stream(client: Client, ledger: str) -> None:
    client.report(ledger, STEP)
    with client.stream(ledger, window=50) as stream:
        for _ in range(500):
            stream.report(STEP)
        with pytest.raises(StreamOpen):
            client.report(ledger, STEP)
        stream.flush()
        assert client.get_ledger(ledger).total_count == 501 and stream.outstanding == 0 and stream.acknowledged == 501
    with pytest.raises(Closed):
        stream.report(STEP)
    assert client.report(ledger, STEP).receipt.sequence == 502


def test_refusal_ends_a_stream(client: Client) -> None:
    ledger = plan(client, 5)
    with pytest.raises(BudgetExceeded) as refused, client.stream(ledger) as stream:
        for n in (3, 3, 2):
            stream.report((STEP, n))
        stream.flush()
    assert [c.events[0].count for c in refused.value.not_written] == [3, 2] and refused.value.fits == [(STEP, 2)]
    assert client.get_ledger(ledger).total_count == 3
    with client.stream(ledger) as stream:
        position = stream.reserve((STEP, 2), lifetime=60).position
        stream.commit(position, STEP)
        stream.release(position)
    state = client.get_ledger(ledger)
    assert (state.total_count, len(state.reservations)) == (4, 0)


def test_an_interrupted_call_keeps_its_number(client: Client, ledger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = client._attempt

    def interrupted(when: str) -> Callable[..., object]:
        def call(action: object) -> object:
            if when == "after":
                attempt(action)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        return call

    total = 0
    for when in ("after", "before"):
        monkeypatch.setattr(client, "_attempt", interrupted(when))
        with pytest.raises(KeyboardInterrupt):
            client.report(ledger, STEP)
        monkeypatch.undo()
        assert len(client.pending(ledger)) == 1
        total += 2  # nobody can tell whether the first was written, so it is; and the next is not taken for it
        assert client.report(ledger, STEP).receipt.sequence == total
        assert client.get_ledger(ledger).total_count == total and not client.pending(ledger)


def test_a_time_to_come_back_is_read() -> None:
    def status(seconds: int, nanos: int) -> bytes:
        delay = Duration(seconds=seconds, nanos=nanos).SerializeToString()
        info = Any(type_url="type.googleapis.com/google.rpc.RetryInfo", value=b"\n" + bytes([len(delay)]) + delay)
        return Status(code=14, details=[info]).SerializeToString()

    assert retry_delay(status(0, 160_000_000)) == 0.16
    assert retry_delay(status(36_000, 0)) == 30.0
    assert retry_delay(status(-1, 0)) == 0.0
    assert retry_delay(Status(code=14).SerializeToString()) == 0.0


@pytest.mark.parametrize("solve",
                         ["standard-deviation", "STANDARD_DEVIATION", "noise-multiplier", "noise_multiplier",
                          "NOISE_MULTIPLIER"])
def test_calibrate_takes_what_it_answers(client: Client, solve: str) -> None:
    found = client.calibrate(solve, (STEP, 1000), target_epsilon=2, target_delta=1e-5, adjacency="add-or-remove-one")
    assert found.field == "noise_multiplier" and found.epsilon is not None and found.epsilon <= 2
    again = client.calibrate(found.field, (STEP, 1000), target_epsilon=2, target_delta=1e-5,
                             adjacency="add-or-remove-one")
    assert again.value == found.value


def test_a_refusal_by_a_long_plan_arrives(client: Client) -> None:
    """It travels in the headers, for which gRPC's C library has 8 KiB."""
    def step(i: int) -> pb.Mechanism:
        return poisson_sampled(gaussian(noise_multiplier=1 + i / 1000), batch_size=256 + i, dataset_size=60000)

    ledger = client.create_ledger(f"p/{uuid.uuid4()}", "add-or-remove-one",
                                  plan=[(step(i), 10 + i) for i in range(200)]).spec.name
    with pytest.raises(BudgetExceeded) as told:
        client.report(ledger, [step(1000 + i) for i in range(40)])
    assert "nearest to poisson_sampled" in told.value.message
    with pytest.raises(BudgetExceeded) as told:
        client.report(ledger, step(1000))
    assert told.value.unplanned[0].nearest.mechanism == step(199) and len(told.value.plan) == 8
