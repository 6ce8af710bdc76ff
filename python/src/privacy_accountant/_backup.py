# SPDX-License-Identifier: Apache-2.0
"""Receives a copy of the store."""

from __future__ import annotations

import hashlib
import os
from os import PathLike

from . import proto as pb
from .errors import AccountantError


class Receiver:
    """Writes the messages of a backup to a new file, and removes it unless all came as announced."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path
        self._file = open(path, "xb")
        self._sum, self._size = hashlib.sha256(), 0
        self._end: pb.BackupResponse.End | None = None
        self._done = False

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self._done:
            os.unlink(self._path)

    def take(self, message: pb.BackupResponse) -> None:
        kind = message.WhichOneof("message")
        if kind == "chunk":
            self._file.write(message.chunk)
            self._sum.update(message.chunk)
            self._size += len(message.chunk)
        elif kind == "end":
            self._end = message.end

    def finish(self) -> int:
        if self._end is None or self._end.size != self._size or self._end.sha256 != self._sum.digest():
            raise AccountantError("backup", "", f"{self._size} bytes came, which are not what the daemon sent")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._done = True
        return self._size
