"""The former name of `privacy_accountant`, which it still gives for one version, with a warning.

`dp_accountant` and each of its sub-modules are not copies: after the import the name stands
for the module of `privacy_accountant` itself, so classes and settings are the same objects.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

import privacy_accountant

if TYPE_CHECKING:
    from privacy_accountant import *  # noqa: F403

_FORMER, _PRESENT = "dp_accountant", "privacy_accountant"


class _Renamed(MetaPathFinder, Loader):
    """Answers an import of dp_accountant.x with the module privacy_accountant.x."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.startswith(_FORMER + ".") else None

    def exec_module(self, module: ModuleType) -> None:
        present = import_module(_PRESENT + module.__name__.removeprefix(_FORMER))
        sys.modules[module.__name__] = present  # which the import system then takes instead of module


warnings.warn(f"{_FORMER} is now called {_PRESENT}: change the import; the next version has the new name only",
              DeprecationWarning, stacklevel=2)
# First, so that files of an older installation that lie in this folder are never read.
sys.meta_path.insert(0, _Renamed())
sys.modules[_FORMER] = privacy_accountant
