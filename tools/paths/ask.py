# SPDX-License-Identifier: Apache-2.0
"""Runs examples of Python: a line of input is a JSON list of sources, and the answer one of what they print."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback

names: dict[str, object] = {"__name__": "__main__"}
for line in sys.stdin:
    answers = []
    for source in json.loads(line):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(source, "<example>", "single"), names)
            except BaseException:
                out.write(traceback.format_exc())
        answers.append(out.getvalue())
    print(json.dumps(answers), flush=True)
