# SPDX-License-Identifier: Apache-2.0
"""Environment variables that nothing reads, most probably misspelt ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

PREFIX = "ACCOUNTANT_"

# Those of the daemon, of accountctl and of this package: one environment may be for all.
# As in internal/version/environment.go.
VARIABLES = (
    "ACCESS_POLICY", "ANALYSES", "ARCHIVE", "ARCHIVE_INTERVAL", "ARCHIVE_KEY", "COLD", "COLD_AFTER", "COLD_KEY",
    "CONTEXT", "DASHBOARD", "DATA", "FAIR_CALLS",
    "FAIR_COMPUTING", "GRACE_PERIOD", "HTTP", "HTTP_CONNECTIONS", "INIT", "INSECURE", "LEDGER", "LISTEN",
    "LOGIN_CLIENT", "LOGIN_ISSUER", "LOGIN_KEY_FILE", "LOGIN_SECRET_FILE", "LOG_FORMAT", "LOG_LEVEL",
    "METRICS_LEDGERS", "PPROF", "PUBLIC_URL", "QUESTION_TIME", "REQUIRE_DATASET", "REQUIRE_STANDBY",
    "SCRUB_INTERVAL", "SCRUB_RATE", "SERVER", "SIGNING_KEY", "SOCKET_MODE", "SOCKET_OWNER", "STORE",
    "STORE_PASSWORD_FILE", "TLS_CA", "TLS_CERT", "TLS_CLIENT_CA", "TLS_KEY", "TLS_SERVER_NAME", "TOKEN",
    "TOKEN_AUDIENCE", "TOKEN_CA", "TOKEN_CLAIM", "TOKEN_FILE", "TOKEN_GROUPS", "TOKEN_ISSUER", "TOKEN_KEYS",
    "WEBHOOK", "WEBHOOK_SECRET_FILE",
)

# What Kubernetes sets in every pod for a service called accountant, or accountant-anything.
_KUBERNETES = re.compile(
    r"([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")


def misspelt(names: Iterable[str]) -> list[str]:
    """A warning about each name that begins like ours and that nothing reads, with the one that is probably meant."""
    out = []
    for name in sorted(names):
        rest = name[len(PREFIX):]
        if not name.startswith(PREFIX) or rest in VARIABLES or _KUBERNETES.fullmatch(rest):
            continue
        near = [PREFIX + v for v in _meant(rest)]
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        out.append(f"environment variable {name!r} is not read by anything{hint}")
    return out


def _meant(name: str) -> list[str]:
    """What a name is probably meant to be, by the rules of internal/version/environment.go."""
    near: dict[int, list[str]] = {}
    for v in VARIABLES:
        letters = _distance(name, v)
        if letters <= max(1, len(name) // 3):
            near.setdefault(letters + (v.split("_")[0] != name.split("_")[0]), []).append(v)
    if near:
        return near[min(near)]
    return [v for v in VARIABLES if name.startswith(v + "_") or v.startswith(name + "_")]


def _distance(a: str, b: str) -> int:
    """How many letters to add, take away, replace or swap with their neighbours to make b of a."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i in range(len(a)):
        after = [i + 1]
        for j in range(len(b)):
            after.append(min(row[j] + (a[i] != b[j]), after[j] + 1, row[j + 1] + 1))
            if i and j and a[i] == b[j - 1] and a[i - 1] == b[j]:
                after[-1] = min(after[-1], before[j - 1] + 1)
        before, row = row, after
    return row[-1]
