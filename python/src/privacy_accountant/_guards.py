# SPDX-License-Identifier: Apache-2.0
"""Guards for budgets that were given without one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import grpc

from . import proto as pb
from ._core import Plan
from .errors import AccountantError, InvalidArgument, NotFound, PermissionDenied
from .offline import choose_dataset_guards

log = logging.getLogger("privacy_accountant")


def unregistered(e: AccountantError) -> bool:
    """Whether the answer to a question for a dataset says that no budget of its is to be taken into account: nobody
    has registered it, the caller may not see it, or the daemon is older than datasets."""
    return isinstance(e, (NotFound, PermissionDenied, InvalidArgument)) or e.code is grpc.StatusCode.UNIMPLEMENTED


def missing_of_dataset(spec: pb.DatasetSpec) -> bool:
    """Whether a dataset has a budget that needs a guard, or an order, and has none."""
    return any(_lacks(b) or _unordered(b) for b in spec.budgets)


def told(plan: Plan[pb.Ledger]) -> Plan[pb.Ledger]:
    """The creation of a ledger, after which the log says which guard the daemon gave to each budget without one."""
    asked = plan.request.spec

    def finish(made: pb.CreateLedgerResponse) -> pb.Ledger:
        if made.created and asked.policy == pb.LedgerSpec.FILTER:
            for given, budget in zip(asked.budgets, made.ledger.spec.budgets):
                if _lacks(given):
                    _tell(f"ledger {asked.name}", given, budget)
        return made.ledger

    return replace(plan, finish=finish)


def give_dataset(spec: pb.DatasetSpec, existing: pb.DatasetSpec | None) -> None:
    """Gives each budget without a guard, or with the guard rdp and no order, that of the dataset that exists under the
    name, if it has the same budgets, or else the one under which most fits; the log says which."""
    _give(f"dataset {spec.id}", spec.budgets, lambda b: _lacks(b) or _unordered(b),
          existing.budgets if existing else None, lambda: choose_dataset_guards(spec).budgets)


def _give(what: str, budgets: Sequence[pb.Budget], needs: Callable[[pb.Budget], bool],
          existing: Sequence[pb.Budget] | None, choose: Callable[[], Sequence[pb.Budget]]) -> None:
    if existing is not None and [_given(b) for b in existing] == [_given(b) for b in budgets]:
        chosen, told = existing, False
    else:
        try:
            chosen, told = choose(), True
        except FileNotFoundError as e:
            raise ValueError(
                f"budgets: {_text(next(b for b in budgets if needs(b)))} has no guard, and the program that "
                f"would choose one is not there ({e}); "
                'allowed: one with a guard, such as {"epsilon": 8, "delta": 1e-6, "guard": "zcdp"}') from e
    for budget, best in zip(budgets, chosen):
        if needs(budget) and (_lacks(budget) or best.guard == budget.guard):
            if told:
                _tell(what, budget, best)
            budget.CopyFrom(best)


def _tell(what: str, given: pb.Budget, chosen: pb.Budget) -> None:
    without = "a guard" if _lacks(given) else "an order"
    order = f", order {chosen.order:g}" if chosen.HasField("order") else ""
    log.warning("%s: the budget %s was given without %s, so it is enforced by guard %s%s", what, _text(given), without,
                pb.Budget.Guard.Name(chosen.guard).lower().replace("_", "-"), order)


def _lacks(budget: pb.Budget) -> bool:
    return budget.guard == pb.Budget.GUARD_UNSPECIFIED


def _unordered(budget: pb.Budget) -> bool:
    return budget.guard == pb.Budget.RDP and not budget.HasField("order")


def _given(budget: pb.Budget) -> list[float | None]:
    return [getattr(budget, f) if budget.HasField(f) else None for f in ("epsilon", "delta", "rho", "mu")]


def _text(budget: pb.Budget) -> str:
    return ", ".join(f"{f.name} = {v:g}" for f, v in budget.ListFields() if f.name != "guard")
