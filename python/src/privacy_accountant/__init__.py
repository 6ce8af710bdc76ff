# SPDX-License-Identifier: Apache-2.0
"""What differentially private mechanisms cost, and ledgers of what was released.

    import privacy_accountant as pa

    step = pa.poisson_sampled(pa.gaussian(noise_multiplier=1.1), batch_size=256, dataset_size=60000)
    pa.epsilon((step, 14100), delta=1e-6)     # needs no daemon
    client = pa.Client()                      # asks the daemon accountantd, which keeps ledgers

The modules, from the bottom up. Each imports only from those above it in this list:

    _version      the version
    proto         the API's messages, generated
    _environment  which environment variables are read; a warning about those that are misspelt
    _tls          TLS from the environment
    _trace        the trace that a call belongs to, where the program uses OpenTelemetry
    _token        tokens that prove who calls, from a file or the environment
    _contexts     the ways to daemons that accountctl login has given names
    _whole        the reader of counts, sizes and indices
    _real         the reader of real numbers
    _advice       what to do about a connection that was set up wrongly
    _draw         curves drawn with matplotlib
    _html         small cards and charts for notebooks
    _shown        how messages look: one line, or a card
    errors        what calls end with
    _fields       messages from keyword arguments
    _options      the types of keyword arguments that are fields, generated
    _kinds        a function for each kind of mechanism, generated
    mechanisms    mechanisms, events and workloads
    batches       batches into which every record is dealt at random
    answers       what the daemon answers, for Python: curves, calibrations, frames
    _questions    questions: arguments in, a request out
    _process      accountctl as a child process that answers questions
    offline       answers without a daemon
    _local        a directory with ledgers, served by a daemon that ends after its last user
    _settings     where the daemon is, and how patient to be
    _contact      whether the daemon answers, and what the log says of that
    _rpc          the service's methods on a channel
    _core         the retry rule and the lanes, without input or output
    _guards       which guards the daemon gave to budgets without one
    _verbs        the API's verbs: arguments in, a request out
    _set_verbs    those about several ledgers at once
    _backup       receives a copy of the store
    _caller       carries out verbs, blocking: one writer on a connection
    _target       what a run charges: one ledger, or several together
    sets          handles for several ledgers
    _stream       a lane with many writes in flight
    _cover        what a run has set aside for the steps that come next
    run           a training run whose steps are covered before their noise is released
    spend         one release, set aside before it is computed and charged after it
    client        the blocking client
    aio           the client for asyncio
    plots         plots of answers and ledgers
    canaries      directions put among gradients, to see whether a training does what it reports
    opacus        Opacus's accountant whose books are a ledger
    tracking      ε, what is left and the statement, for MLflow and Weights & Biases
    _training     what the callbacks of training frameworks have in common
    lightning     a callback for Lightning
    transformers  a callback for the Trainer of Hugging Face
    keras         a callback for Keras
    flower        a strategy for Flower that charges each round
    nvflare       a filter for NVIDIA FLARE that charges each round
"""

from __future__ import annotations

import difflib
import importlib
import os
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .answers import Calibration, Curve, entries_frame, round_up, to_frame
from .mechanisms import (
    Event, Mechanism, Workload, approximate_dp, dp_sgd, event, gaussian, gaussian_dp, laplace, mechanism,
    poisson_sampled, pure_dp, randomized_response, workload, zero_concentrated_dp,
)
from .offline import calibrate, curve, delta, epsilon, explain, query

if TYPE_CHECKING:
    from .aio import AsyncClient, AsyncLedgerSet, AsyncRun, AsyncSpend
    from .client import Client
    from .errors import (
        AccountantError, BudgetExceeded, Closed, Conflict, DataLoss, FailedPrecondition, InvalidArgument, NotFound,
        NotSent, OutOfRange, PermissionDenied, Refused, Shortfall, StreamOpen, TooLarge, Unavailable,
    )
    from .run import Run
    from .sets import LedgerSet
    from .spend import Spend

__all__ = [
    "AccountantError", "AsyncClient", "AsyncLedgerSet", "AsyncRun", "AsyncSpend", "BudgetExceeded", "Calibration",
    "Client", "Closed", "Conflict", "Curve", "DataLoss", "Event", "FailedPrecondition", "InvalidArgument", "LedgerSet",
    "Mechanism", "NotFound", "NotSent", "OutOfRange", "PermissionDenied", "Refused", "Run", "Shortfall", "Spend",
    "StreamOpen", "TooLarge", "Unavailable", "Workload", "__version__", "approximate_dp", "calibrate", "curve", "delta",
    "dp_sgd", "entries_frame", "epsilon", "event", "explain", "gaussian", "gaussian_dp", "laplace", "mechanism",
    "poisson_sampled", "pure_dp", "query", "randomized_response", "round_up", "to_frame",
    "workload", "zero_concentrated_dp",
]

# What gRPC's C library would write to standard error, at each attempt to connect, is in
# this package's errors and log. It reads this once, when it is imported first.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

# What needs gRPC or asyncio is loaded when it is used first: a question without a daemon needs neither.
_LATER = {"aio": ["AsyncClient", "AsyncLedgerSet", "AsyncRun", "AsyncSpend"], "client": ["Client"], "run": ["Run"],
          "sets": ["LedgerSet"], "spend": ["Spend"], "plots": [], "opacus": [], "batches": [],
          "tracking": [], "lightning": [], "transformers": [], "keras": [], "flower": [],
          "nvflare": []}
_HOME = {name: module for module, names in _LATER.items() for name in (module, *names)}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name, "errors" if name in __all__ or name == "errors" else None)
    if home is None:
        near = difflib.get_close_matches(name, (n for n in __dir__() if not n.startswith("_")), n=1)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}"
                             f"{f'; did you mean {near[0]!r}?' if near else ''}")
    module = importlib.import_module(f"{__name__}.{home}")
    value = module if name == home else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_HOME, "errors"})
