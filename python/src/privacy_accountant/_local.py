# SPDX-License-Identifier: Apache-2.0
"""A directory with ledgers, served by a daemon that this package starts and that ends after its last user.

docs/decisions/local.md says why it is done so. What holds it together:

- Whoever uses the directory holds a shared lock on its file local.lock. The daemon
  (accountantd local) ends when nobody holds one any more, and until it is gone holds the
  lock itself. The kernel takes a process's locks away when it ends, however it ends.
- Who finds that nobody listens on the directory's socket takes an exclusive lock on the
  directory, looks again, and starts a daemon.
- The daemon locks the ledgers' file, so there is never a second one.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from ._process import find
from ._version import __version__

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("privacy_accountant")

PATIENCE = 30.0  # seconds to wait for other processes that start or end a daemon, and for one to be ready
LONGEST = 103  # bytes of a socket's path, on every system (macOS; Linux allows 107)
LARGEST_LOG = 1 << 20

LOCK, SOCKET, LOG, STORE = "local.lock", "local.sock", "local.log", "accountant.db"
STANDING = "accountant.sock"  # of a daemon that somebody started


class NotServed(Exception):
    """Why a directory cannot be served; in whole sentences, for the user."""


class Served:
    """A directory in use by one client: while this is open, a daemon that serves it does not end."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.directory = self._alias = ""
        self._open: list[int] = []
        self._lock = -1  # one of them
        self._busy = threading.RLock()  # start and close, one at a time
        self._closing = False
        if fcntl is None or not hasattr(socket, "AF_UNIX"):
            raise NotServed("private ledgers do not work on Windows. Start accountantd and give its address: "
                            "Client(\"127.0.0.1:7878\").")
        self.directory = os.path.realpath(os.path.expanduser(os.fsdecode(path)))
        _all.add(self)
        try:
            with self._told():
                os.makedirs(self.directory, mode=0o700, exist_ok=True)
                self._folder = self._opened(os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY))
                reach = self._reach(SOCKET)
                self.address = "unix:" + re.sub("[%#?]", lambda c: f"%{ord(c[0]):02X}", reach)  # a URI, to gRPC
            self.start()
            self._compare()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<ledgers in {self.directory!r}>"

    def _opened(self, fd: int) -> int:
        self._open.append(fd)
        return fd

    def close(self) -> None:
        """Lets the daemon end, if nobody else uses it."""
        self._closing = True  # a start that waits gives up
        with self._busy:
            while self._open:
                os.close(self._open.pop())
            if self._alias:
                shutil.rmtree(self._alias, ignore_errors=True)
                self._alias = ""

    __del__ = close

    def _reach(self, name: str) -> str:
        """A path to one of the directory's sockets that is short enough for one."""
        path = os.path.join(self.directory, name)
        if len(os.fsencode(path)) <= LONGEST:
            return path
        if os.path.isdir("/proc/self/fd"):  # Linux; with our number others of this user can use it, too
            return f"/proc/{os.getpid()}/fd/{self._folder}/{name}"
        if not self._alias:
            self._alias = tempfile.mkdtemp(prefix="ledgers")  # for its owner only
            os.symlink(self.directory, os.path.join(self._alias, "d"))
        return os.path.join(self._alias, "d", name)

    def start(self) -> None:
        """Returns when a daemon serves the directory, which it starts if there is none."""
        until = time.monotonic() + PATIENCE
        with self._busy, self._told():
            self._go_on()
            self._use(until)
            if not self._listens(SOCKET):
                with self._turn(until):
                    self._start(until)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Has the system's errors say what they are about."""
        try:
            yield
        except OSError as e:
            raise NotServed(f"the directory {self.directory!r} cannot be used for ledgers: {e.strerror or e}.") from e

    def _go_on(self) -> None:
        if self._closing:
            raise NotServed(f"the client of {self.directory!r} was closed.")

    def _pause(self, seconds: float) -> None:
        self._go_on()
        time.sleep(seconds)

    def _start(self, until: float) -> None:
        while not self._listens(SOCKET):
            if self._listens(STANDING):
                address = f"unix:{os.path.join(self.directory, STANDING)}"
                raise NotServed(f"a daemon that somebody started already serves {self.directory!r}. Use it: "
                                f"Client({address!r}).")
            if not self._taken():
                self._launch(until)
                return
            if time.monotonic() > until:
                raise NotServed(f"another process has the ledgers in {self.directory!r} open and does not serve them "
                                "to you. It may be a daemon of another user or in another container, or a program "
                                "that checks the file. End it, or use the daemon's address.")
            self._pause(0.02)

    def _use(self, until: float) -> None:
        """Holds the shared lock, on the file that is now there under its name."""
        if not os.path.samestat(os.fstat(self._folder), os.stat(self.directory)):
            raise NotServed(f"the directory {self.directory!r} was moved or replaced while it was in use. Make a new "
                            "client.")
        while self._lock < 0 or not self._is_there(self._lock):
            if self._lock >= 0:
                self._open.remove(self._lock)
                os.close(self._lock)
                self._lock = -1
            fd = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)
            try:
                self._await(fd, fcntl.LOCK_SH, until, "the daemon that served {!r} does not end")
            except BaseException:
                os.close(fd)
                raise
            self._lock = self._opened(fd)

    def _is_there(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(LOCK, dir_fd=self._folder, follow_symlinks=False))
        except FileNotFoundError:
            return False

    def _await(self, fd: int, how: int, until: float, otherwise: str) -> None:
        while True:
            try:
                return fcntl.flock(fd, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    what = otherwise.format(self.directory)
                    raise NotServed(f"{what} for {PATIENCE:.0f} s ({self.served_by()}).") from None
            self._pause(0.01)

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        """Of those that start a daemon here, one at a time."""
        fd = self._opened(os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY))
        try:
            self._await(fd, fcntl.LOCK_EX, until, "another process is starting a daemon for {!r}, and is not ready")
            yield
        finally:
            if fd in self._open:  # else this is a forked process, where it is closed
                fcntl.flock(fd, fcntl.LOCK_UN)  # also of the copy in a process that was forked meanwhile
                self._open.remove(fd)
                os.close(fd)

    def _listens(self, name: str) -> bool:
        """Whether somebody listens on a socket in the directory, who must be this user."""
        try:
            about = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
            if not stat.S_ISSOCK(about.st_mode):
                return False
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(PATIENCE)
                if about.st_uid == os.geteuid():
                    s.connect(self._reach(name))
                    return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        raise NotServed(f"the ledgers in {self.directory!r} are in use by another user (uid {about.st_uid}). Use a "
                        "directory of your own, "
                        "or ask that user to run accountantd with an address for both of you.")

    def _taken(self) -> bool:
        """Whether a process has the ledgers' file open, as every daemon and every check of the file has."""
        try:
            fd = os.open(STORE, os.O_RDONLY, dir_fd=self._folder)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(fd)

    def _launch(self, until: float) -> None:
        """Starts a daemon and waits until it listens."""
        try:
            program = find("accountantd")
        except FileNotFoundError as e:
            raise NotServed(str(e)) from e
        out = os.open(LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)
        try:
            if os.fstat(out).st_size > LARGEST_LOG:
                os.ftruncate(out, 0)
            before = os.fstat(out).st_size
            # A session of its own: Ctrl-C is not for it, and it stays for others when this process ends. In the
            # directory, so that the path of its socket is short. Its settings are not those of another daemon.
            child = subprocess.Popen(
                [program, "local", "--data", "."], cwd=self.directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=out,
                start_new_session=True, env={k: v for k, v in os.environ.items() if not k.startswith("ACCOUNTANT_")})
            # No zombie is left.
            threading.Thread(target=child.wait, name="privacy-accountant daemon's end", daemon=True).start()
            while not self._listens(SOCKET):
                if child.poll() is not None:
                    if self._listens(SOCKET):  # another one was faster, whose starter was killed
                        return
                    said = os.pread(out, 4000, before).decode(errors="replace").strip().rpartition("\n")[2]
                    why = said or f"it ended with status {child.returncode} and could not write why; is the disk full?"
                    raise NotServed(f"the daemon for {self.directory!r} did not start: {why}")
                if time.monotonic() > until:
                    child.kill()
                    raise NotServed(f"the daemon for {self.directory!r} was not ready after {PATIENCE:.0f} s. "
                                    f"{os.path.join(self.directory, LOG)} is its log.")
                self._pause(0.003)
        finally:
            os.close(out)

    def served_by(self) -> str:
        """What the daemon wrote into the lock file: its process and version."""
        try:
            fd = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._folder)
        except OSError:
            return "it is not known which"
        with open(fd) as f:
            return f.read(200).strip() or "it is not known which"

    def _compare(self) -> None:
        """Says in the log if the daemon has another version than this package."""
        note = self.served_by()
        found = re.search(r"accountantd v?(\d+\.\d+\.\d+)", note)
        if found and found[1] != __version__:
            log.warning("the ledgers in %r are served by another version (%s) than this package's, %s, until its last "
                        "user ends",
                        self.directory, note, __version__)


_all: weakref.WeakSet[Served] = weakref.WeakSet()


def _forked() -> None:
    """In a forked process: the locks are the parent's, which would outlive it here. Closing our copies keeps them
    there."""
    for served in list(_all):
        served._alias, served._busy = "", threading.RLock()  # another thread may have had it
        served.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
