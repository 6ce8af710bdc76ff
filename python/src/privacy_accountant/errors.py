# SPDX-License-Identifier: Apache-2.0
"""What calls end with. Every error of this package is an AccountantError."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import grpc

from google.protobuf.duration_pb2 import Duration

from . import proto as pb
from .proto.privacy_accountant_status_pb2 import Status

D = TypeVar("D", pb.BudgetExceeded, pb.SetRefusal)

__all__ = [
    "AccountantError", "BudgetExceeded", "Closed", "Conflict", "DataLoss", "FailedPrecondition", "InvalidArgument",
    "NotFound", "NotSent", "OutOfRange", "PermissionDenied", "Refused", "Shortfall", "StreamOpen", "TooLarge",
    "Unavailable",
]


class AccountantError(Exception):
    """A call that did not succeed.

    code is the last answer's, or what fits best; sequence the number in the lane of
    the write it is about (0: of none). unknown: the write may or may not be made; the
    lane keeps it and the next write on that ledger settles it first (Client.pending,
    Client.settle); a process that gives up counts it as made. Otherwise nothing was
    written. not_written lists what was taken before and is now known not to be
    written: the refused one first, then those behind it. Of a write to several ledgers,
    refused has the ledgers that refuse it, and refusal is the daemon's own message, whose
    `more` counts the ledgers that it has left out.
    """

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(
        self, op: str, ledger: str, message: str, *, code: grpc.StatusCode | None = None, sequence: int = 0,
        unknown: bool = False, not_written: Sequence[Any] = (), refusal: pb.SetRefusal | None = None,
    ) -> None:
        super().__init__(op, ledger, message)
        self.op, self.ledger, self.message = op, ledger, message
        self.code = code if code is not None else type(self).code
        self.sequence, self.unknown, self.not_written = sequence, unknown, list(not_written)
        self.refusal = refusal
        self.refused = [Refused(m.ledger, _shortfalls(m.budget_exceeded), m.reason)
                        for m in (refusal.members if refusal is not None else ())]

    def __str__(self) -> str:
        where = f"{self.op} {self.ledger}" if self.ledger else self.op
        text = f"{where}: {self.message} ({self.code.name})"
        more = [f"and {self.refusal.more} more ledgers"] if self.refusal is not None and self.refusal.more else []
        text = "\n  ".join([text, *map(str, self.refused), *more])
        return text + "; it is unknown whether this was written" if self.unknown else text


class InvalidArgument(AccountantError, ValueError):
    """The request is wrong: the message names the field, its value, and what is allowed."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NotFound(AccountantError):
    """There is no such ledger."""

    code = grpc.StatusCode.NOT_FOUND

    def __str__(self) -> str:
        if self.message != f"ledger {self.ledger}: not found":
            return super().__str__()
        return f"{super().__str__()}; Client.ledgers() lists those that exist, and Client.create_ledger makes one"


class Conflict(AccountantError):
    """There is one with other content: a ledger of another spec, or a reused number or request id."""

    code = grpc.StatusCode.ALREADY_EXISTS


class FailedPrecondition(AccountantError):
    """The ledger's state does not allow it: it is closed, a reservation is not open, …"""

    code = grpc.StatusCode.FAILED_PRECONDITION


class OutOfRange(AccountantError):
    """A limit of the ledger does not allow it, such as the number of distinct mechanisms."""

    code = grpc.StatusCode.OUT_OF_RANGE


class PermissionDenied(AccountantError):
    """The caller may not do this here, such as a refund elsewhere than on the daemon's own socket."""

    code = grpc.StatusCode.PERMISSION_DENIED


class TooLarge(AccountantError):
    """The message is over the transport's size. Nothing was written."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class Unavailable(AccountantError):
    """No definite answer came within the deadline or the bound of attempts."""

    code = grpc.StatusCode.UNAVAILABLE


class DataLoss(AccountantError):
    """The daemon no longer has what it acknowledged, or has it changed or unreadable.

    Its file was rolled back, edited or damaged, or is another store, such as a
    restored backup. Trying again does not help. Count what was acknowledged as
    charged; somebody has to look at the daemon.
    """

    code = grpc.StatusCode.DATA_LOSS


class Closed(AccountantError):
    """The client, stream or run was closed."""

    code = grpc.StatusCode.CANCELLED


class StreamOpen(AccountantError):
    """The ledger has an open stream of this client: write through it, or close it."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class NotSent(AccountantError):
    """Nothing was sent, because an earlier write of this client is not settled or was refused (its cause)."""

    code = grpc.StatusCode.ABORTED


@dataclass(frozen=True)
class Shortfall:
    """What is missing of one budget, or of the plan (budget is None then).

    needed is rounded up, left down, short = needed − left up; reason says instead why
    the guard cannot charge it.
    """

    budget: int | None
    unit: str
    needed: float
    left: float
    short: float
    reason: str


@dataclass(frozen=True)
class Refused:
    """Why one ledger of several refused a write: its name, what its budgets or plan lack, and the reason in words."""

    ledger: str
    shortfalls: list[Shortfall]
    reason: str

    def __str__(self) -> str:
        lacks = [s.reason or f"needs {s.needed:.6g} of {s.unit}, {s.left:.6g} is left" for s in self.shortfalls]
        return f"{self.ledger}: {'; '.join(lacks) or self.reason}"


class BudgetExceeded(AccountantError):
    """Budgets or the plan do not allow it. Nothing was written and nothing is used up.

    shortfalls lists every budget that it breaks; fits has, of each of its mechanisms
    alone, how many would still fit. Where a mechanism is not in the plan, plan has the lines
    of the plan (mechanism, planned, remaining) and unplanned what differs least from each.

    Of several ledgers, refused has each one that lacks budget, and fits how many would fit in all
    of them. needed, left and short are those of the first budget that it breaks, of the first ledger; None where the
    guard cannot charge it.
    """

    code = grpc.StatusCode.RESOURCE_EXHAUSTED

    def __init__(self, op: str, ledger: str, message: str, *, detail: pb.BudgetExceeded | None = None,
                 refusal: pb.SetRefusal | None = None, **rest: Any) -> None:
        super().__init__(op, ledger, message, refusal=refusal, **rest)
        self.detail = detail = detail if detail is not None else pb.BudgetExceeded()
        self.shortfalls = _shortfalls(detail)
        self.fits: list[tuple[pb.Mechanism, int]] = [
            (f.mechanism, f.count) for f in (refusal if refusal is not None else detail).fits]
        self.plan, self.unplanned = list(detail.plan), list(detail.unplanned)
        broken = [*self.shortfalls, *(s for one in self.refused for s in one.shortfalls)]
        first = broken[0] if broken and not broken[0].reason else None
        self.needed = None if first is None else first.needed
        self.left = None if first is None else first.left
        self.short = None if first is None else first.short


def _shortfalls(detail: pb.BudgetExceeded) -> list[Shortfall]:
    return [Shortfall(s.budget if s.HasField("budget") else None, s.unit, s.needed, s.left, s.short, s.reason)
            for s in detail.shortfalls]


_BY_CODE: dict[grpc.StatusCode, type[AccountantError]] = {
    kind.code: kind
    for kind in (InvalidArgument, NotFound, Conflict, FailedPrecondition, OutOfRange, PermissionDenied, Unavailable,
                 DataLoss)
} | {grpc.StatusCode.UNAUTHENTICATED: PermissionDenied}

# How many seconds a daemon can have a client wait for its next attempt.
LONGEST_WISH = 30.0

# Those after which the daemon may answer the same request otherwise a little later.
# CANCELLED is the daemon's, shutting down, while our own side lives.
TRANSIENT = frozenset({
    grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.ABORTED, grpc.StatusCode.CANCELLED,
})
# How gRPC's core begins to say that it found nobody to send an attempt to.
NO_CONNECTION = ("failed to connect to all addresses", "DNS resolution failed")
# Those that also say that no earlier attempt with the same key wrote anything: the
# lane looks for duplicates first. A refusal of the caller does not say so.
_SETTLES = frozenset({
    grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.OUT_OF_RANGE,
})
# Those after which this attempt, too, certainly wrote nothing. Any other may follow a commit: a RESOURCE_EXHAUSTED
# that does not say why is somebody else's on the way, who may also take away the answer.
WROTE_NOTHING = _SETTLES | {
    grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.ABORTED,
}


@dataclass(frozen=True)
class Failure:
    """What an attempt ended with, read once from gRPC's error or a stream's rejection."""

    code: grpc.StatusCode
    message: str
    budget: pb.BudgetExceeded | None = None
    refusal: pb.SetRefusal | None = None  # of a write to several ledgers
    after: float = 0.0  # the seconds for which the daemon asks to be left alone; 0: it does not say

    @property
    def transient(self) -> bool:
        # Who asks too much at once gets a RESOURCE_EXHAUSTED with a time to come back.
        return self.code in TRANSIENT or self.code is grpc.StatusCode.RESOURCE_EXHAUSTED and self.after > 0

    @property
    def wrote_nothing(self) -> bool:
        # The daemon sends a time to come back where it has not let a call in.
        return self.code in WROTE_NOTHING or self.settles or self.after > 0 or self.not_sent

    @property
    def not_sent(self) -> bool:
        # The daemon never says this: gRPC's core does where it has no connection to send anything on.
        return self.code is grpc.StatusCode.UNAVAILABLE and self.message.startswith(NO_CONNECTION)

    @property
    def too_large(self) -> bool:
        # gRPC has no code of its own for it; both of its messages have these words.
        return self.code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in self.message

    @property
    def settles(self) -> bool:
        return self.code in _SETTLES or self.budget is not None or self.refusal is not None or self.too_large

    def error(self, op: str, ledger: str, **rest: Any) -> AccountantError:
        if self.budget is not None:
            return BudgetExceeded(op, ledger, self.message, detail=self.budget, **rest)
        if self.refusal is not None and self.code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return BudgetExceeded(op, ledger, self.message, refusal=self.refusal, **rest)
        if self.too_large:
            return TooLarge(op, ledger, self.message, **rest)
        kind = Unavailable if self.transient else _BY_CODE.get(self.code, AccountantError)
        message = in_keywords(self.message) if kind is InvalidArgument else self.message
        return kind(op, ledger, message, code=self.code, refusal=self.refusal, **rest)


# A field's place in a request, at the beginning of a message.
_PLACE = re.compile(r"(?:\w+(?:\[\d+\])?\.)+\w+(?:\[\d+\])?(?=: )")
_OUTER = ("spec", "charge", "reserve", "commit", "raise", "workload", "plan", "expected_run", "event", "events[0]")
_KINDS = {f.name for f in pb.Mechanism.DESCRIPTOR.oneofs_by_name["kind"].fields}


def in_keywords(message: str) -> str:
    """A message about a field of a request, in the words of whoever called a function: with the mechanism and its
    keyword."""
    place = _PLACE.match(message)
    if place is None:
        return message
    path = place[0].split(".")
    inner = [i for i, word in enumerate(path[:-1]) if word in _KINDS]
    outer = path[: inner[0] - 1] if inner else path[:-1]  # mechanism stands before the kind
    shown = [word for word in outer if word not in _OUTER]
    shown += path[inner[-1]:] if inner else path[-1:]
    return ": ".join(shown) + message[place.end():]


def failure_of(error: Any) -> Failure:
    """Reads a grpc.RpcError, of either of gRPC's two interfaces."""
    code, message = error.code(), error.details() or ""
    budget, refusal, after = None, None, 0.0
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            budget, refusal = _detail(value, pb.BudgetExceeded), _detail(value, pb.SetRefusal)
            after = retry_delay(value)
    return Failure(code, message, budget, refusal, after)


def retry_delay(status: bytes) -> float:
    """The google.rpc.RetryInfo among the details: its only field is a Duration, of less than 128 bytes."""
    for detail in Status.FromString(status).details:
        if detail.type_url.endswith("/google.rpc.RetryInfo") and detail.value[:1] == b"\n":
            delay = Duration.FromString(detail.value[2:2 + detail.value[1]])
            return float(min(LONGEST_WISH, max(0.0, delay.seconds + delay.nanos / 1e9)))
    return 0.0


def _detail(status: bytes, kind: type[D]) -> D | None:
    """The detail of a kind, such as that which tells a refusal by budgets from the transport's RESOURCE_EXHAUSTED."""
    for detail in Status.FromString(status).details:
        found = kind()
        if detail.Unpack(found):
            return found
    return None


def code_of(number: int) -> grpc.StatusCode:
    """The gRPC code of a number."""
    return next((c for c in grpc.StatusCode if c.value[0] == number), grpc.StatusCode.UNKNOWN)
