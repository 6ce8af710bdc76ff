# SPDX-License-Identifier: Apache-2.0
"""How the API's messages look: one line for repr, a card with a chart in a notebook. str is as it was."""

from __future__ import annotations

import contextlib
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from . import _html
from . import proto as pb


def up(value: float, digits: int = 6) -> str:
    """value with few digits, never less than it is."""
    return _rounded(value, digits, ROUND_CEILING)


def down(value: float, digits: int = 6) -> str:
    """value with few digits, never more than it is."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    exact = Decimal(repr(value))  # the shortest that names this number
    if len(exact.normalize().as_tuple().digits) > digits:
        exact = Decimal(value).quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding)
    exact = exact.normalize()
    return f"{exact:f}" if -5 < exact.adjusted() < 16 else f"{exact:e}"


def mechanism(m: pb.Mechanism) -> str:
    """A mechanism as the call that makes it."""
    kind = m.WhichOneof("kind")
    if kind is None:
        return "Mechanism()"
    return f"{kind}({', '.join(_field(name, value) for name, value in _fields(getattr(m, kind)))})"


def _fields(message: Any) -> list[tuple[str, Any]]:
    listed = [(f.name, value) for f, value in message.ListFields()]
    return sorted(listed, key=lambda item: item[0] != "mechanism")  # what runs inside comes first


def _field(name: str, value: Any) -> str:
    if isinstance(value, pb.Mechanism):
        return mechanism(value)
    if isinstance(value, (bool, int, float, str)):
        return f"{name}={value!r}"
    items = list(value)
    shown = [repr(v) for v in items[:4]] + ["…"] * (len(items) > 4)
    return f"{name}=[{', '.join(shown)}]"


def event(e: pb.Event) -> str:
    return f"Event({mechanism(e.mechanism)}, {e.count})"


def workload(w: pb.Workload) -> str:
    events = event(w.events[0])[6:-1] if len(w.events) == 1 else f"{len(w.events)} events"
    return f"Workload({_adjacency(w.adjacency)}, {events})"


def _adjacency(number: int) -> str:
    return str(pb.Workload.Adjacency.Name(number)).lower().replace("_", "-")


def answer(a: pb.QueryPrivacyResponse) -> str:
    by = f", by {a.analysis}" if a.analysis else ""
    return f"<{_stated(a)}{by}; guarantee: {a.guarantee}>"


def _stated(a: pb.QueryPrivacyResponse) -> str:
    epsilon = up(a.epsilon) if a.HasField("epsilon") else "∞"
    delta = up(a.delta) if a.HasField("delta") else "1"
    return f"ε ≤ {epsilon} at δ ≤ {delta}"


def _answer_html(a: pb.QueryPrivacyResponse) -> str:
    rows = [("guarantee", a.guarantee), ("analysis", a.analysis)]
    if a.HasField("epsilon_lower"):
        rows.append(("no accountant can prove less than", f"ε = {down(a.epsilon_lower)}"))
    if a.HasField("running"):
        rows.append(("of what was charged so far", up(a.running)))
    known = [(x.analysis, x.epsilon) for x in a.analyses if x.HasField("epsilon") and math.isfinite(x.epsilon)]
    most = max((e for _, e in known), default=0.0)
    chart = _html.bars([(name, [(e / most, _html.USED)], f"ε ≤ {up(e)}") for name, e in known]) if most > 0 else ""
    return _html.card(_stated(a), rows, chart, a.warnings)


def ledger(x: pb.Ledger) -> str:
    state = "closed" if x.closed else "open"
    return f"<ledger {x.spec.name or x.name!r}: {_policy(x)}, {x.total_count} charged, {state}>"


def _policy(x: pb.Ledger) -> str:
    return str(pb.LedgerSpec.Policy.Name(x.spec.policy)).lower()


def _ledger_html(x: pb.Ledger) -> str:
    rows = [("policy", _policy(x)), ("neighbouring datasets", _adjacency(x.spec.adjacency)),
            ("charged", f"{x.total_count} releases, {x.position} entries"),
            ("state", "closed" if x.closed else "open")]
    if x.spec.privacy_unit:
        rows.insert(2, ("unit of privacy", x.spec.privacy_unit))
    bars = []
    for p in x.plan[:20]:
        whole = max(1, p.planned)
        bars.append(
            (mechanism(p.mechanism),
             [(p.spent / whole, _html.USED), (p.reserved / whole, _html.HELD), (p.remaining / whole, _html.FREE)],
                     f"{p.spent} of {p.planned}" + (f", {p.reserved} set aside" if p.reserved else "")))
    for b in x.budgets:
        v = b.value
        if v.limit > 0:
            bars.append(
                (v.unit,
                 [(v.spent / v.limit, _html.USED), (v.reserved / v.limit, _html.HELD),
                  (v.remaining / v.limit, _html.FREE)],
                         f"{up(v.spent, 3)} of {up(v.limit, 3)}"))
    notes = ["It has lost entries, by a restore or a failover, and is not reconciled."] if x.needs_reconciling else []
    return _html.card(f"Ledger {x.spec.name or x.name}", rows, _html.bars(bars) if bars else "", notes)


def written(a: pb.WriteResponse) -> str:
    r = a.receipt
    if not a.HasField("receipt"):
        return "<nothing written>"
    where = f"ledger {r.ledger!r}" if not r.members else f"{len(r.members)} ledgers"
    return f"<written{' before' if a.replayed else ''}: {where}, position {r.position}>"


def statement(s: pb.Statement) -> str:
    first = next((p for p in s.privacy if math.isfinite(p.epsilon)), None)
    says = "no finite ε" if first is None else f"ε ≤ {up(first.epsilon)} at δ = {first.delta:g}"
    return f"<statement of {s.ledger.spec.name!r}: {says}>"


def _statement_html(s: pb.Statement) -> str:
    most = max((p.epsilon for p in s.privacy if math.isfinite(p.epsilon)), default=0.0)
    bars = [(f"δ = {p.delta:g}", [(p.epsilon / most, _html.USED)], f"ε ≤ {up(p.epsilon)}") for p in s.privacy
            if math.isfinite(p.epsilon)] if most > 0 else []
    rows = [("guarantee", s.guarantee), ("neighbouring datasets", _adjacency(s.ledger.spec.adjacency)),
            *(("rests on", a) for a in s.assumptions)]
    return _html.card(f"Privacy of {s.ledger.spec.name}", rows, _html.bars(bars) if bars else "", s.warnings)


def install() -> None:
    """Gives the messages these looks. Where a runtime of protobuf does not allow it, they keep its own."""
    looks: list[tuple[Any, Any, Any]] = [
        (pb.Mechanism, mechanism, None), (pb.Event, event, None), (pb.Workload, workload, None),
        (pb.QueryPrivacyResponse, answer, _answer_html),
        (pb.WriteResponse, written, None),
        (pb.Ledger, ledger, _ledger_html), (pb.Statement, statement, _statement_html),
    ]
    for kind, one_line, html in looks:
        with contextlib.suppress(AttributeError, TypeError):
            kind.__repr__ = one_line
            if html is not None:
                kind._repr_html_ = html
