# SPDX-License-Identifier: Apache-2.0
"""A training job in a process of its own: python job.py SERVER LEDGER CHECKPOINT STEPS [SAVE_EVERY].

It goes on from its checkpoint, prints each step after it is covered, and saves one every
SAVE_EVERY steps. It is killed by whoever started it, or ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from conftest import STEP

from privacy_accountant import Client


def main(server: str, ledger: str, checkpoint: str, steps: str, every: str = "10") -> None:
    path = Path(checkpoint)
    with Client(server, deadline=30) as client, client.run(ledger, chunk=40) as run:
        if path.exists():
            run.load_state_dict(json.loads(path.read_text()))
        while run.steps < int(steps):
            run.step(STEP)
            print(run.steps, flush=True)
            if run.steps % int(every) == 0:
                fresh = path.with_suffix(".new")
                fresh.write_text(json.dumps(run.state_dict()))
                fresh.replace(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
