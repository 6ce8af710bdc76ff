# SPDX-License-Identifier: Apache-2.0
"""Tokens that prove who calls: read from a file, again when it changes, or from the environment."""

from __future__ import annotations

import os
import re
import threading
import time

_MOST = 8192  # bytes that the daemon reads
_ALLOWED = f"; allowed: one token, of at most {_MOST} letters, digits and any of - . _ ~ + / ="
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")


class Token:
    """Where a token comes from. Neither its text nor an error of it shows the token."""

    def __init__(self, file: str = "", value: str = "") -> None:
        self.file = file
        self._token = value if not file else ""
        self._seen: tuple[int, ...] | None = None
        self._lock = threading.Lock()
        if not file:
            self._token = _checked(value, "ACCOUNTANT_TOKEN")

    @staticmethod
    def of(file: str | os.PathLike[str] | None) -> Token | None:
        """A file's; without one that of ACCOUNTANT_TOKEN_FILE, otherwise that in ACCOUNTANT_TOKEN.
        What is no token is a ValueError."""
        name = os.fspath(file) if file else os.environ.get("ACCOUNTANT_TOKEN_FILE", "")
        if name:
            token = Token(name)
            token.now()
            return token
        value = os.environ.get("ACCOUNTANT_TOKEN", "")
        return Token(value=value) if value else None

    def __repr__(self) -> str:
        return f"<the token in {self.file}>" if self.file else "<a token>"

    def now(self) -> str:
        """The token. If its file cannot be read any more, the token that was read before."""
        if not self.file:
            return self._token
        with self._lock:
            try:
                found = os.stat(self.file)
                seen = (found.st_ino, found.st_dev, found.st_mtime_ns, found.st_size)
                if seen != self._seen:
                    with open(self.file, encoding="utf-8", errors="replace") as f:
                        self._token = _checked(f.read(_MOST + 100).strip(), self.file)
                    # What is written just now may get the same time again.
                    self._seen = seen if time.time() - found.st_mtime > 2 else None
            except (OSError, ValueError) as e:
                if not self._token:
                    raise ValueError(f"token: {e}") from None
            return self._token


def _checked(token: str, where: str) -> str:
    if not token:
        raise ValueError(f"{where} is empty{_ALLOWED}")
    if len(token) > _MOST:
        raise ValueError(f"{where} has more than {_MOST} bytes{_ALLOWED}")
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"{where} has other characters{_ALLOWED}")
    return token
