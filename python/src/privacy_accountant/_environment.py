"""Environment variables that nothing reads, most probably misspelt ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

PREFIX = "ACCOUNTANT_"

# Those of the daemon, of accountctl and of this package: one environment may be for all.
# As in internal/version/environment.go.
VARIABLES = (
    "ANALYSES", "DATA", "GRACE_PERIOD", "HTTP", "INIT", "INSECURE", "LEDGER", "LISTEN", "LOG_FORMAT", "LOG_LEVEL",
    "METRICS_LEDGERS", "PPROF", "QUESTION_TIME", "SCRUB_INTERVAL", "SCRUB_RATE", "SERVER", "SOCKET_MODE", "SOCKET_OWNER",
    "TLS_CA", "TLS_CERT", "TLS_CLIENT_CA", "TLS_KEY", "TLS_SERVER_NAME",
)

# What Kubernetes sets in every pod for a service called accountant, or accountant-anything.
_KUBERNETES = re.compile(
    r"([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")


def misspelt(names: Iterable[str]) -> list[str]:
    """A warning about each name that begins like ours and that nothing reads, with the nearest one that is read."""
    out = []
    for name in sorted(names):
        rest = name[len(PREFIX):]
        if not name.startswith(PREFIX) or rest in VARIABLES or _KUBERNETES.fullmatch(rest):
            continue
        nearest = difflib.get_close_matches(rest, VARIABLES, n=1, cutoff=0.0)[0]
        out.append(f"environment variable {name!r} is not read by anything; the nearest that is: {PREFIX}{nearest}")
    return out
