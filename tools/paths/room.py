# SPDX-License-Identifier: Apache-2.0
"""An empty root: a shell, the system's libraries and one Python. No Go, no clone, no network but loopback.

It needs Linux and the right to make namespaces, which root has, and others have where the system
allows user namespaces. Elsewhere only the environment and the working directory are empty, and
`isolated` is False.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT, HOME, WHEELS = Path("/tmp/room"), "/home/you", "/wheels"


def environment(prefix: str, home: str, wheels: str) -> dict[str, str]:
    """All that a command in the room has in its environment."""
    return {"HOME": home, "PATH": f"{prefix}/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels}


class Room:
    """A bash that runs in an empty root, in a working directory that the caller fills."""

    def __init__(self, work: Path, wheels: Path, prefix: str) -> None:
        namespaces = _namespaces()
        self.isolated = namespaces is not None
        if namespaces is None:
            command, env = ["bash"], environment(prefix, str(work), str(wheels))
        else:
            command = [*namespaces, sys.executable, __file__, str(work), str(wheels), prefix]
            env = environment(prefix, HOME, WHEELS)
        pipe = subprocess.PIPE
        self._bash = subprocess.Popen(command, cwd=work, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)

    def run(self, command: str) -> tuple[str, int]:
        """What a command prints, errors among it, and its exit status. The shell stays for the next one."""
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._bash.stdin.write(f"{{ {command}\n}} 2>&1 </dev/null; printf '\\001%d\\n' $?\n".encode())
        self._bash.stdin.flush()
        out = b""
        while True:
            line = self._bash.stdout.readline()
            if not line:
                raise RuntimeError(f"the room's shell ended at: {command}\n{out.decode()}")
            text, end, status = line.partition(b"\x01")
            out += text
            if end:
                return out.decode(), int(status)

    def close(self) -> None:
        """Ends the shell, and with its namespace everything that it started."""
        assert self._bash.stdin is not None
        self._bash.stdin.write(b"kill $(jobs -p) 2>/dev/null; wait; exit\n")
        self._bash.stdin.close()
        try:
            self._bash.wait(10)
        except subprocess.TimeoutExpired:
            self._bash.kill()
            self._bash.wait()


def _namespaces() -> list[str] | None:
    """The beginning of a command that runs in namespaces of its own; None where that is not allowed."""
    unshare = shutil.which("unshare")
    if unshare is None or shutil.which("ip") is None:
        return None
    command = [unshare, "--mount", "--pid", "--net", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        command.append("--map-root-user")
    works = subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True).returncode == 0
    return command if works else None


def _enter(work: str, wheels: str, prefix: str) -> None:
    """Makes the root, inside the namespaces, and becomes its shell."""
    def mount(*arguments: str) -> None:
        subprocess.run(["mount", *arguments], check=True)

    def show(path: str, at: str, writable: bool = False) -> None:
        there = ROOT / at.lstrip("/")
        there.mkdir(parents=True, exist_ok=True)
        mount("--rbind", path, str(there))
        if not writable:
            mount("-o", "remount,bind,ro", str(there))

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    mount("--make-rprivate", "/")
    ROOT.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "none", str(ROOT))
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "usr", "etc"):
        path = Path("/") / name
        if path.is_symlink():
            (ROOT / name).symlink_to(os.readlink(path))
        elif path.exists():
            show(str(path), str(path))
    if not prefix.startswith("/usr/local"):
        mount("-t", "tmpfs", "none", str(ROOT / "usr/local"))
    if not prefix.startswith("/usr/"):
        show(prefix, prefix)
    show("/dev", "/dev", writable=True)
    for folder in ("proc", "tmp"):
        (ROOT / folder).mkdir()
    mount("-t", "proc", "none", str(ROOT / "proc"))
    show(work, HOME, writable=True)
    show(wheels, WHEELS)
    os.chroot(ROOT)
    os.chdir(HOME)
    os.execvp("bash", ["bash"])


if __name__ == "__main__":
    _enter(*sys.argv[1:])
