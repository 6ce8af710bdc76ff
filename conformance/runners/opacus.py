# SPDX-License-Identifier: Apache-2.0
"""Opacus: its three accountants. They need only NumPy and SciPy; the packages around them, which import torch, are stood in for."""

import functools
import importlib
import importlib.util
import pathlib
import sys
import types

from . import Refused, dp_sgd_steps


@functools.cache
def own(module, name):
    """Returns a class or function of Opacus's accountants."""
    if "opacus" not in sys.modules:
        root = pathlib.Path(importlib.util.find_spec("opacus").submodule_search_locations[0])
        for package, folder in [("opacus", root), ("opacus.accountants", root / "accountants")]:
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = [str(folder)]
        sys.modules["opacus.optimizers"] = types.ModuleType("opacus.optimizers")
        sys.modules["opacus.optimizers"].DPOptimizer = object
    return getattr(importlib.import_module("opacus.accountants." + module), name)


def ask(module, name, case):
    accountant = own(module, name)()
    accountant.history.extend(dp_sgd_steps(case))
    if name == "GaussianAccountant" and len(accountant.history) > 1:
        raise Refused("one kind of step only")
    return {"epsilon": accountant.get_epsilon(case["delta"])}


ACCOUNTANTS = {
    "opacus RDP": functools.partial(ask, "rdp", "RDPAccountant"),
    "opacus PRV": functools.partial(ask, "prv", "PRVAccountant"),
    "opacus GDP (CLT)": functools.partial(ask, "gdp", "GaussianAccountant"),
}
