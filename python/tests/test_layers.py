# SPDX-License-Identifier: Apache-2.0
"""The package can be read from the bottom: its imports form no circle."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import privacy_accountant

PACKAGE = Path(privacy_accountant.__file__).parent
LISTED = re.findall(r"^    (\w+)  +\S", privacy_accountant.__doc__ or "", flags=re.M)


def imported(source: str, there: set[str]) -> set[str]:
    """The modules of the package that a module imports anywhere, also in functions and for type checkers only."""
    out: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            first = (node.module or "").split(".")[0]
            out |= {first} if first else {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privacy_accountant"):
            raise AssertionError(f"{node.module}: imports within the package are relative")
        elif isinstance(node, ast.Import):
            assert not any(a.name.startswith("privacy_accountant") for a in node.names)
    assert out <= there, out - there
    return out


def test_each_module_imports_only_those_above_it() -> None:
    there = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py"
             or (p / "__init__.py").exists()} - {"__init__", "__pycache__"}
    assert sorted(LISTED) == sorted(there)  # each has its line
    for i, name in enumerate(LISTED):
        path = PACKAGE / f"{name}.py"
        up = imported(path.read_text(), there) - set(LISTED[:i]) if path.exists() else set()
        assert not up, f"{name} imports {', '.join(sorted(up))}, which the package's docstring lists below it"


def test_what_counts_as_an_import() -> None:
    code = ("from . import a\nfrom .b.c import d\ndef f():\n    from .e import g\nif TYPE_CHECKING:\n"
            "    from .h import i\nimport os\nfrom x import y")
    assert imported(code, set("abeh")) == set("abeh")
