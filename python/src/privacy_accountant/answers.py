# SPDX-License-Identifier: Apache-2.0
"""What the daemon answers, for Python: NumPy arrays where NumPy is there, tuples where not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as _field
from decimal import ROUND_CEILING, Decimal
from typing import Any

from . import _draw, _html, _shown
from . import proto as pb
from ._real import real
from ._whole import whole

_shown.install()


def _column(values: Iterable[float]) -> Any:
    try:
        import numpy  # here: it takes longer to load than this package
    except ImportError:
        return tuple(values)
    return numpy.array(list(values), dtype=float)


@dataclass(frozen=True)
class Curve:
    """δ at many ε, and the trade-off between the errors of a test for a record.

    delta is the least proven upper bound at each epsilon, delta_lower a bound that no
    accountant can go below (NaN where none is known), log_delta its logarithm, which
    goes on where δ underflows. beta is rounded down: whoever errs with alpha on one
    side errs with at least beta on the other. guarantee is "descriptive", "plan" or
    "filter". warnings are about what is allowed and often a mistake. message is the answer as it came.
    """

    epsilon: Any
    delta: Any
    delta_lower: Any
    log_delta: Any
    alpha: Any
    beta: Any
    beta_upper: Any
    advantage: float | None
    guarantee: str
    warnings: tuple[str, ...]
    message: pb.QueryPrivacyCurveResponse = _field(repr=False)

    @staticmethod
    def of(answer: pb.QueryPrivacyCurveResponse) -> Curve:
        nan = float("nan")
        points, trade_off = answer.points, answer.trade_off
        return Curve(
            epsilon=_column(p.epsilon for p in points),
            delta=_column(p.delta for p in points),
            delta_lower=_column(p.delta_lower if p.HasField("delta_lower") else nan for p in points),
            log_delta=_column(p.log_delta for p in points),
            alpha=_column(p.alpha for p in trade_off),
            beta=_column(p.beta for p in trade_off),
            beta_upper=_column(p.beta_upper for p in trade_off),
            advantage=answer.advantage if answer.HasField("advantage") else None,
            guarantee=answer.guarantee,
            warnings=tuple(answer.warnings),
            message=answer,
        )

    @property
    def mu(self) -> float | None:
        """The least μ of Gaussian differential privacy, where gaussian_dp=True asked for it; from above."""
        return self.message.gaussian_dp.mu if self.message.HasField("gaussian_dp") else None

    @property
    def renyi(self) -> dict[float, float]:
        """The Rényi divergence at each of the orders that were asked for; from above."""
        return {r.order: r.divergence for r in self.message.renyi}

    @property
    def rho(self) -> float | None:
        """The least ρ of (ξ, ρ)-zCDP, where xi asked for it; from above."""
        return self.message.concentrated.rho if self.message.HasField("concentrated") else None

    @property
    def bayes_risk(self) -> dict[float, float]:
        """How often any attacker errs who guesses whether a record is in the data, at each prior; from below."""
        return {b.prior: b.risk for b in self.message.bayes_risks}

    @property
    def reconstruction(self) -> dict[float, float]:
        """How likely a record is guessed from the outputs, at each of the baselines; from above."""
        return {r.baseline: r.success for r in self.message.reconstructions}

    @property
    def canaries(self) -> pb.CanaryFinding | None:
        """What a run of canaries says, where it was given: epsilon_observed, epsilon, p_value, contradicts."""
        return self.message.canaries if self.message.HasField("canaries") else None

    def __repr__(self) -> str:
        ends = f", ε from {self.epsilon[0]:g} to {self.epsilon[-1]:g}" if len(self.epsilon) else ""
        return f"<curve: {len(self.epsilon)} points{ends}, guarantee: {self.guarantee}>"

    def _repr_html_(self) -> str:
        rows = [("guarantee", self.guarantee)]
        if self.advantage is not None:
            rows.append(("advantage of an attacker who tests for a record", f"at most {_shown.up(self.advantage, 4)}"))
        return _html.card("Privacy curve", rows, _html.line(self.epsilon, self.delta, "ε", "δ"), self.warnings)

    def to_frame(self) -> Any:
        """A pandas data frame of the points; needs pandas."""
        pandas = _pandas()
        return pandas.DataFrame(
            {"epsilon": self.epsilon, "delta": self.delta, "delta_lower": self.delta_lower,
             "log_delta": self.log_delta})

    def plot(self, ax: Any = None) -> Any:
        """ε against δ; needs matplotlib. Returns the axes."""
        return _draw.privacy_curve(ax, self.epsilon, self.delta, self.delta_lower, self.guarantee)

    def plot_trade_off(self, ax: Any = None) -> Any:
        """The trade-off; needs matplotlib. Returns the axes."""
        return _draw.trade_off(ax, self.alpha, self.beta, self.guarantee)


@dataclass(frozen=True)
class Calibration:
    """The parameter with which everything costs at most the target: value of the event's
    field, and the event with it. exceeding is the nearest value that was tried and does
    not fit. If the ledger does not take the value that the target alone allows, that value is
    target_value, and refusal is what the ledger says. epsilon is what everything then costs,
    rounded up. warnings are about what is allowed and often a mistake. message is the answer as
    it came."""

    field: str
    value: float
    exceeding: float | None
    target_value: float | None
    refusal: str
    event: pb.Event
    epsilon: float | None
    guarantee: str
    warnings: tuple[str, ...]
    message: pb.CalibrateResponse = _field(repr=False)

    def __repr__(self) -> str:
        epsilon = "" if self.epsilon is None else f", ε ≤ {_shown.up(self.epsilon)}"
        target = "" if self.target_value is None else f" (the ledger refuses {_shown.up(self.target_value)})"
        return f"<{self.field} = {self.value!r}{target}{epsilon}: {self.event!r}>"

    def _repr_html_(self) -> str:
        rows = [("event", repr(self.event)), ("guarantee", self.guarantee)]
        if self.epsilon is not None:
            rows.append(("ε of everything", f"at most {_shown.up(self.epsilon)}"))
        if self.exceeding is not None:
            rows.append(("does not fit any more", repr(self.exceeding)))
        if self.target_value is not None:
            rows.append(("enough for the target alone", repr(self.target_value)))
        if self.refusal:
            rows.append(("what the ledger says", self.refusal))
        return _html.card(f"{self.field} = {self.value!r}", rows, notes=self.warnings)

    @staticmethod
    def of(answer: pb.CalibrateResponse) -> Calibration:
        return Calibration(
            field=answer.field,
            value=answer.value,
            exceeding=answer.exceeding_value if answer.HasField("exceeding_value") else None,
            target_value=answer.target_value if answer.HasField("target_value") else None,
            refusal=answer.refusal,
            event=answer.event,
            epsilon=answer.epsilon if answer.HasField("epsilon") else None,
            guarantee=answer.guarantee,
            warnings=tuple(answer.warnings),
            message=answer,
        )


def round_up(value: float, places: int = 4) -> str:
    """value with a number of decimal places, never less than it is: for printing ε and δ,
    which f"{epsilon:.4f}" may round down."""
    places, value = whole("places", places, most=1100), real("value", value)
    if not math.isfinite(value):
        return str(value)
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING):f}"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as e:
        raise ImportError("data frames need pandas: pip install pandas", name=e.name) from e
    return pandas


def to_frame(what: Any) -> Any:
    """A pandas data frame: of a curve its points; of an answer the analyses; of a ledger the plan, or the budgets; of a
    statement ε at each δ; of several ledgers or entries a row each. Needs pandas."""
    pandas = _pandas()
    if isinstance(what, Curve):
        return what.to_frame()
    if isinstance(what, pb.QueryPrivacyResponse):
        return pandas.DataFrame([{"analysis": a.analysis, "epsilon": a.epsilon if a.HasField("epsilon") else None,
                                  "delta": a.delta if a.HasField("delta") else None,
                                  "unsupported": a.unsupported or None} for a in what.analyses])
    if isinstance(what, pb.Ledger):
        if what.plan:
            return pandas.DataFrame(
                [{"mechanism": _shown.mechanism(p.mechanism), "planned": p.planned, "spent": p.spent,
                  "reserved": p.reserved,
                                      "remaining": p.remaining} for p in what.plan])
        return pandas.DataFrame(
            [{"unit": b.value.unit, "limit": b.value.limit, "spent": b.value.spent, "reserved": b.value.reserved,
                                  "remaining": b.value.remaining} for b in what.budgets])
    if isinstance(what, pb.Statement):
        return pandas.DataFrame(
            [{"delta": p.delta, "epsilon": p.epsilon,
              "epsilon_lower": p.epsilon_lower if p.HasField("epsilon_lower") else None,
                                  "analysis": p.analysis, "running": p.running if p.HasField("running") else None}
             for p in what.privacy])
    rows = list(what)
    if rows and all(isinstance(x, pb.Ledger) for x in rows):
        return pandas.DataFrame(
            [{"name": x.spec.name, "policy": pb.LedgerSpec.Policy.Name(x.spec.policy).lower(), "charged": x.total_count,
                                  "closed": x.closed} for x in rows])
    return entries_frame(rows)


def entries_frame(entries: Iterable[pb.Entry]) -> Any:
    """A pandas data frame of a ledger's entries, a row each; labels are columns. Needs pandas."""
    pandas, rows = _pandas(), []
    for e in entries:
        action = e.WhichOneof("action")
        content = getattr(e, action) if action else None
        changed = sum(x.count for x in getattr(content, "events", ()))
        rows.append({
            "position": e.position,
            "time": pandas.Timestamp(e.time.seconds * 10**9 + e.time.nanos, unit="ns", tz="UTC"),
            "action": action, "count": changed, "principal": e.principal, "writer": e.writer, "sequence": e.sequence,
            **{f"label.{k}": v for k, v in getattr(content, "labels", {}).items()},
        })
    return pandas.DataFrame(rows)
