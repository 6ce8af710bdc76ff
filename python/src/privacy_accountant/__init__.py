"""Client of accountantd: ledgers of differentially private releases, charged from training jobs."""

import os

# What gRPC's C library would write to standard error, at each attempt to connect, is in
# this package's errors and log. It reads this once, when it is imported first.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from ._version import __version__
from .aio import AsyncClient, AsyncRun
from .answers import Calibration, Curve, entries_frame, round_up
from .client import Client
from .errors import (
    AccountantError, BudgetExceeded, Closed, Conflict, DataLoss, FailedPrecondition, InvalidArgument, NotFound, NotSent, OutOfRange,
    PermissionDenied, Shortfall, StreamOpen, TooLarge, Unavailable,
)
from .mechanisms import (
    Event, Mechanism, Workload, approximate_dp, event, gaussian, gaussian_dp, laplace, mechanism, poisson_sampled, pure_dp,
    randomized_response, workload, zero_concentrated_dp,
)
from .run import Run

__all__ = [
    "AccountantError", "AsyncClient", "AsyncRun", "BudgetExceeded", "Calibration", "Client", "Closed", "Conflict", "Curve", "DataLoss", "Event", "FailedPrecondition",
    "InvalidArgument", "Mechanism", "NotFound", "NotSent", "OutOfRange", "PermissionDenied", "Run", "Shortfall", "StreamOpen", "TooLarge",
    "Unavailable", "Workload", "approximate_dp", "entries_frame", "event", "gaussian", "gaussian_dp", "laplace", "mechanism",
    "__version__", "poisson_sampled", "pure_dp", "randomized_response", "round_up", "workload", "zero_concentrated_dp",
]
