# SPDX-License-Identifier: Apache-2.0
"""Questions about what mechanisms cost: arguments in, a request of the API out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict, Union

from . import proto as pb
from ._fields import Events, OneEvent, enum_value, event, fill, workload

# A ledger by name, or a workload that is in no ledger; of events alone the neighbouring datasets differ by one record
# more or less, as in questions without a daemon.
Subject = Union[str, pb.Workload, Events]


def _of(subject: Subject) -> dict[str, Any]:
    if isinstance(subject, str):
        return {"ledger": subject}
    if not isinstance(subject, pb.Workload):
        subject = workload(subject, adjacency="add-or-remove-one")
    return {"workload": subject}


def query(subject: Subject, delta: float | None, epsilon: float | None,
          max_gap: float | None) -> pb.QueryPrivacyRequest:
    if None not in (delta, epsilon) or delta is None and epsilon is None and not isinstance(subject, str):
        raise TypeError("query: delta or epsilon; allowed: exactly one of them, or of a ledger neither: its own delta")
    return fill(pb.QueryPrivacyRequest(**_of(subject)), "query",
                {"delta": delta, "epsilon": epsilon, "max_gap": max_gap})


def stated(answer: pb.QueryPrivacyResponse, number: str) -> float:
    """The answer's ε or δ. An absent one must not read as 0: no bound is known."""
    if answer.HasField(number):
        return float(getattr(answer, number))
    return math.inf if number == "epsilon" else 1.0


def curve(subject: Subject, fields: Mapping[str, Any]) -> pb.QueryPrivacyCurveRequest:
    return fill(pb.QueryPrivacyCurveRequest(**_of(subject)), "curve", fields)


def overview(token: str, fields: Mapping[str, Any]) -> pb.QueryOverviewRequest:
    return fill(pb.QueryOverviewRequest(page_token=token), "overview", fields)


def history(ledger: str, fields: Mapping[str, Any]) -> pb.QueryHistoryRequest:
    return fill(pb.QueryHistoryRequest(ledger=ledger), "history", fields)


def spending(ledger: str, by: str | int, label: str | None, limit: int, delta: float | None) -> pb.QuerySpendingRequest:
    return fill(pb.QuerySpendingRequest(ledger=ledger), "spending",
                {"by": by, "label_key": label, "limit": limit, "delta": delta})


def spending_anywhere(name: str, token: str, by: str | int, label: str | None, prefix: str,
                      delta: float | None) -> pb.QuerySpendingAnywhereRequest:
    return fill(pb.QuerySpendingAnywhereRequest(name=name, page_token=token), "spending_anywhere",
                {"by": by, "label_key": label, "prefix": prefix, "delta": delta})


class Target(TypedDict, total=False):
    """What everything may cost: ε at δ, or μ, or the advantage of a test, or a point (α, β) of its errors."""

    target_epsilon: float | None
    target_delta: float | None
    target_mu: float | None
    target_advantage: float | None
    target_alpha: float | None
    target_beta: float | None


# The answer's names of the field that STANDARD_DEVIATION solves for.
_NOISE = ("noise_multiplier", "scale", "laplace_scale")


def calibrate(
    solve: str, what: OneEvent, target: Mapping[str, Any], ledger: str, fixed: Events | pb.Workload | None,
    adjacency: str | int | None,
) -> pb.CalibrateRequest:
    if isinstance(solve, str) and solve.lower().replace("-", "_") in _NOISE:
        solve = "STANDARD_DEVIATION"
    request = pb.CalibrateRequest(
        ledger=ledger,
        event=what if isinstance(what, pb.Event) else event(*what) if isinstance(what, tuple) else event(what),
        solve=enum_value(pb.CalibrateRequest.Solve.DESCRIPTOR, "solve", solve, _NOISE),  # type: ignore[arg-type]
    )
    fill(request, "calibrate", target)
    if fixed is not None or adjacency is not None:
        request.workload.CopyFrom(fixed
                                  if isinstance(fixed,
                                                pb.Workload) else workload(fixed or (), adjacency=adjacency or 0))
    return request
