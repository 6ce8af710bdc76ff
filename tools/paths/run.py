# SPDX-License-Identifier: Apache-2.0
"""Walks the pages that take a new user from `pip install` to an end, each in an empty root, by their text alone.

    python run.py [--wheel FILE] [--update] PAGE...

It runs the blocks of a page in their order, in one shell:

    sh             is run and must succeed. After the comment <!-- stays --> it runs in a terminal of
                   its own, until the page ends; the next block waits for its line with "ready"
    console        each command after "$ " must print what the page says
    shell-session  the same; the test of pages (cmd/accountctl/pages_test.go) leaves it out, because
                   it needs what Python has done before
    pycon          each statement after ">>> " must print what the page says; names are kept
    python         after the comment <!-- file: NAME --> it is written to that file

--update writes into the page what its commands print now. Times, addresses and identifiers that
change with every run are not compared. What a page installs besides the wheel is downloaded
first, so that a page's time is without the network.
"""

from __future__ import annotations

import argparse
import doctest
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from room import Room

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
PAGES = ("training", "budget", "curve")  # of an engineer, of somebody who answers for data, of a researcher
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b[0-9a-f]{64}\b")
BLOCK = re.compile(r"(?:<!-- (stays|file: \S+) -->\n)?```(\w[\w-]*)\n(.*?)^```$", re.M | re.S)


class Walk:
    """One page in one room."""

    def __init__(self, page: Path, room: Room, work: Path, update: bool) -> None:
        self.page, self.room, self.work, self.update = page, room, work, update
        self.wrong = 0
        self.asking = False

    def go(self) -> None:
        text = self.page.read_text()
        pieces, end = [], 0
        for m in BLOCK.finditer(text):
            pieces.append(text[end : m.start(3)])
            start = time.monotonic()
            pieces.append(self.block(m[1] or "", m[2], m[3]))
            took, end = time.monotonic() - start, m.end(3)
            if took > 0.5 or m[2] == "pycon":
                print(f"  {took:6.2f} s  {m[3].splitlines()[0]}", flush=True)
        now = "".join(pieces) + text[end:]
        if self.update and now != text:
            self.page.write_text(now)

    def block(self, mark: str, language: str, body: str) -> str:
        """Runs a block, and returns it with what it prints now."""
        if mark.startswith("file: "):
            (self.work / mark[6:]).write_text(body)
        elif mark == "stays":
            self.must(f"({body}) > stays.log 2>&1 &\n"
                      "for i in $(seq 300); do grep -q ready stays.log && break; sleep 0.1; done; grep ready stays.log")
        elif language == "sh":
            self.must(body)
        elif language in ("console", "shell-session"):
            return self.console(body)
        elif language == "pycon":
            return self.statements(body)
        return body

    def must(self, command: str) -> str:
        out, status = self.room.run(command)
        if status:
            self.fail(command, f"exit status {status}", out)
        return out

    def console(self, body: str) -> str:
        out = []
        for part in re.split(r"^(?=\$ )", body, flags=re.M)[1:]:
            shown = re.match(r"\$ (?:.*\\\n)*.*\n", part)
            assert shown is not None
            got, status = self.room.run(shown[0][2:])
            if status:
                got += f"(exit status {status})\n"
            out += [shown[0], self.compare(shown[0], part[shown.end() :], got)]
        return "".join(out)

    def statements(self, body: str) -> str:
        examples = doctest.DocTestParser().get_examples(body)
        if not self.asking:
            shutil.copy(HERE / "ask.py", self.work / ".ask.py")
            self.must("coproc PYTHON { python .ask.py 2>&1; }")
            self.asking = True
        (self.work / ".question").write_text(json.dumps([e.source for e in examples]) + "\n")
        asked = 'cat .question >&"${PYTHON[1]}"; read -r line <&"${PYTHON[0]}"; printf "%s\\n" "$line"'
        answers = json.loads(self.must(asked))
        out = []
        for e, got in zip(examples, answers):
            shown = e.source.splitlines()
            out.append("\n".join([">>> " + shown[0]] + ["... " + line for line in shown[1:]]) + "\n")
            out.append(self.compare(e.source, e.want, got))
        return "".join(out)

    def compare(self, command: str, want: str, got: str) -> str:
        same = lambda text: CHANGING.sub(lambda m: "x" * len(m[0]), text)  # noqa: E731
        if same(want) == same(got):
            return want
        if not self.update or "Traceback" in got:
            self.fail(command, want, got)
        return got

    def fail(self, command: str, want: str, got: str) -> None:
        self.wrong += 1
        print(f"{self.page.name}: {command}\nthe page says\n{want}\nand the command prints\n{got}", flush=True)


def wheels(page: Path, kept: Path, wheel: Path) -> None:
    """Downloads what the page installs, and what that needs, if it is not there already."""
    words = " ".join(re.findall(r"^pip install (.*)$", page.read_text(), re.M)).split()
    named = [word for word in words if re.fullmatch(r"[a-z][\w-]+(==[\w.]+)?", word)]
    download = [sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:"]
    subprocess.run([*download, "--find-links", str(kept), "-d", str(kept), str(wheel), *named], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, default=[DOCS / f"first-{name}.md" for name in PAGES])
    parser.add_argument("--wheel", type=Path, help="the wheel of this machine; the one in dist/ unless given")
    parser.add_argument("--update", action="store_true", help="write into the pages what their commands print now")
    args = parser.parse_args()
    mine = f"privacy_accountant-*manylinux*_{platform.machine()}*.whl"
    found = [args.wheel] if args.wheel else sorted((HERE.parents[1] / "dist").glob(mine))
    if not found:
        sys.exit(f"dist/ has no {mine}; run: make release PLATFORMS=linux_amd64 (or linux_arm64)")
    kept = HERE / ".wheels" / f"{sys.version_info.major}.{sys.version_info.minor}"
    kept.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for page in args.pages:
        wheels(page, kept, found[-1])
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            shutil.copy(found[-1], work)
            room = Room(work, kept, sys.base_prefix)
            if not room.isolated:
                print("this machine allows no namespaces, so only the environment and the working directory are empty")
            elif room.run(f"command -v go || test -e {HERE}")[1] == 0:
                sys.exit("the room is not empty: it has Go, or the clone")
            print(f"{page.name}, with Python {platform.python_version()}", flush=True)
            start = time.monotonic()
            walk = Walk(page, room, work, args.update)
            walk.go()
            room.close()
            said = f"{walk.wrong} commands do not do what the page says" if walk.wrong else "all as the page says"
            print(f"{page.name}: {time.monotonic() - start:.1f} s, {said}", flush=True)
            wrong += walk.wrong
    if wrong:
        sys.exit("if that is on purpose, run make paths UPDATE=--update, and read the difference")


if __name__ == "__main__":
    main()
