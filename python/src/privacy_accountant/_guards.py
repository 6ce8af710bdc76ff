# SPDX-License-Identifier: Apache-2.0
"""What the log says of guards that the daemon gave to budgets without one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from . import proto as pb
from ._core import Plan

log = logging.getLogger("privacy_accountant")


def told(plan: Plan[pb.Ledger]) -> Plan[pb.Ledger]:
    """The creation of a ledger, after which the log says which guard the daemon gave to each budget without one."""
    asked = plan.request.spec

    def finish(made: pb.CreateLedgerResponse) -> pb.Ledger:
        if made.created and asked.policy == pb.LedgerSpec.FILTER:
            _tell(f"ledger {asked.name}", asked.budgets, made.ledger.spec.budgets)
        return made.ledger

    return replace(plan, finish=finish)


def told_of_dataset(plan: Plan[pb.CreateDatasetResponse]) -> Plan[pb.CreateDatasetResponse]:
    """The registration of a dataset, after which the log says the same, and which order budgets without one got."""
    asked = plan.request.spec

    def finish(made: pb.CreateDatasetResponse) -> pb.CreateDatasetResponse:
        if made.created:
            _tell(f"dataset {asked.id}", asked.budgets, made.ledger.dataset.spec.budgets)
        return made

    return replace(plan, finish=finish)


def _tell(what: str, asked: Sequence[pb.Budget], made: Sequence[pb.Budget]) -> None:
    for given, chosen in zip(asked, made):
        lacks = given.guard == pb.Budget.GUARD_UNSPECIFIED
        if not lacks and (given.guard != pb.Budget.RDP or given.HasField("order") or not chosen.HasField("order")):
            continue
        text = ", ".join(f"{f.name} = {v:g}" for f, v in given.ListFields() if f.name != "guard")
        order = f", order {chosen.order:g}" if chosen.HasField("order") else ""
        log.warning("%s: the budget %s was given without %s, so it is enforced by guard %s%s", what, text,
                    "a guard" if lacks else "an order",
                    pb.Budget.Guard.Name(chosen.guard).lower().replace("_", "-"), order)
