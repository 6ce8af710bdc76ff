"""The mapping from keyword arguments to the API's messages, and what needs no daemon."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

import privacy_accountant
from privacy_accountant import gaussian, mechanism, mechanisms, poisson_sampled, round_up, workload
from privacy_accountant import proto as pb


@pytest.mark.parametrize("kind", mechanisms.kinds())
def test_every_kind_has_a_function(kind: str) -> None:
    made = getattr(mechanisms, kind)
    assert callable(made) and kind in dir(mechanisms)
    empty = mechanism(kind)
    assert empty.WhichOneof("kind") == kind  # also without a field
    with pytest.raises(TypeError, match=r"sensitivty|unexpected"):
        made(sensitivty=1)


def test_fields() -> None:
    m = poisson_sampled(gaussian(standard_deviation=2, sensitivity=numpy.float64(0.5)), batch_size=256, dataset_size=60000)
    inner = m.poisson_sampled.mechanism.gaussian
    assert (inner.standard_deviation, inner.sensitivity, inner.HasField("distance")) == (2.0, 0.5, False)
    assert (m.poisson_sampled.batch_size, m.poisson_sampled.HasField("sampling_probability")) == (256, False)
    assert mechanism("poisson_sampled", sampling_probability=0.5, mechanism={"gaussian": {"noise_multiplier": 1}}) == poisson_sampled(
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
    assert fixed.parallel.partition_fixed_in_advance and not mechanisms.parallel(parts=parts).parallel.partition_fixed_in_advance


def test_events() -> None:
    g = gaussian(noise_multiplier=1)
    w = workload([g, (g, 5), pb.Event(mechanism=g, count=7), [(g, numpy.int64(2))]], adjacency="replace-one", name="w")  # type: ignore[list-item]
    assert [e.count for e in w.events] == [1, 5, 7, 2] and w.adjacency == pb.Workload.REPLACE_ONE
    w.events[0].mechanism.gaussian.noise_multiplier = 2
    assert g.gaussian.noise_multiplier == 1  # copies
    for bad in (5, "gaussian", [g, "x"]):
        with pytest.raises(TypeError, match="allowed"):
            workload(bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="adjacency: 'x'; allowed: ADD_OR_REMOVE_ONE"):
        workload(adjacency="x")


@pytest.mark.parametrize("value, places, text", [(4.30121, 4, "4.3013"), (0.1, 1, "0.2"), (1.0, 2, "1.00"), (1e-9, 4, "0.0001"), (math.inf, 4, "inf"), (0.0, 1, "0.0")])
def test_round_up(value: float, places: int, text: str) -> None:
    assert round_up(value, places) == text and float(text) >= value  # 0.1 is a little more in binary


def test_everything_that_is_exported_is_there() -> None:
    assert all(hasattr(privacy_accountant, name) for name in privacy_accountant.__all__)


def test_optional_packages_are_not_imported() -> None:
    script = "import sys, privacy_accountant; print([m for m in ('pandas', 'matplotlib', 'torch', 'opacus', 'jax') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_without_numpy(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError")
    script = """
from privacy_accountant import Curve, proto as pb
c = Curve.of(pb.QueryPrivacyCurveResponse(points=[pb.CurvePoint(epsilon=1, delta=0.5, log_delta=-0.7, analysis="pld")], guarantee="plan"))
print(c.epsilon, c.delta_lower)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])})
    assert out.stdout.strip() == "(1.0,) (nan,)"
