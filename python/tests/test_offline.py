# SPDX-License-Identifier: Apache-2.0
"""Answers without a daemon."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from conftest import STEP
from google.protobuf import json_format

import privacy_accountant as pa
from privacy_accountant import Client, InvalidArgument, _process, offline, workload
from privacy_accountant import proto as pb
from privacy_accountant.errors import in_keywords

# Takes minutes: a kind with a costly loss, many of them, and a fine answer wanted.
HARD = """
hard = [(pa.poisson_sampled(pa.laplace(scale=1.5, sensitivity=1), sampling_probability=0.01 + i / 1e4), 4_000_000) for
i in range(3000)]
hard = dict(what=hard, delta=1e-9, adjacency="replace-one", max_gap=1e-9)
"""


def python(code: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", "import privacy_accountant as pa\n" + HARD + textwrap.dedent(code)],
                            text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            **options)  # type: ignore[call-overload, no-any-return]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid: int) -> bool:
    for _ in range(200):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def test_numbers_that_are_known() -> None:
    # A pure guarantee: 3 × 0.25 adds up to 0.75, and at δ next to 0 nothing is better.
    assert pa.epsilon((pa.pure_dp(epsilon=0.25), 3), delta=1e-300) == pytest.approx(0.75, abs=1e-9)
    # The Gaussian curve: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) at μ = 1, ε = 1 (Balle and Wang 2018, Thm 8).
    phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    exact = phi(-0.5) - math.e * phi(-1.5)
    assert exact <= pa.delta(pa.gaussian(noise_multiplier=1), epsilon=1) <= exact * (1 + 1e-9)


@pytest.mark.parametrize("adjacency", ["add-or-remove-one", "replace-one"])
def test_they_are_the_daemons(client: Client, adjacency: str) -> None:
    w = workload((STEP, 1000), adjacency=adjacency)
    assert pa.query((STEP, 1000), delta=1e-6,
                    adjacency=adjacency) == pa.query(w, delta=1e-6) == client.query(w, delta=1e-6)
    assert pa.epsilon(w, 1e-6) == client.epsilon(w, 1e-6) and pa.delta(w, 2.0) == client.delta(w, 2.0)
    assert pa.curve((STEP, 1000), epsilons=[0.5, 1],
                    adjacency=adjacency).message == client.curve(w, epsilons=[0.5, 1]).message
    found = pa.calibrate("noise-multiplier", (STEP, 1000), target_epsilon=2, target_delta=1e-6,
                         fixed=pa.pure_dp(epsilon=0.5), adjacency=adjacency)
    fixed = workload(pa.pure_dp(epsilon=0.5), adjacency=adjacency)
    assert found.message == client.calibrate("noise-multiplier", (STEP, 1000), target_epsilon=2, target_delta=1e-6,
                                             fixed=fixed).message
    assert found.field == "noise_multiplier" and found.epsilon is not None and found.epsilon <= 2


def test_other_targets_and_guarantees_are_the_daemons(client: Client) -> None:
    step = (pa.gaussian(noise_multiplier=2), 4)
    w = workload(step, adjacency="add-or-remove-one")
    curve = pa.curve(step, epsilons=[-1, 1], gaussian_dp=True, orders=[2, 8], xi=0.0)
    assert curve.message == client.curve(w, epsilons=[-1, 1], gaussian_dp=True, orders=[2, 8], xi=0.0).message
    # four Gaussians with σ = 2 are one with μ = 1: D_α = α/2, and ρ = 1/2
    assert curve.mu == pytest.approx(1, rel=1e-12) and curve.rho == 0.5
    assert curve.renyi == pytest.approx({2: 1, 8: 4}, rel=1e-12)
    # guesses: Φ(−μ/2) at the prior ½, and from the chance ½ without outputs Φ(μ)
    guesses = pa.curve(step, priors=[0.5], baselines=[0.5])
    assert guesses.bayes_risk == pytest.approx({0.5: 0.15426876936299344 * 2}, rel=1e-9)
    assert guesses.reconstruction == pytest.approx({0.5: 0.8413447460685429}, rel=1e-4)
    run = {"inserted": 1000, "guesses": 100, "correct": 95, "delta": 1e-5}
    seen = pa.curve(step, epsilons=[1], canaries=run).canaries
    assert seen is not None and 2 < seen.epsilon_observed < seen.epsilon < 4.3772 and not seen.contradicts
    plain = pa.curve(step, epsilons=[1])
    assert plain.mu is None and plain.rho is None and plain.renyi == {} and plain.canaries is None
    # μ = 2/σ; an advantage of 2Φ(μ/2) − 1; a type II error of Φ(Φ⁻¹(1 − α) − μ)
    for target, sigma in (({"target_mu": 0.5}, 4), ({"target_advantage": 0.2}, 1 / 0.2533471031357997),
                          ({"target_alpha": 0.01, "target_beta": 0.9}, 2 / (2.3263478740408408 - 1.2815515655446004))):
        found = pa.calibrate("noise-multiplier", step, **target)  # type: ignore[arg-type]
        again = client.calibrate("noise-multiplier", step, adjacency="add-or-remove-one",
                                 **target)  # type: ignore[arg-type]
        assert found.message == again.message and found.epsilon is None
        assert found.value == pytest.approx(sigma, rel=1e-5) and found.value >= sigma
    assert pa.epsilon(pa.laplace(scale=2, sensitivity=1), delta=0) == 0.5


def test_explain_is_the_commands(tmp_path: Path) -> None:
    w = workload((STEP, 1000), adjacency="add-or-remove-one")
    (tmp_path / "w.json").write_text(json_format.MessageToJson(w))
    told = subprocess.run(
        [_process.find("accountctl"), "compute", "--explain", "--file", str(tmp_path / "w.json"), "--delta", "1e-6",
         "--output", "json"],
        capture_output=True, check=True)
    assert pa.explain(w, delta=1e-6) == json.loads(told.stdout)


def test_a_statement_is_the_commands(client: Client, ledger: str) -> None:
    client.report(ledger, (STEP, 1000))
    told = subprocess.run(
        [_process.find("accountctl"), "statement", ledger, "--server", client.server, "--delta", "1e-5"],
        capture_output=True, check=True, text=True)
    without_time = [line for line in told.stdout.splitlines() if not line.startswith("Made by")]
    mine = client.statement(ledger, [1e-5]).markdown.splitlines()
    assert [line for line in mine
            if not line.startswith("Made by")] == without_time and len(without_time) > 20 and len(mine) == len(
                without_time) + 1


def test_what_is_wrong() -> None:
    with pytest.raises(InvalidArgument, match="noise_multiplier: -1"):
        pa.epsilon(pa.gaussian(noise_multiplier=-1), delta=1e-6)
    with pytest.raises(ValueError, match="delta: 2"):
        pa.epsilon(STEP, delta=2)
    with pytest.raises(TypeError, match="'team/mnist'.*daemon"):
        pa.epsilon("team/mnist", delta=1e-6)
    with pytest.raises(TypeError, match="exactly one"):
        pa.query(STEP)
    with pytest.raises(TypeError, match="did you mean 'epsilon_max'"):
        pa.curve(STEP, epsilon_maximum=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="deadline: 0"):
        pa.epsilon(STEP, delta=1e-6, deadline=0)
    assert pa.epsilon(pa.laplace(scale=10, sensitivity=1), delta=1e-6) == pytest.approx(0.1, rel=1e-4)  # it goes on


def test_an_answer_is_kept_and_copied() -> None:
    offline._kept.cache_clear()
    first = pa.query((STEP, 77), delta=1e-6)
    first.epsilon = 0
    assert pa.query((STEP, 77), delta=1e-6).epsilon > 0 and offline._kept.cache_info().hits == 1


def test_nothing_large_is_loaded() -> None:
    code = ("import sys\nprint(pa.epsilon(pa.gaussian(noise_multiplier=1), delta=1e-6) > 0, "
            "[m for m in ('grpc', 'asyncio', 'numpy', 'logging') if m in sys.modules])")
    out, err = python(code).communicate()
    assert out == "True []\n", err


def test_a_program_that_ends_is_started_again() -> None:
    pa.epsilon((STEP, 78), delta=1e-6)
    for _ in range(3):
        child = offline._process._child
        assert child is not None
        child.kill()
        if _:
            child.wait()
        try:
            pa.epsilon((STEP, 79 + _), delta=1e-6)
        except RuntimeError as e:  # it ended in the midst of the question
            assert "ended while it was asked" in str(e)
        assert pa.epsilon((STEP, 90 + _), delta=1e-6) > 0


def test_threads() -> None:
    want = {n: pa.epsilon((STEP, n), delta=1e-7) for n in range(1, 40)}
    offline._kept.cache_clear()
    got: dict[int, float] = {}

    def ask(first: int) -> None:
        for n in range(first, 40, 4):
            got[n] = pa.epsilon((STEP, n), delta=1e-7)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == want


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
def test_it_ends_with_its_process() -> None:
    for how in (signal.SIGKILL, signal.SIGTERM, None):
        job = python("""
            import threading
            pa.epsilon(pa.gaussian(noise_multiplier=1), delta=1e-6)
            print(pa.offline._process._child.pid, flush=True)
            threading.Thread(target=lambda: pa.epsilon(**hard), daemon=True).start()
            input()
            """, stdin=subprocess.PIPE)
        assert job.stdin is not None and job.stdout is not None
        child = int(job.stdout.readline())
        assert alive(child)
        if how is None:
            job.stdin.write("\n")
        else:
            job.send_signal(how)
        job.communicate()
        assert ends(child), how


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
def test_ctrl_c_ends_a_question_and_the_next_gets_its_own_answer() -> None:
    job = python("""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
        right = pa.epsilon(pa.gaussian(noise_multiplier=2), delta=1e-6)
        pid = pa.offline._process._child.pid
        print(pid, flush=True)
        try:
            pa.epsilon(**hard)
        except KeyboardInterrupt:
            pa.offline._kept.cache_clear()
            assert pa.epsilon(pa.gaussian(noise_multiplier=2), delta=1e-6) == right
            assert pa.offline._process._child.pid != pid
            print("interrupted", flush=True)
        """)
    assert job.stdout is not None
    child = int(job.stdout.readline())
    time.sleep(0.5)
    job.send_signal(signal.SIGINT)
    out, err = job.communicate()
    assert out == "interrupted\n", err
    assert ends(child)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_its_own() -> None:
    job = python("""
        import os, threading
        want = [pa.epsilon(pa.gaussian(noise_multiplier=n), delta=1e-6) for n in range(1, 9)]
        mine = pa.offline._process._child.pid
        pa.offline._kept.cache_clear()
        pid = os.fork()
        for i in range(3):
            pa.offline._kept.cache_clear()
            assert [pa.epsilon(pa.gaussian(noise_multiplier=n), delta=1e-6) for n in range(1, 9)] == want
        assert (pa.offline._process._child.pid == mine) == (pid != 0)
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print("both")
        """)
    out, err = job.communicate()
    assert out == "both\n", err


def test_a_deadline() -> None:
    job = python("""
        import time
        start = time.monotonic()
        try:
            answer = pa.query(**hard, deadline=0.5)
            print("looser" if "longer deadline" in str(answer) else answer)
        except TimeoutError as e:
            print("looser", e)
        assert time.monotonic() - start < 60
        """)
    out, err = job.communicate()
    assert out.startswith("looser"), err


def test_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right = _process.find("accountctl")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(FileNotFoundError, match=r"accountctl is missing: looked in .*make build"):
        _process.Process().ask(pb.Asked(), None)
    monkeypatch.setattr(_process, "BUNDLED", tmp_path)
    (tmp_path / "accountctl").symlink_to(right)
    assert _process.find("accountctl") == str(tmp_path / "accountctl")
    (tmp_path / "accountctl").unlink()
    (tmp_path / "accountctl").write_text("#!/bin/sh\necho 'accountctl: unknown command \"answer\"' >&2\nexit 2\n")
    (tmp_path / "accountctl").chmod(0o755)
    old = _process.Process()
    with pytest.raises(RuntimeError, match='unknown command "answer"'):
        old.ask(pb.Asked(method="QueryPrivacy"), None)
    old.end()


@pytest.mark.parametrize(("message", "shown"), [
    ("workload.events[0].mechanism.gaussian.noise_multiplier: -1; allowed: a number",
     "gaussian: noise_multiplier: -1; allowed: a number"),
    ("charge.events[2].mechanism.poisson_sampled.mechanism.gaussian.noise_multiplier: -1",
     "events[2]: gaussian: noise_multiplier: -1"),
    ("workload.events[0].mechanism.composed.events[1].mechanism.laplace.scale: 0", "laplace: scale: 0"),
    ("workload.events[0].count: missing or 0", "count: missing or 0"),
    ("spec.budgets[1].guard: missing", "budgets[1]: guard: missing"),
    ("delta: 2; allowed: a number in (0, 1)", "delta: 2; allowed: a number in (0, 1)"),
    ("a ledger a.b: c", "a ledger a.b: c"),
])
def test_errors_name_keywords(message: str, shown: str) -> None:
    assert in_keywords(message) == shown
