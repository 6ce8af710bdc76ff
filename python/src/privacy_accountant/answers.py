"""What the daemon answers, for Python: NumPy arrays where NumPy is there, tuples where not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as _field
from decimal import ROUND_CEILING, Decimal
from typing import Any

from . import _draw
from . import proto as pb


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

    def to_frame(self) -> Any:
        """A pandas data frame of the points; needs pandas."""
        pandas = _pandas()
        return pandas.DataFrame({"epsilon": self.epsilon, "delta": self.delta, "delta_lower": self.delta_lower, "log_delta": self.log_delta})

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
    not fit. epsilon is what everything then costs, rounded up. warnings are about what is allowed
    and often a mistake. message is the answer as it came."""

    field: str
    value: float
    exceeding: float | None
    event: pb.Event
    epsilon: float | None
    guarantee: str
    warnings: tuple[str, ...]
    message: pb.CalibrateResponse = _field(repr=False)

    @staticmethod
    def of(answer: pb.CalibrateResponse) -> Calibration:
        return Calibration(
            field=answer.field,
            value=answer.value,
            exceeding=answer.exceeding_value if answer.HasField("exceeding_value") else None,
            event=answer.event,
            epsilon=answer.epsilon if answer.HasField("epsilon") else None,
            guarantee=answer.guarantee,
            warnings=tuple(answer.warnings),
            message=answer,
        )


def round_up(value: float, places: int = 4) -> str:
    """value with a number of decimal places, never less than it is: for printing ε and δ,
    which f"{epsilon:.4f}" may round down."""
    if not math.isfinite(value):
        return str(value)
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING):f}"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as e:
        raise ImportError("data frames need pandas: pip install pandas", name=e.name) from e
    return pandas


def entries_frame(entries: Iterable[pb.Entry]) -> Any:
    """A pandas data frame of a ledger's entries, a row each; labels are columns. Needs pandas."""
    pandas, rows = _pandas(), []
    for e in entries:
        action = e.WhichOneof("action")
        content = getattr(e, action) if action else None
        changed = sum(x.count for x in getattr(content, "events", ()))
        rows.append({
            "position": e.position, "time": pandas.Timestamp(e.time.seconds * 10**9 + e.time.nanos, unit="ns", tz="UTC"),
            "action": action, "count": changed, "principal": e.principal, "writer": e.writer, "sequence": e.sequence,
            **{f"label.{k}": v for k, v in getattr(content, "labels", {}).items()},
        })
    return pandas.DataFrame(rows)
