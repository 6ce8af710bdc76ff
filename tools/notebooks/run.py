# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks in docs/notebooks, and compares what their cells say with what is stored in them.

    python run.py [--update] [NOTEBOOK...]

--update stores what they say now, charts among it. Compared are texts, printed or of values;
charts must be there. Times and identifiers that change with every run are not compared.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import nbclient
import nbformat

ROOM = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
CHANGING = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\b[0-9a-f]{64}\b")


def said(cell: nbformat.NotebookNode) -> list[str]:
    """What a cell says, as it is compared."""
    out = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        text = output.get("text", data.get("text/plain", ""))
        if "image/png" in data:
            out.append("a chart")
        elif output.output_type == "error":
            out.append(f"{output.ename}: {output.evalue}")
        else:
            out.append(CHANGING.sub("…", text))
    return out


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Leaves out what differs with every run and says nothing."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.language_info = {"name": "python"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(ROOM.glob("*.ipynb")))
    parser.add_argument("--update", action="store_true", help="store what the cells say now")
    args = parser.parse_args()
    wrong = 0
    for path in args.notebooks:
        start = time.monotonic()
        stored = nbformat.read(path, as_version=4)
        fresh = nbformat.from_dict(stored)
        where = {"metadata": {"path": str(ROOM)}}
        nbclient.NotebookClient(fresh, timeout=300, coalesce_streams=True, resources=where).execute()
        if args.update:
            tidy(fresh)
            nbformat.write(fresh, path)
        else:
            for i, (cell, now) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
                if said(cell) != said(now):
                    wrong += 1
                    print(f"{path.name}, cell {i + 1} has\n{said(cell)}\nand says now\n{said(now)}")
        print(f"{path.name}: {len(stored.cells)} cells, {time.monotonic() - start:.1f} s", flush=True)
    if wrong:
        sys.exit("if that is on purpose, run make notebooks UPDATE=--update, and read the difference")


if __name__ == "__main__":
    main()
