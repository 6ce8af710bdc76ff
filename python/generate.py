# SPDX-License-Identifier: Apache-2.0
"""Generates src/privacy_accountant/proto from ../proto: `make python-proto`.

It needs grpcio-tools 1.49.1 (protoc 21.5), for Python 3.10 and 3.11. What it
generates runs with every protobuf runtime since 4.21: newer generators write a
check that refuses older runtimes, and users have what their other packages need.
Imports become relative, so that the package can be anywhere; file and message
names stay the API's own, so that another copy of the same stubs in a process is
the same to protobuf. Services are not generated: _rpc.py reads them from the
descriptors. With --check it only says whether the package is current.
"""

from __future__ import annotations

import argparse
import filecmp
import re
import shutil
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
API = HERE.parent / "proto" / "accountant" / "v1"
OUT = HERE / "src" / "privacy_accountant" / "proto"

HEAD = '''"""The API's messages, generated from proto/accountant/v1 by generate.py: do not edit."""
'''

# google.rpc.Status, whose details carry what budgets lack: as package
# googleapis-common-protos has it, under a name of our own.
STATUS = """
syntax = "proto3";
package privacy_accountant;
import "google/protobuf/any.proto";
message Status {
  int32 code = 1;
  string message = 2;
  repeated google.protobuf.Any details = 3;
}
"""


def relative(text: str) -> str:
    """Makes imports of generated modules, and the modules' names, relative."""
    text = re.sub(r"^from accountant\.v1 import ", "from . import ", text, flags=re.M)
    return re.sub(r"(BuildTopDescriptorsAndMessages\(DESCRIPTOR, )'[^']*'", r"\1__name__", text)


def generate(out: Path) -> None:
    with tempfile.TemporaryDirectory() as work:
        src, raw = Path(work, "src"), Path(work, "raw")
        shutil.copytree(API, src / "accountant" / "v1")
        (src / "privacy_accountant_status.proto").write_text(STATUS)
        raw.mkdir()
        names = sorted(p.relative_to(src).as_posix() for p in src.rglob("*.proto"))
        wellknown = str(Path(protoc.__file__).parent / "_proto")
        if protoc.main(["", f"-I{src}", f"-I{wellknown}", f"--python_out={raw}", f"--pyi_out={raw}", *names]) != 0:
            sys.exit("protoc failed")
        modules = []
        for path in sorted(p for p in raw.rglob("*_pb2.py*")):
            (out / path.name).write_text(relative(path.read_text()))
            if path.suffix == ".py":
                modules.append(path.stem)
        imports = "".join(f"from .{m} import *  # noqa: F403\n" for m in modules
                          if m != "privacy_accountant_status_pb2")
        (out / "__init__.py").write_text(HEAD + imports)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
        generate(OUT)
        return
    with tempfile.TemporaryDirectory() as fresh:
        generate(Path(fresh))
        wanted = {p.name for p in Path(fresh).iterdir()}
        there = {p.name for p in OUT.iterdir() if p.suffix in (".py", ".pyi")}
        _, differing, missing = filecmp.cmpfiles(fresh, OUT, wanted & there, shallow=False)
        stale = sorted({*differing, *missing, *(wanted ^ there)})
        if stale:
            sys.exit(f"python stubs: not current: {', '.join(stale)}; run: make python-proto")


if __name__ == "__main__":
    main()
