# SPDX-License-Identifier: Apache-2.0
"""internal/record/testdata: the golden records, read by records."""

import os
from functools import partial

from .records import Schema, entry_hash, genesis_hash
from .writing import INTERNAL, File

SOURCE = "record/testdata/records.txt"


def records():
    """Makers of one row each: what a line of the source says, and its hash."""
    with open(os.path.join(INTERNAL, SOURCE), encoding="utf-8") as f:
        lines = [(kind, name, bytes.fromhex(raw)) for kind, name, raw in map(str.split, f)]
    schema = Schema()
    first = genesis_hash(next(raw for kind, _, raw in lines if kind == "genesis"))

    def row(kind, name, raw):
        return {"kind": kind, "name": name,
                "hash": (genesis_hash(raw) if kind == "genesis" else entry_hash(first, raw)).hex(),
                "record": schema.decode(f"accountant.record.v1.{kind.capitalize()}", raw, f"{kind} {name}")}

    return [partial(row, *line) for line in lines]


ABOUT = ("The records of records.txt, read from their bytes by record.proto: fields by name, bytes in hexadecimal, "
         "each field that is there. The hash of an entry is that after the first genesis of the file.")
FILES = {"record/testdata/decoded.json": lambda: File(ABOUT, 15, {"records": records()})}
