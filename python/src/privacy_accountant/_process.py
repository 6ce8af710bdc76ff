# SPDX-License-Identifier: Apache-2.0
"""accountctl as a child process that answers questions, started once and kept."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from . import proto as pb

BUNDLED = Path(__file__).parent / "bin"  # where a wheel for a platform has the programs


def find(program: str) -> str:
    """The path of one of our programs: in this package, beside the interpreter, where installers put scripts, or on
    PATH."""
    program += ".exe" if os.name == "nt" else ""
    scripts = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    target = BUNDLED.parents[1] / "bin"  # of pip install --target
    for folder in (BUNDLED, Path(sys.executable).parent, *map(Path, scripts), target):
        if os.access(folder / program, os.X_OK):
            return str(folder / program)
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(
            f"{program} is missing: looked in {BUNDLED}, beside {sys.executable}, where installers put scripts, and "
            "on PATH. Install a wheel of privacy-accountant that has it, "
            "or build it (`make build`) and put its folder on PATH; or use a daemon that runs already: "
            "Client(\"HOST:PORT\").")
    return found


def _varint(n: int) -> bytes:
    """A length as protobuf's libraries write it before a message."""
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


class Process:
    """One accountctl of this process. It ends when this process does, however that ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)
        atexit.register(self.end)

    def ask(self, asked: pb.Asked, deadline: float | None) -> pb.Answered:
        """The answer to a question. deadline: seconds that it may take."""
        content = asked.SerializeToString(deterministic=True)
        with self._lock:
            child = self._running()
            try:
                assert child.stdin is not None
                child.stdin.write(_varint(len(content)) + content)
                child.stdin.flush()
                # It stops by itself. What does not hear of its deadline is ended.
                until = None if deadline is None else time.monotonic() + deadline + 5.0
                n = shift = 0
                while True:
                    (byte,) = self._read(child, 1, until)
                    n |= (byte & 0x7F) << shift
                    shift += 7
                    if byte < 0x80:
                        break
                answered = pb.Answered()
                answered.ParseFromString(self._read(child, n, until))
                return answered
            except BaseException as e:  # also KeyboardInterrupt: its answer must not be taken for the next question's
                said = self._end()
                if isinstance(e, (OSError, EOFError)) and not isinstance(e, TimeoutError):
                    program = find("accountctl")
                    raise RuntimeError(f"{program} ended while it was asked: {said or 'it said nothing'}") from e
                raise

    def end(self) -> None:
        """Ends the child; the next question starts another one."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None or self._child.poll() is not None:
            self._end()
            self._log = tempfile.TemporaryFile()  # a pipe that nobody reads could fill up
            # A session of its own: Ctrl-C is for this process, which then ends the child if it has to.
            self._child = subprocess.Popen(
                [find("accountctl"), "answer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                start_new_session=True, bufsize=0)
        return self._child

    @staticmethod
    def _read(child: subprocess.Popen[bytes], n: int, until: float | None) -> bytes:
        out = b""
        assert child.stdout is not None
        while len(out) < n:
            if until is not None and os.name != "nt":
                if not select.select([child.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                    raise TimeoutError("no answer within the deadline; allowed: a longer one, or none")
            part = child.stdout.read(n - len(out))
            if not part:
                raise EOFError
            out += part
        return out

    def _end(self) -> str:
        """Ends the child and returns what it said last."""
        child, log, said = self._child, self._log, ""
        self._child = self._log = None
        if child is not None:
            assert child.stdin is not None and child.stdout is not None
            child.kill()
            child.wait()
            child.stdin.close()
            child.stdout.close()
        if log is not None:
            log.seek(0)
            said = log.read()[-2000:].decode(errors="replace").strip()
            log.close()
        return said

    def _forked(self) -> None:
        """In a forked process: the child is the parent's, which goes on asking it."""
        self._lock = threading.Lock()  # another thread may have held it
        child, self._child = self._child, None
        log, self._log = self._log, None
        if child is not None:
            assert child.stdin is not None and child.stdout is not None
            child.stdin.close()  # of this process only; otherwise the child would not see that the parent ended
            child.stdout.close()
            child.returncode = 0  # not ours to wait for
        if log is not None:
            log.close()
