# SPDX-License-Identifier: Apache-2.0
"""A run that is interrupted at lines of its own: by Ctrl-C, and by a signal's handler that uses the run.

RUN_STRIDE=1 is every line, instead of some.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from conftest import STEP, plan

import privacy_accountant
from privacy_accountant import Client, Closed, Run

STRIDE = int(os.environ.get("RUN_STRIDE", "29"))
CHUNK, MOST = 4, 6  # steps
FILES = {str(Path(privacy_accountant.__file__).parent / name) for name in ("run.py", "_cover.py")}


class At:
    """Does something before the n-th line that this thread runs in a run's files."""

    def __init__(self, n: int, what: Callable[[], None]) -> None:
        self.left, self.what, self.done = n, what, False

    def __enter__(self) -> At:
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in FILES or self.done:
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                self.done = True
                sys.settrace(None)
                self.what()
        return self.trace


def interrupt() -> None:
    raise KeyboardInterrupt


def play(client: Client, ledger: str, n: int, what: Callable[[Run], None]) -> tuple[int, bool]:
    """A run of a few steps with something at its n-th line; how many steps returned, and whether
    there was such a line."""
    made = 0
    run = client.run(ledger, chunk=CHUNK, deadline=20).open()
    run.step(STEP)
    made += 1
    with At(n, lambda: what(run)) as at:
        for count in (1, 1, 2, 1, 3, MOST) * 5:
            try:
                run.step(STEP, count)
            except (KeyboardInterrupt, Closed):
                continue
            made += count
    for _ in range(3):  # it goes on
        try:
            run.step(STEP)
        except Closed:
            assert run.ended
            break
        made += 1
    run.close()
    return made, at.done


@pytest.mark.parametrize("what", [lambda run: interrupt(), Run.flush, Run.close], ids=["ctrl-c", "flush", "close"])
def test_at_every_line(client: Client, what: Callable[[Run], None]) -> None:
    ledger = plan(client, 1_000_000)
    line, done = 0, True
    while done:
        before = client.get_ledger(ledger).plan[0]
        made, done = play(client, ledger, line, what)
        after = client.get_ledger(ledger).plan[0]
        # What an interruption left set aside is charged when its time is over.
        covered = after.spent + after.reserved - before.spent - before.reserved
        # More than made: the step itself, what was in flight a second time, and a chunk.
        assert made <= covered <= made + MOST + MOST + CHUNK, line
        line += STRIDE
    assert line > 500
