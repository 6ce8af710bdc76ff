# SPDX-License-Identifier: Apache-2.0
"""Plots, where matplotlib is there. Each function draws on axes and returns them: those that
are given, or those of a new figure of pyplot. A notebook shows that figure below its cell; a
script shows it with matplotlib.pyplot.show(), or saves it with axes.figure.savefig."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _draw, _shown
from . import proto as pb
from ._real import real
from ._whole import whole
from .answers import Curve
from .client import Client
from .mechanisms import workload


def plot_curve(curve: Curve, ax: Any = None) -> Any:
    """δ against ε: the proven upper bound, and what no accountant can go below."""
    return curve.plot(ax)


def plot_trade_off(curve: Curve, ax: Any = None) -> Any:
    """The least type II error of a test for a record against its type I error."""
    return curve.plot_trade_off(ax)


def budget_over_steps(client: Client, ledger: str, delta: float, points: int = 50) -> list[tuple[int, float]]:
    """ε at delta of what was charged up to some of a ledger's steps: (steps, ε), the last of all.

    Each ε is that of a prefix: it holds only if the parameters and the number of steps were fixed before any result
    was seen. What reservations hold counts once it is committed or expired;
    refunds do not take anything back here.
    """
    points, delta = whole("points", points, 1), real("delta", delta)
    prefixes: list[tuple[int, dict[bytes, int]]] = []
    held: dict[int, dict[bytes, int]] = {}
    counts: dict[bytes, int] = {}
    for entry in client.entries(ledger, page_size=1000):
        _apply(entry, counts, held)
        steps = sum(counts.values())
        if steps and (not prefixes or prefixes[-1][0] != steps):
            prefixes.append((steps, dict(counts)))
    chosen = prefixes[:: max(1, -(-len(prefixes) // points))]
    if prefixes and chosen[-1] is not prefixes[-1]:
        chosen.append(prefixes[-1])
    adjacency = client.get_ledger(ledger).spec.adjacency
    return [(steps, client.epsilon(_of(prefix, adjacency), delta)) for steps, prefix in chosen]


def _apply(entry: pb.Entry, counts: dict[bytes, int], held: dict[int, dict[bytes, int]]) -> None:
    """Adds what an entry charges."""
    action = entry.WhichOneof("action")
    if action == "reserve":
        held[entry.position] = _counts(entry.reserve.events)
    elif action == "charge":
        _add(counts, _counts(entry.charge.events))
    elif action == "commit":
        used = _counts(entry.commit.events)
        _add(counts, used)
        _add(held.get(entry.commit.reservation, {}), used, -1)
    elif action == "expire":
        _add(counts, held.pop(entry.expire.reservation, {}))
    elif action == "release":
        held.pop(entry.release.reservation, None)
    elif action == "reconcile":
        _add(counts, _counts(entry.reconcile.events))
    elif action in ("close", "restored"):  # what was set aside may have been used
        for rest in held.values():
            _add(counts, rest)
        held.clear()


def _counts(events: Iterable[pb.Event]) -> dict[bytes, int]:
    out: dict[bytes, int] = {}
    for e in events:
        _add(out, {e.mechanism.SerializeToString(deterministic=True): e.count})
    return out


def _add(to: dict[bytes, int], what: dict[bytes, int], times: int = 1) -> None:
    for key, n in what.items():
        to[key] = to.get(key, 0) + times * n


def _of(prefix: dict[bytes, int], adjacency: int) -> pb.Workload:
    most = 2**32 - 1
    events = []
    for key, n in prefix.items():
        mechanism = pb.Mechanism.FromString(key)
        events += [(mechanism, most)] * (n // most) + ([(mechanism, n % most)] if n % most else [])
    return workload(events, adjacency=adjacency)


def plot_budget(client: Client, ledger: str, delta: float, ax: Any = None, points: int = 50) -> Any:
    """ε of what was charged, over the steps. See budget_over_steps for what it means."""
    ax, delta = _draw.axes(ax), real("delta", delta)
    path = budget_over_steps(client, ledger, delta, points)
    steps, epsilons = [0, *(n for n, _ in path)], [0.0, *(epsilon for _, epsilon in path)]
    _draw.line(ax, steps, epsilons, f"charged: ε ≤ {_shown.up(epsilons[-1], 3)}")
    ax.fill_between(steps, epsilons, color=_draw.inks(ax)["lines"][0], alpha=0.16, linewidth=0)
    allowed = [b.budget.epsilon for b in client.get_ledger(ledger).budgets
               if b.budget.HasField("epsilon") and b.budget.delta == delta]
    if allowed:
        _draw.limit(ax, min(allowed), f"the limit: ε = {min(allowed):g}")
    ax.set_ylim(bottom=0)
    return _draw.frame(ax, f"Privacy budget of {ledger}", "What was charged. " + _draw.MEANS["descriptive"], "steps",
                       f"privacy loss ε at δ = {delta:g}")
