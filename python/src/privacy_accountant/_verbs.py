# SPDX-License-Identifier: Apache-2.0
"""The API's verbs as plans: arguments in, request and what its answer becomes out."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Union

from google.protobuf.timestamp_pb2 import Timestamp

from . import _questions as questions
from . import proto as pb
from ._core import SETS, Plan
from ._fields import Action, Events, OneEvent, bounded, events, fill, texts, workload
from ._questions import Subject
from ._whole import whole
from .answers import Calibration, Curve

Labels = Union[Mapping[str, str], None]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


def same(answer: Any) -> Any:
    return answer


def create_ledger(name: str, adjacency: str | int | None, spec: Mapping[str, Any]) -> Plan[pb.Ledger]:
    request = pb.CreateLedgerRequest()
    fields = {"name": name, "adjacency": adjacency, **spec}
    for runs in ("plan", "expected_run"):
        if fields.get(runs) is not None and not isinstance(fields[runs], (pb.Workload, Mapping)):
            fields[runs] = workload(fields[runs], adjacency=adjacency or 0)
    if fields.get("policy") is None:
        fields["policy"] = "PLAN" if fields.get("plan") is not None else "FILTER" if fields.get("budgets") else None
    fill(request.spec, "spec", fields)
    return Plan("create_ledger", name, "CreateLedger", request, lambda a: a.ledger)


def get_ledger(name: str, reservations_from: int = 0) -> Plan[pb.Ledger]:
    request = fill(pb.GetLedgerRequest(name=name), "get_ledger", {"reservations_from": reservations_from})
    return Plan("get_ledger", name, "GetLedger", request, lambda a: a.ledger)


def list_ledgers(prefix: str, token: str) -> Plan[tuple[Sequence[pb.Ledger], str]]:
    return Plan("list_ledgers", prefix, "ListLedgers", pb.ListLedgersRequest(prefix=prefix, page_token=token),
                lambda a: (a.ledgers, a.next_page_token))


def list_entries(ledger: str, token: str, options: Mapping[str, Any]) -> Plan[tuple[Sequence[pb.Entry], str]]:
    fields = {k: _time(v) if isinstance(v, datetime) else v for k, v in options.items()}
    if token:
        fields.pop("start_position", None)
    request = fill(pb.ListEntriesRequest(ledger=ledger, page_token=token), "entries", fields)
    return Plan("entries", ledger, "ListEntries", request, lambda a: (a.entries, a.next_page_token))


def _time(t: datetime) -> Timestamp:
    out = Timestamp()
    out.FromDatetime(t.astimezone(timezone.utc).replace(tzinfo=None))
    return out


def write(op: str, ledger: str, method: str, content: Any, request_id: str | None) -> Plan[Any]:
    """A write to one ledger, or about what was reserved in several: the request of the method is a lane and the
    content."""
    request = getattr(pb, f"{method}Request")()
    request.lane.ledger = ledger
    action = getattr(request, request.DESCRIPTOR.fields_by_number[2].name)
    action.SetInParent()  # also if it says nothing
    action.CopyFrom(content)
    return sent(op, SETS if ledger.startswith("system:sets/") else ledger, method, request, request_id)


def sent(op: str, ledger: str, method: str, request: Any, request_id: str | None) -> Plan[Any]:
    """A write in the client's lane, or under a key of its own."""
    if request_id is None:
        return Plan(op, ledger, method, request, same, in_lane=True)
    if not isinstance(request_id, str) or not _REQUEST_ID.fullmatch(request_id):
        raise ValueError(f"request_id: {request_id!r}; allowed: 1 to 128 bytes of [A-Za-z0-9._-]")
    request.lane.writer, request.lane.sequence = f"request/{request_id}", 1
    return Plan(op, ledger, method, request, same, once=True)


def close_ledger(name: str, reason: str, request_id: str | None) -> Plan[pb.WriteResponse]:
    return write("close_ledger", name, "CloseLedger", pb.Close(reason=reason), request_id)


def report(ledger: str, what: Events, labels: Labels, request_id: str | None) -> Plan[pb.WriteResponse]:
    charge = pb.Charge(events=events(what), labels=texts("labels", labels))
    return write("report", ledger, "Report", charge, request_id)


def check(ledger: str, what: Events, labels: Labels, writer: str) -> Plan[pb.WriteResponse]:
    charge = pb.Charge(events=events(what), labels=texts("labels", labels))
    lane = pb.Lane(ledger=ledger, writer=writer, sequence=1, check_only=True)
    return Plan("check", ledger, "Report", pb.ReportRequest(lane=lane, charge=charge), same)


def reserve(ledger: str, what: Events, lifetime: int, labels: Labels,
            request_id: str | None) -> Plan[pb.WriteResponse]:
    content = reserve_content(what, lifetime, labels)
    return write("reserve", ledger, "Reserve", content, request_id)


def reserve_content(what: Events, lifetime: int, labels: Labels) -> pb.Reserve:
    return pb.Reserve(events=events(what), labels=texts("labels", labels), lifetime_seconds=seconds(lifetime))


def seconds(lifetime: int) -> int:
    """A reservation's lifetime, of at most 366 days."""
    return whole("lifetime, in seconds", lifetime, 1, 366 * 86400)


def commit(ledger: str, reservation: int, what: Events, labels: Labels,
           request_id: str | None) -> Plan[pb.WriteResponse]:
    content = commit_content(reservation, what, labels)
    return write("commit", ledger, "Commit", content, request_id)


def commit_content(reservation: int, what: Events, labels: Labels) -> pb.Commit:
    return fill(pb.Commit(events=events(what), labels=texts("labels", labels)), "commit", {"reservation": reservation})


def release(ledger: str, reservation: int, reason: str, request_id: str | None) -> Plan[pb.WriteResponse]:
    content = release_content(reservation, reason)
    return write("release", ledger, "Release", content, request_id)


def release_content(reservation: int, reason: str) -> pb.Release:
    return fill(pb.Release(reason=reason), "release", {"reservation": reservation})


def expire(ledger: str, reservation: int, request_id: str | None) -> Plan[pb.WriteResponse]:
    content = fill(pb.Expire(), "expire", {"reservation": reservation})
    return write("expire", ledger, "Expire", content, request_id)


def free(ledger: str, reservation: int, reason: str, nothing_released: bool,
         request_id: str | None) -> Plan[pb.WriteResponse]:
    content = fill(pb.Free(reason=reason, nothing_released=nothing_released), "free", {"reservation": reservation})
    return write("free", ledger, "Free", content, request_id)


def refund(ledger: str, position: int, reason: str, nothing_released: bool,
           request_id: str | None) -> Plan[pb.WriteResponse]:
    content = fill(pb.Refund(reason=reason, nothing_released=nothing_released), "refund", {"position": position})
    return write("refund", ledger, "Refund", content, request_id)


def raise_budgets(ledger: str, fields: Mapping[str, Any], request_id: str | None) -> Plan[pb.WriteResponse]:
    return write("raise_budgets", ledger, "Raise", fill(pb.Raise(), "raise", fields), request_id)


def reconcile(ledger: str, what: Events, contribution: str | int | None, accept_loss: bool, reason: str,
              request_id: str | None) -> Plan[pb.WriteResponse]:
    content = pb.Reconcile(events=events(what), accept_loss=accept_loss, reason=reason)
    if contribution is not None:
        content.contribution = bounded(contribution)
    elif content.events:
        raise TypeError(
            'reconcile: contribution is missing; allowed: "over-all" if the events were charged to this ledger alone, '
            'or to several with that contribution; otherwise the contribution with which they were charged to several')
    return write("reconcile", ledger, "Reconcile", content, request_id)


def acknowledge(ledger: str, warning: str, reason: str, request_id: str | None) -> Plan[pb.WriteResponse]:
    content = pb.Acknowledge(warning=warning, reason=reason)
    return write("acknowledge", ledger, "Acknowledge", content, request_id)


def observe(ledger: str, inserted: int, guesses: int, correct: int, delta: float, confidence: float | None, reason: str,
            request_id: str | None) -> Plan[pb.WriteResponse]:
    seen = fill(pb.CanaryRun(), "observe", {"inserted": inserted, "guesses": guesses, "correct": correct,
                                            "delta": delta, "confidence": confidence})
    return write("observe", ledger, "Observe", pb.Observe(canaries=seen, reason=reason), request_id)


def propose(ledger: str, refund: Action, free: Action, raise_budgets: Action, reconcile: Action,
            amend_dataset: Action, request_id: str | None) -> Plan[pb.WriteResponse]:
    actions = {"refund": refund, "free": free, "raise": raise_budgets, "reconcile": reconcile,
               "amend_dataset": amend_dataset}
    given = {name: fields for name, fields in actions.items() if fields is not None}
    if len(given) != 1:
        raise TypeError(f"propose: {len(given)} actions; allowed: exactly one of refund, free, raise_budgets, "
                        "reconcile, amend_dataset")
    return write("propose", ledger, "Propose", fill(pb.Propose(), "propose", given), request_id)


def approve(ledger: str, proposal: int, comment: str, request_id: str | None) -> Plan[pb.WriteResponse]:
    content = fill(pb.Approve(comment=comment), "approve", {"proposal": proposal})
    return write("approve", ledger, "Approve", content, request_id)


def withdraw(ledger: str, proposal: int, reason: str, request_id: str | None) -> Plan[pb.WriteResponse]:
    content = fill(pb.Withdraw(reason=reason), "withdraw", {"proposal": proposal})
    return write("withdraw", ledger, "Withdraw", content, request_id)


def get_access(principal: str, method: str, ledger: str, groups: Iterable[str]) -> Plan[pb.GetAccessResponse]:
    request = pb.GetAccessRequest(principal=principal, method=method, ledger=ledger, groups=list(groups))
    return Plan("get_access", ledger, "GetAccess", request, same)


def statement(name: str, deltas: Iterable[float]) -> Plan[pb.Statement]:
    request = fill(pb.GetStatementRequest(name=name), "statement", {"deltas": deltas})
    return Plan("statement", name, "GetStatement", request, lambda a: a.statement)


def create_dataset(dataset: str, adjacency: str | int, independent_of_outputs: bool, reason: str, propose: bool,
                   spec: Mapping[str, Any]) -> Plan[pb.CreateDatasetResponse]:
    request = pb.CreateDatasetRequest(independent_of_outputs=independent_of_outputs, reason=reason, propose=propose)
    fill(request.spec, "spec", {"id": dataset, "adjacency": adjacency, **spec})
    return Plan("create_dataset", dataset, "CreateDataset", request, same)


def amend_dataset(dataset: str, reason: str, request_id: str | None,
                  changes: Mapping[str, Any]) -> Plan[pb.WriteResponse]:
    content = fill(pb.AmendDataset(), "amend", {"reason": reason, **changes})
    key = str(uuid.uuid4()) if request_id is None else request_id  # a client has no lane of a dataset
    return write("amend_dataset", f"dataset:{dataset}", "AmendDataset", content, key)


def get_writer(ledger: str, writer: str) -> Plan[pb.GetWriterResponse]:
    return Plan("get_writer", ledger, "GetWriter", pb.GetWriterRequest(ledger=ledger, writer=writer), same)


def signed_head(ledger: str) -> Plan[pb.SignedHead]:
    return Plan("signed_head", ledger, "GetSignedHead", pb.GetSignedHeadRequest(ledger=ledger), lambda a: a.signed_head)


def store_status() -> Plan[pb.GetStoreStatusResponse]:
    return Plan("store_status", "", "GetStoreStatus", pb.GetStoreStatusRequest(), same)


def query(subject: Subject, delta: float | None, epsilon: float | None,
          max_gap: float | None) -> Plan[pb.QueryPrivacyResponse]:
    request = questions.query(subject, delta, epsilon, max_gap)
    return Plan("query", request.ledger, "QueryPrivacy", request, same)


def overview(token: str, fields: Mapping[str, Any]) -> Plan[tuple[Sequence[pb.OverviewRow], str]]:
    return Plan("overview", "", "QueryOverview", questions.overview(token, fields),
                lambda a: (a.rows, a.next_page_token))


def _stamp(t: Any) -> Any:
    return _time(t) if isinstance(t, datetime) else t


def history(ledger: str, fields: Mapping[str, Any]) -> Plan[pb.QueryHistoryResponse]:
    given: dict[str, Any] = {**fields, "times": [_stamp(t) for t in fields.get("times") or ()]}
    for end in ("start_time", "end_time"):
        if fields.get(end) is not None:
            given[end] = _stamp(fields[end])
    request = questions.history(ledger, given)
    return Plan("history", ledger, "QueryHistory", request, same)


def spending(ledger: str, by: str | int, label: str | None, limit: int,
             delta: float | None) -> Plan[pb.QuerySpendingResponse]:
    return Plan("spending", ledger, "QuerySpending", questions.spending(ledger, by, label, limit, delta), same)


def spending_anywhere(name: str, token: str, by: str | int, label: str | None, prefix: str,
                      delta: float | None) -> Plan[tuple[Sequence[pb.LedgerSpending], str]]:
    request = questions.spending_anywhere(name, token, by, label, prefix, delta)
    return Plan("spending_anywhere", "", "QuerySpendingAnywhere", request, lambda a: (a.rows, a.next_page_token))


def forecast(ledger: str, progress: bool) -> Plan[pb.QueryForecastResponse]:
    request = pb.QueryForecastRequest(ledger=ledger, progress=progress)
    return Plan("forecast", ledger, "QueryForecast", request, same)


def refusals(ledger: str) -> Plan[pb.ListRefusalsResponse]:
    return Plan("refusals", ledger, "ListRefusals", pb.ListRefusalsRequest(ledger=ledger), same)


def curve(subject: Subject, fields: Mapping[str, Any]) -> Plan[Curve]:
    request = questions.curve(subject, fields)
    return Plan("curve", request.ledger, "QueryPrivacyCurve", request, Curve.of)


def calibrate(
    solve: str, what: OneEvent, target: Mapping[str, Any], ledger: str, fixed: Events | pb.Workload | None,
    adjacency: str | int | None,
) -> Plan[Calibration]:
    request = questions.calibrate(solve, what, target, ledger, fixed, adjacency)
    return Plan("calibrate", ledger, "Calibrate", request, Calibration.of)
