# SPDX-License-Identifier: Apache-2.0
"""The Python that README.md, docs/python.md and docs/sets.md show is run, and prints what they say.

A page's blocks marked "pycon" are compared like doctests, those marked "python" are run; all
share one namespace and a daemon. Of README.md the commands between them run, too: what they
print is compared by cmd/accountctl. The docs/first-….md are run by tools/paths.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BINARY, Daemon

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(pycon|python|console)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ (accountctl (?:.*\\\n)*.*)$", re.M)


@pytest.fixture
def page(daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ACCOUNTANT_SERVER", daemon.address)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(BINARY).resolve().parent), os.environ["PATH"]]))
    monkeypatch.chdir(tmp_path)
    yield


@pytest.mark.parametrize("name", ["README.md", "docs/python.md", "docs/sets.md"])
def test_what_a_page_shows(name: str, page: None) -> None:
    names: dict[str, object] = {}
    text = (ROOT / name).read_text()
    shown = [(kind, code, text.count("\n", 0, found)) for kind, code,
             found in ((m[1], m[2], m.start(2)) for m in BLOCK.finditer(text))]
    assert "pycon" in {kind for kind, _, _ in shown}
    runner = doctest.DocTestRunner(verbose=False)
    for kind, code, line in shown:
        if kind == "console":
            for command in COMMAND.findall(code):
                subprocess.run(command, shell=True, capture_output=True)
        elif kind == "python":
            exec(compile("\n" * line + code, name, "exec"), names)
        else:
            said: list[str] = []
            test = doctest.DocTestParser().get_doctest(code, names, name, name, line)
            runner.run(test, out=said.append, clear_globs=False)
            names.update(test.globs)
            assert not said, "".join(said)
    for value in names.values():
        if hasattr(value, "close") and type(value).__name__ == "Client":
            value.close()  # type: ignore[attr-defined]


def test_a_page_that_shows_something_else_fails() -> None:
    said: list[str] = []
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "x", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=said.append).failed == 1
    assert said
