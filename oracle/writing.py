# SPDX-License-Identifier: Apache-2.0
"""Files: one JSON object {about, rows or tables}, one row per line, the same bytes from the same oracle."""

import json
import os
from dataclasses import dataclass

from mpmath import mp

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INTERNAL = os.path.join(REPOSITORY, "internal")


@dataclass
class File:
    """What a file says about itself, the working digits, and its tables as functions that make one row each."""
    about: str
    dps: int
    tables: dict

    def row(self, table, index):
        with mp.workdps(self.dps):
            return self.tables[table][index]()

    def build(self, progress=lambda done, of: None):
        out, of, done = {"about": self.about}, sum(map(len, self.tables.values())), 0
        for name, makers in self.tables.items():
            out[name] = []
            for index in range(len(makers)):
                out[name].append(self.row(name, index))
                done += 1
                progress(done, of)
        return out


def dump(value):
    """JSON with one row a line."""
    lines = ["{"]
    items = list(value.items())
    for i, (key, v) in enumerate(items):
        end = "," if i + 1 < len(items) else ""
        if isinstance(v, list):
            body = ",\n".join("  " + json.dumps(x, ensure_ascii=False) for x in v)
            lines.append(f' {json.dumps(key)}: [\n{body}\n ]{end}')
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(v, ensure_ascii=False)}{end}")
    lines.append("}")
    return "\n".join(lines) + "\n"


def write(path, value):
    full = os.path.join(INTERNAL, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    data = dump(value)
    with open(full + ".new", "w", encoding="utf-8") as f:
        f.write(data)
    os.replace(full + ".new", full)
    return len(data)


def read(path):
    with open(os.path.join(INTERNAL, path), encoding="utf-8") as f:
        return json.load(f)
