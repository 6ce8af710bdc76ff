# SPDX-License-Identifier: Apache-2.0
"""Answers without a daemon: what mechanisms cost, from the program accountctl that comes with this package.

    import privacy_accountant as pa

    step = pa.poisson_sampled(pa.gaussian(noise_multiplier=1.1), batch_size=256, dataset_size=60000)
    pa.epsilon([(step, 14100)], delta=1e-6)

The numbers are those of the daemon and of `accountctl compute`. The first question starts
accountctl as a child process, which is kept for the next ones; an answer is kept, too, for
when the same is asked again. Threads may ask at the same time and wait for each other.

adjacency: which datasets are neighbours, "add-or-remove-one" unless said otherwise,
"replace-one" or "zero-out". deadline: seconds that the answer may take; what is not finished
then gives a looser bound, which says so, or a TimeoutError.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from . import _questions as questions
from . import proto as pb
from ._fields import Events, OneEvent, workload
from ._process import Process
from ._real import DEADLINE, positive
from .answers import Calibration, Curve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CurveOptions
    from ._questions import Target

_process = Process()
_DEADLINE_EXCEEDED = 4


def epsilon(
    what: Events | pb.Workload, delta: float, *, adjacency: str | int = "add-or-remove-one",
    max_gap: float | None = None,
    deadline: float | None = None,
) -> float:
    """The least proven upper bound on ε at delta of events, or of a workload. It may be infinite."""
    return questions.stated(query(what, delta=delta, adjacency=adjacency, max_gap=max_gap, deadline=deadline),
                            "epsilon")


def delta(
    what: Events | pb.Workload, epsilon: float, *, adjacency: str | int = "add-or-remove-one",
    max_gap: float | None = None,
    deadline: float | None = None,
) -> float:
    """The least proven upper bound on δ at epsilon of events, or of a workload."""
    return questions.stated(query(what, epsilon=epsilon, adjacency=adjacency, max_gap=max_gap, deadline=deadline),
                            "delta")


def query(
    what: Events | pb.Workload, *, delta: float | None = None, epsilon: float | None = None,
    adjacency: str | int = "add-or-remove-one",
    max_gap: float | None = None, deadline: float | None = None,
) -> pb.QueryPrivacyResponse:
    """ε at delta, or δ at epsilon, with every analysis's bound, a lower bound where one is proven, and warnings."""
    request = questions.query(_workload(what, adjacency), delta, epsilon, max_gap)
    answer = pb.QueryPrivacyResponse()
    answer.ParseFromString(_ask("QueryPrivacy", request, deadline))
    return answer


def curve(
    what: Events | pb.Workload, *, adjacency: str | int = "add-or-remove-one", deadline: float | None = None,
    **fields: Unpack[CurveOptions],
) -> Curve:
    """δ at many ε, and the trade-off of a test. fields: epsilons, or epsilon_min, epsilon_max and points; alphas;
    max_gap."""
    request = questions.curve(_workload(what, adjacency), fields)
    return Curve.of(pb.QueryPrivacyCurveResponse.FromString(_ask("QueryPrivacyCurve", request, deadline)))


def calibrate(
    solve: str, event: OneEvent, *, fixed: Events | pb.Workload | None = None,
    adjacency: str | int = "add-or-remove-one", deadline: float | None = None, **target: Unpack[Target],
) -> Calibration:
    """The parameter of one event with which it, and all that stays fixed (events or a workload), cost at most the
    target.

    solve: "noise-multiplier" (or "scale", "standard-deviation": the smallest noise), "count" or "sampling-probability"
    (the largest). event: a mechanism, a pair (mechanism, count), or an event. target: target_epsilon with
    target_delta; or target_mu; or target_advantage; or target_alpha with target_beta.
    """
    stays = fixed if isinstance(fixed, pb.Workload) else workload(fixed or (), adjacency=adjacency)
    request = questions.calibrate(solve, event, target, "", stays, None)
    return Calibration.of(pb.CalibrateResponse.FromString(_ask("Calibrate", request, deadline)))


def explain(
    what: Events | pb.Workload, *, delta: float | None = None, epsilon: float | None = None,
    adjacency: str | int = "add-or-remove-one",
    deadline: float | None = None,
) -> dict[str, Any]:
    """What each analysis and each classical theorem says, how loose it is, what it assumes, and its source:
    the JSON of `accountctl compute --explain`."""
    request = questions.query(_workload(what, adjacency), delta, epsilon, None)
    return json.loads(_ask("Explain", request, deadline))  # type: ignore[no-any-return]


def _workload(what: Events | pb.Workload, adjacency: str | int) -> pb.Workload:
    if isinstance(what, str):
        raise TypeError(f"events: {what!r}; allowed: a mechanism, a pair (mechanism, count), several of these, or a "
                        "workload; "
                        "for a ledger ask the daemon that keeps it: Client(...)")
    return what if isinstance(what, pb.Workload) else workload(what, adjacency=adjacency)


def _ask(method: str, request: Any, deadline: float | None) -> bytes:
    question = request.SerializeToString(deterministic=True)
    if deadline is None:
        return _kept(method, question)
    deadline = positive("deadline", deadline, DEADLINE)
    return _answer(method, question, deadline)  # not kept: with more time it may be tighter


@functools.lru_cache(maxsize=1024)
def _kept(method: str, question: bytes) -> bytes:
    return _answer(method, question, None)


def _answer(method: str, question: bytes, deadline: float | None) -> bytes:
    answered = _process.ask(pb.Asked(method=method, request=question, seconds=deadline or 0.0), deadline)
    if answered.code == 0:
        return answered.response
    if answered.code == _DEADLINE_EXCEEDED:
        raise TimeoutError(answered.error)
    from .errors import Failure, code_of  # which need gRPC, and so are not loaded before

    raise Failure(code_of(answered.code), answered.error).error("question", "")
