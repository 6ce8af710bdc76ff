# SPDX-License-Identifier: Apache-2.0
"""python -m oracle.records FILE: the stored bytes of a ledger, read without the programs that wrote them.

It knows protobuf's wire format and proto/accountant/record/v1/record.proto, which it reads at each start. FILE is what
"accountctl ledger entries NAME --raw --output jsonl" writes. Each record becomes a line of JSON with its hash: fields
by name, bytes in hexadecimal, doubles as the shortest decimals that give them back. Bytes that are not exactly what
the .proto allows are an error. It needs Python's own library only.
"""

import base64
import hashlib
import json
import math
import os
import re
import struct
import sys
from typing import NamedTuple

PROTOS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "proto")
RECORDS = "accountant/record/v1/record.proto"
ELSEWHERE = {  # it comes with protobuf itself
    "google/protobuf/timestamp.proto":
        "package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }"}
VARINT, EIGHT, BYTES = 0, 1, 2
WIRE = {"double": EIGHT, "string": BYTES, "bytes": BYTES}
WHOLE = {"bool": (0, 1), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1), "int32": (-2**31, 2**31 - 1),
         "int64": (-2**63, 2**63 - 1)}


class Malformed(ValueError):
    """Bytes, or a .proto, that are not as they should be; the text says where, and what is allowed."""


class Field(NamedTuple):
    name: str
    type: str  # a scalar, or the full name of a message or an enum
    label: str  # "", "optional", "repeated", "map" or "oneof"


class Schema:
    """The messages and enums of a .proto and of what it imports, by their full names and numbers."""

    def __init__(self, path=RECORDS):
        self.messages, self.enums, self.seen = {}, {}, set()
        self.file(path)
        for name, fields in self.messages.items():
            for n, field in fields.items():
                fields[n] = field._replace(type=self.resolve(field.type, name))

    def file(self, path):
        if path in self.seen:
            return
        self.seen.add(path)
        text = ELSEWHERE.get(path)
        if text is None:
            with open(os.path.join(PROTOS, path), encoding="utf-8") as f:
                text = f.read()
        package, tokens = "", iter(re.findall(r'"[^"]*"|[\w.]+|\S', re.sub(r"//.*", "", text)))
        for token in tokens:
            if token == "package":
                package = next(tokens)
            elif token == "import":
                self.file(next(tokens).strip('"'))
            elif token in ("message", "enum"):
                self.declare(token, package, tokens)
                continue
            elif token not in ("syntax", "option"):
                raise Malformed(f"{path}: {token!r} at the top; allowed: messages and enums")
            skip(tokens)

    def declare(self, what, scope, tokens):
        name = f"{scope}.{next(tokens)}"
        expect("{", tokens)
        if what == "message":
            return self.fields(name, self.messages.setdefault(name, {}), "", tokens)
        values = self.enums[name] = {}
        while (value := next(tokens)) != "}":
            values[number(tokens)] = value

    def fields(self, message, fields, label, tokens):
        """Reads the fields of a message, or those of a oneof, to the closing brace."""
        while (token := next(tokens)) != "}":
            if token in ("message", "enum"):
                self.declare(token, message, tokens)
            elif token == "reserved":
                skip(tokens)
            elif token == "oneof":
                next(tokens)
                expect("{", tokens)
                self.fields(message, fields, "oneof", tokens)
            elif token == "map":  # a repeated message with a key and a value
                expect("<", tokens)
                key, _, value, _, name = (next(tokens) for _ in range(5))
                entry = f"{message}.{name} entry"
                self.messages[entry] = {1: Field("key", key, "optional"), 2: Field("value", value, "optional")}
                fields[number(tokens)] = Field(name, entry, "map")
            else:
                own = token in ("optional", "repeated")
                kind, name = next(tokens) if own else token, next(tokens)
                fields[number(tokens)] = Field(name, kind, token if own else label)

    def resolve(self, name, scope):
        """The full name of the type that a message calls by this name: the innermost one."""
        if name in WIRE or name in WHOLE:
            return name
        while True:
            full = f"{scope}.{name}".lstrip(".")
            if full in self.messages or full in self.enums:
                return full
            if not scope:
                raise Malformed(f"the type {name} is not declared")
            scope = scope.rpartition(".")[0]

    def decode(self, message, data, where=""):
        """The fields that data has as a message, by name. Those that are left out are 0, empty or absent."""
        fields, out, last, at = self.messages[message], {}, (False, 0), 0
        while at < len(data):
            tag, at = varint(data, at, where)
            if tag >> 3 not in fields:
                raise Malformed(f"{where}: {message} has no field {tag >> 3}; allowed: {sorted(fields)}")
            name, kind, label = fields[tag >> 3]
            here, wire = f"{where}.{name}", self.wire(kind)
            packed = label == "repeated" and wire != BYTES
            place, many = (label == "oneof", tag >> 3), label in ("repeated", "map") and not packed
            if place < last or place == last and not many or place[0] and last[0]:
                raise Malformed(f"{here}: after field {last[1]}; allowed: each once, by number, one of a oneof last")
            if tag & 7 != (BYTES if packed else wire):
                raise Malformed(f"{here}: wire type {tag & 7}; allowed: {BYTES if packed else wire}")
            last, start = place, at
            if packed:
                block, at = chunk(data, at, here)
                values, i = out.setdefault(name, []), 0
                while i < len(block):
                    value, i = self.value(kind, block, i, f"{here}[{len(values)}]")
                    values.append(value)
            elif label == "repeated":
                values = out.setdefault(name, [])
                value, at = self.value(kind, data, at, f"{here}[{len(values)}]")
                values.append(value)
            elif label == "map":
                values, (entry, at) = out.setdefault(name, {}), self.value(kind, data, at, here)
                if list(entry) != ["key", "value"]:
                    raise Malformed(f"{here}: an entry with {list(entry)}; allowed: key and value")
                if values and entry["key"].encode() <= list(values)[-1].encode():
                    raise Malformed(f"{here}: {entry['key']!r} after {list(values)[-1]!r}; "
                                    "allowed: each key once, in the order of their bytes")
                values[entry["key"]] = entry["value"]
            else:
                out[name], at = self.value(kind, data, at, here)
            if (packed or label == "" and kind not in self.messages) and not any(data[start:at]):
                raise Malformed(f"{here}: 0 or empty; allowed: to leave it out")
        return out

    def wire(self, kind):
        return VARINT if kind in WHOLE or kind in self.enums else WIRE.get(kind, BYTES)

    def value(self, kind, data, at, where):
        """The value that begins at a place, and the place after it."""
        if kind == "double":
            if at + 8 > len(data):
                raise Malformed(f"{where}: {len(data) - at} bytes; allowed: 8")
            x = struct.unpack_from("<d", data, at)[0]
            if not math.isfinite(x):
                raise Malformed(f"{where}: {x}; allowed: finite numbers")
            return x, at + 8
        if self.wire(kind) == BYTES:
            block, at = chunk(data, at, where)
            if kind in self.messages:
                return self.decode(kind, block, where), at
            try:
                return block.hex() if kind == "bytes" else block.decode(), at
            except UnicodeDecodeError as e:
                raise Malformed(f"{where}: {e}; allowed: UTF-8") from None
        n, at = varint(data, at, where)
        if kind in self.enums:
            if n not in self.enums[kind]:
                raise Malformed(f"{where}: {n}; allowed: {self.enums[kind]}")
            return self.enums[kind][n], at
        low, high = WHOLE[kind]
        n -= 1 << 64 if low < 0 and n >> 63 else 0
        if not low <= n <= high:
            raise Malformed(f"{where}: {n}; allowed: {low} to {high}")
        return n == 1 if kind == "bool" else n, at


def expect(token, tokens):
    if (found := next(tokens)) != token:
        raise Malformed(f"{found!r} in a .proto; allowed: {token!r}")


def number(tokens):
    """The number of a field or of an enum's value. Options, which could change what bytes mean, are refused."""
    expect("=", tokens)
    n = int(next(tokens))
    expect(";", tokens)
    return n


def skip(tokens):
    while next(tokens) != ";":
        pass


def varint(data, at, where):
    n = 0
    for i, b in enumerate(data[at:at + 10]):
        n |= (b & 127) << 7 * i
        if b < 128:
            if n >> 64 or i and b == 0:
                raise Malformed(f"{where}: {data[at:at + i + 1].hex()}; allowed: below 2^64 in the fewest bytes")
            return n, at + i + 1
    raise Malformed(f"{where}: a number that does not end; allowed: at most 10 bytes")


def chunk(data, at, where):
    size, at = varint(data, at, where)
    if at + size > len(data):
        raise Malformed(f"{where}: {size} bytes; allowed: the {len(data) - at} that are there")
    return data[at:at + size], at + size


def genesis_hash(raw):
    return hashlib.sha256(b"accountant ledger genesis v1\0" + raw).digest()


def entry_hash(previous, raw):
    return hashlib.sha256(b"accountant ledger entry v1\0" + previous + raw).digest()


def export(lines):
    """The records of an export with their hashes, from the genesis on; each must be the next one, and say its hash."""
    schema, head, position = Schema(), b"", 0
    for line in map(json.loads, lines):
        kind = "genesis" if line.get("genesis") else "raw"
        if (kind == "raw") != bool(head) or kind not in line:
            raise Malformed(f"after {position} entries: {line}; allowed: the genesis, then entries from 1, with --raw")
        raw = base64.b64decode(line[kind], validate=True)
        if kind == "genesis":
            record, head = schema.decode("accountant.record.v1.Genesis", raw, kind), genesis_hash(raw)
        else:
            position += 1
            record = schema.decode("accountant.record.v1.Entry", raw, f"entry {position}")
            head = entry_hash(head, raw)
            if record.get("position") != position or base64.b64decode(line["hash"]) != head:
                raise Malformed(f"entry {position}: position {record.get('position')}, hash {line['hash']}; allowed: "
                                f"{position} and {base64.b64encode(head).decode()}, which follows from the bytes")
        yield {"hash": head.hex()} | record


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as source:
            for each in export(source):
                print(json.dumps(each, ensure_ascii=False))
    except Malformed as e:
        sys.exit(str(e))
