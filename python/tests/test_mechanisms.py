# SPDX-License-Identifier: Apache-2.0
"""The mapping from keyword arguments to the API's messages, and what needs no daemon."""

from __future__ import annotations

import inspect
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import privacy_accountant
from privacy_accountant import (
    Client, NotFound, Run, _questions, gaussian, mechanism, mechanisms, poisson_sampled, round_up, workload,
)
from privacy_accountant import proto as pb
from privacy_accountant.run import RunOptions


@pytest.mark.parametrize("kind", mechanisms.kinds())
def test_every_kind_has_a_function(kind: str) -> None:
    made = getattr(mechanisms, kind)
    assert callable(made) and kind in dir(mechanisms)
    empty = mechanism(kind)
    assert empty.WhichOneof("kind") == kind  # also without a field
    with pytest.raises(TypeError, match=r"sensitivty|unexpected"):
        made(sensitivty=1)


def test_fields() -> None:
    m = poisson_sampled(gaussian(standard_deviation=2, sensitivity=numpy.float64(0.5)), batch_size=256,
                        dataset_size=60000)
    inner = m.poisson_sampled.mechanism.gaussian
    assert (inner.standard_deviation, inner.sensitivity, inner.HasField("distance")) == (2.0, 0.5, False)
    assert (m.poisson_sampled.batch_size, m.poisson_sampled.HasField("sampling_probability")) == (256, False)
    assert mechanism("poisson_sampled", sampling_probability=0.5,
                     mechanism={"gaussian": {"noise_multiplier": 1}}) == poisson_sampled(
        gaussian(noise_multiplier=1), sampling_probability=0.5)
    with pytest.raises(TypeError, match="gaussian and laplace"):
        mechanism("poisson_sampled", mechanism={"gaussian": {"noise_multiplier": 1}, "laplace": {"scale": 1}})
    with pytest.raises(TypeError, match="'scale' is not a field"):
        mechanism("gaussian", scale=1)
    with pytest.raises(ValueError, match="'gausian'; allowed: .*gaussian"):
        mechanism("gausian")
    with pytest.raises(AttributeError):
        mechanisms.gausian
    with pytest.raises((TypeError, ValueError)):
        gaussian(noise_multiplier="big")  # type: ignore[arg-type]


def test_parallel() -> None:
    parts = [gaussian(noise_multiplier=2), mechanism("pure_dp", epsilon=0.5)]
    fixed = mechanisms.parallel(parts=parts, partition_fixed_in_advance=True)
    assert fixed.parallel.partition_fixed_in_advance and not mechanisms.parallel(
        parts=parts).parallel.partition_fixed_in_advance


def test_events() -> None:
    g = gaussian(noise_multiplier=1)
    w = workload([g, (g, 5), pb.Event(mechanism=g, count=7), [(g, numpy.int64(2))]], adjacency="replace-one",
                 name="w")  # type: ignore[list-item]
    assert [e.count for e in w.events] == [1, 5, 7, 2] and w.adjacency == pb.Workload.REPLACE_ONE
    w.events[0].mechanism.gaussian.noise_multiplier = 2
    assert g.gaussian.noise_multiplier == 1  # copies
    for bad in (5, "gaussian", [g, "x"]):
        with pytest.raises(TypeError, match="allowed"):
            workload(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="adjacency: 'x'; allowed: add-or-remove-one, replace-one, zero-out$"):
        workload(adjacency="x")


@pytest.mark.parametrize("value, places, text",
                         [(4.30121, 4, "4.3013"), (0.1, 1, "0.2"), (1.0, 2, "1.00"), (1e-9, 4, "0.0001"),
                          (math.inf, 4, "inf"), (0.0, 1, "0.0")])
def test_round_up(value: float, places: int, text: str) -> None:
    assert round_up(value, places) == text and float(text) >= value  # 0.1 is a little more in binary


def test_everything_that_is_exported_is_there() -> None:
    assert all(hasattr(privacy_accountant, name) for name in privacy_accountant.__all__)


def test_optional_packages_are_not_imported() -> None:
    script = ("import sys, privacy_accountant; "
              "import privacy_accountant.tracking; "
              "print([m for m in ('pandas', 'matplotlib', 'torch', 'opacus', 'jax', 'mlflow', 'wandb') "
              "if m in sys.modules])")
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          check=True).stdout.strip() == "[]"


def test_without_numpy(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError")
    script = """
from privacy_accountant import Curve, proto as pb
c = Curve.of(pb.QueryPrivacyCurveResponse(points=[pb.CurvePoint(epsilon=1, delta=0.5, log_delta=-0.7, analysis="pld")],
guarantee="plan"))
print(c.epsilon, c.delta_lower)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                         env=os.environ | {"PYTHONPATH": os.pathsep.join(
                             [str(tmp_path), os.environ.get("PYTHONPATH", "")])})
    assert out.stdout.strip() == "(1.0,) (nan,)"


def test_misspelt_names_are_told(client: Client) -> None:
    for call, meant in {
        lambda: gaussian(noise_multiplir=1): "noise_multiplier",  # type: ignore[call-arg]
        lambda: mechanisms.dp_sgd(noise_multiplier=1, bach_size=1,
                                  dataset_size=2): "batch_size",  # type: ignore[call-arg]
        lambda: mechanism("gaussian", noise_multiplir=1): "noise_multiplier",
        lambda: mechanism("gausian"): "gaussian",
        lambda: client.create_ledger("x", "add-or-remove-one", dataset="a"): "dataset_id",  # type: ignore[call-arg]
        lambda: client.create_ledger("x", "add-or-remove-one",
                                     budgets=[{"epsilonn": 1}]): "epsilon",  # type: ignore[typeddict-unknown-key]
        lambda: client.curve("x", epsilon_maximum=2): "epsilon_max",  # type: ignore[call-arg]
        lambda: next(client.entries("x", pagesize=2)): "page_size",  # type: ignore[call-arg]
        lambda: client.run("x", chunks=2): "chunk",  # type: ignore[call-arg]
    }.items():
        with pytest.raises((TypeError, ValueError), match=f"did you mean '{meant}'"):
            call()


def test_a_misspelt_name_fails_mypy(tmp_path: Path) -> None:
    good = """
from privacy_accountant import Client, dp_sgd, gaussian, poisson_sampled
step = poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01)
dp_sgd(noise_multiplier=1.1, batch_size=256, dataset_size=60000, epochs=60)
c = Client("127.0.0.1:1")
c.create_ledger("a", "replace-one", plan=(step, 10), labels={"a": "b"}, budgets=[{"epsilon": 8, "delta": 1e-5, "guard":
"rdp"}])
c.curve("a", epsilons=[1.0], max_gap=0.1)
c.run("a", chunk=10, ahead=True)
list(c.entries("a", page_size=5, writer="w"))
"""
    bad = {"noise_multiplier=1.1)": "noise_multiplir=1.1)", "epochs=60": "epoch=60", "labels=": "label=",
           '"guard"': '"gard"', "max_gap=": "maxgap=",
           "chunk=": "chunks=", "page_size=": "pagesize="}
    names = ["good.py"]
    (tmp_path / "good.py").write_text(good)
    for i, (right, wrong) in enumerate(bad.items()):
        assert right in good
        names.append(f"bad{i}.py")
        (tmp_path / names[-1]).write_text(good.replace(right, wrong))
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *names], cwd=tmp_path,
                          capture_output=True, text=True)
    told = {line.split(":")[0] for line in done.stdout.splitlines()}
    assert told == set(names[1:]), done.stdout


def test_options_are_those_of_a_run() -> None:
    assert list(RunOptions.__annotations__) == list(inspect.signature(Run).parameters)[2:]


@pytest.mark.parametrize("kind", mechanisms.kinds())
def test_every_parameter_is_documented(kind: str) -> None:
    made = getattr(mechanisms, kind)
    fields = [f.name for f in pb.Mechanism.DESCRIPTOR.fields_by_name[kind].message_type.fields]
    assert sorted(inspect.signature(made).parameters) == sorted(fields)
    assert all(f"    {name}: " in made.__doc__ for name in fields)


def test_an_enum_is_refused_with_the_names_that_the_documents_use() -> None:
    with pytest.raises(ValueError, match="solve: 'sigma'; allowed: noise-multiplier, scale, laplace-scale, sta"):
        _questions.calibrate("sigma", gaussian(noise_multiplier=1), {}, "", None, None)


def test_a_missing_ledger_comes_with_what_to_do() -> None:
    assert "Client.ledgers() lists" in str(NotFound("query", "a", "ledger a: not found"))
    assert "Client.ledgers()" not in str(NotFound("query", "a", "ledger a: sequence 3 of writer w: not found"))
