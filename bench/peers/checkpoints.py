# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of Opacus and pickles of plain values, for the tests of internal/interchange.

    python checkpoints.py          writes into internal/interchange/testdata and its pickle/testdata

It needs torch beside opacus, which bench/peers/requirements.txt leaves out because of its size.
The files in the tree were written by Python 3.11.7, opacus 1.6.0 and torch 2.15.0.
"""

import base64
import collections
import json
import pathlib
import pickle

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

ROOT = pathlib.Path(__file__).resolve().parents[2] / "internal/interchange"

VALUES = [
    None, True, False, 0, 1, 255, 256, 65535, 65536, -1, -129, 2**31 - 1, -(2**31), 2**31, 2**40, -(2**40), 2**63 - 1, -(2**63),
    0.0, -0.0, 1.5, 1e-300, 1.7976931348623157e308, "", "history", "δ and ε", "x" * 300, [], (), {}, [1, 2.5, "a"], (1,), (1, 2),
    (1, 2, 3), (1, 2, 3, 4), {"a": 1, "b": [1, (2, 3)]}, [[1.1, 0.01, 5], (1.1, 0.01, 5)], list(range(1001)),
    {str(i): i for i in range(1001)},
]


def values():
    shared = [1, 2]
    rows = []
    for value in VALUES + [[shared, shared]]:
        for protocol in range(2, 6):
            rows.append({"protocol": protocol, "pickle": base64.b64encode(pickle.dumps(value, protocol)).decode(), "value": value})
    for protocol in range(2, 6):
        ordered = collections.OrderedDict(history=[(1.1, 0.01, 5)], mechanism="rdp")
        rows.append({"protocol": protocol, "pickle": base64.b64encode(pickle.dumps(ordered, protocol)).decode(), "value": ordered})
    (ROOT / "pickle/testdata/values.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


def checkpoints():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    data = DataLoader(TensorDataset(torch.randn(64, 2), torch.randn(64, 1)), batch_size=8)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, data = engine.make_private(module=model, optimizer=torch.optim.Adam(model.parameters()), data_loader=data,
                                                 noise_multiplier=1.1, max_grad_norm=1.0)
    for sigma in (1.1, 1.3):
        optimizer.noise_multiplier = sigma
        for x, y in data:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    folder = ROOT / "testdata"
    engine.save_checkpoint(path=folder / "checkpoint.pt", module=model, optimizer=optimizer)
    engine.save_checkpoint(path=folder / "legacy.pt", module=model, optimizer=optimizer,
                           torch_save_kwargs={"_use_new_zipfile_serialization": False})
    (folder / "state.pickle").write_bytes(pickle.dumps(engine.accountant.state_dict()))


if __name__ == "__main__":
    values()
    checkpoints()
