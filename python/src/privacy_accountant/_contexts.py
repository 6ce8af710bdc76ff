# SPDX-License-Identifier: Apache-2.0
"""The ways to daemons that accountctl login has given names, by the rules of client/contexts.go."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path

from ._tls import TLSFiles
from ._token import Token

# What says how to reach a daemon: where one of these is set, no context is taken unless it is asked for.
_WAYS = ("SERVER", "TLS_CA", "TLS_CERT", "TLS_KEY", "TLS_SERVER_NAME", "TOKEN_FILE", "TOKEN")


@dataclass(frozen=True)
class Context:
    """How to reach one daemon."""

    server: str
    tls: bool = False
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_server_name: str = ""
    token_file: str = ""
    insecure: bool = False
    name: str = ""

    @property
    def files(self) -> TLSFiles | None:
        """Those of its TLS, if it goes over TLS."""
        files = TLSFiles(self.tls_ca, self.tls_cert, self.tls_key, self.tls_server_name)
        return files if self.tls or files else None

    @property
    def token(self) -> Token | None:
        return Token.of(self.token_file) if self.token_file else None


def chosen(name: str | None, given: str) -> Context | None:
    """The context of a name, or of the one in ACCOUNTANT_CONTEXT; otherwise the current one, unless the environment or
    given, an argument's name, says how to reach a daemon. A context is taken whole or not at all, so that no token goes
    to a daemon that it is not for."""
    name = name or os.environ.get("ACCOUNTANT_CONTEXT") or ""
    given = given or next((f"ACCOUNTANT_{way}" for way in _WAYS if os.environ.get("ACCOUNTANT_" + way)), "")
    if name and given:
        raise ValueError(f"context {name!r} and {given} are both given; allowed: one of them, as a context says all of "
                         "how to reach a daemon")
    if given:
        return None
    path = _file()
    contexts, current = _read(path) if path else ({}, "")
    called = name or current
    if called and called not in contexts:
        raise ValueError(f"context: {called!r} is not known; known: {', '.join(sorted(contexts)) or 'none'}; "
                         "accountctl login makes one")
    return contexts[called] if called else None


def _file() -> Path | None:
    """Where the contexts are, in the folder for settings of the user; None where the environment names none."""
    ways = {"win32": [("AppData", "")], "darwin": [("HOME", "Library/Application Support")]}
    for variable, below in ways.get(sys.platform, [("XDG_CONFIG_HOME", ""), ("HOME", ".config")]):
        if os.path.isabs(home := os.environ.get(variable, "")):
            return Path(home, below, "privacy-accountant", "contexts.json")
    return None


def _read(path: Path) -> tuple[dict[str, Context], str]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as e:
        raise ValueError(f"the file of contexts: {e}") from None
    known = {f.name: type(f.default) for f in fields(Context)} | {"server": str}
    del known["name"]
    try:
        whole = json.loads(text)
        _only(whole, {"current": str, "contexts": dict})
        out = {}
        for name, fields_ in whole.get("contexts", {}).items():
            _only(fields_, known)
            out[name] = Context(**fields_, name=name)
        return out, whole.get("current", "")
    except (ValueError, TypeError, RecursionError) as e:
        raise ValueError(f"the file of contexts {path} cannot be read: {e}; mend it, or remove it and log in again") \
            from None


def _only(found: object, known: dict[str, type]) -> None:
    if not isinstance(found, dict):
        raise ValueError(f"{found!r:.100}; allowed: an object")
    for name, value in found.items():
        if type(value) is not known.get(name):
            raise ValueError(f"{name!r:.100} is {value!r:.100}; allowed: {', '.join(known)}, as accountctl writes them")
