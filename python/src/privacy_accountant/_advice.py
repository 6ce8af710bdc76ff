# SPDX-License-Identifier: Apache-2.0
"""What to do about a connection that was set up wrongly, as the Go client's advice.go says it."""

from __future__ import annotations

_ENDED = ("The server ended the connection: it may speak TLS where this client does not (ACCOUNTANT_TLS_CA or "
          "credentials=), ask for a client certificate of an authority that it trusts (ACCOUNTANT_TLS_CERT and "
          "ACCOUNTANT_TLS_KEY), or have stopped")

# What gRPC's C core says, and what to do; the first one that a message contains counts. test_tls.py makes each.
_MISTAKES = (
    ("WRONG_VERSION_NUMBER", "The server speaks no TLS on this port: leave TLS out (ACCOUNTANT_TLS_… and "
     "credentials=), or use the port that has it"),
    ("CERTIFICATE_VERIFY_FAILED", "The server's certificate is of an authority that is not trusted here, or its time "
     "is over: give the authority's file (ACCOUNTANT_TLS_CA), or have the certificate renewed"),
    ("Hostname Verification Check failed", "The server's certificate is for another name: use that name as the "
     "address, or say which one is expected (ACCOUNTANT_TLS_SERVER_NAME)"),
    ("Unwrap failed", _ENDED),
    ("Failed parsing HTTP/2", "Something else than gRPC answers there, such as the port of the daemon's pages or a "
     "proxy: the API has the port of accountantd --listen, 7878 if nothing else was said, and a proxy must pass "
     "HTTP/2 through"),
    ("Socket closed", _ENDED),
)


def advice(message: str) -> str:
    """One sentence on what to do about a connection that failed with this message, "" where there is none."""
    return next((what for says, what in _MISTAKES if says in message), "")
