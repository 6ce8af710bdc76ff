"""Files: one JSON object {about, rows or tables}, one row per line, the same bytes from the same oracle."""

import json
import os

REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INTERNAL = os.path.join(REPOSITORY, "internal")


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
