# SPDX-License-Identifier: Apache-2.0
"""A PyTorch model trained with Opacus, every step in a ledger whose plan nothing can overrun.

    python digits_opacus.py [--server unix:data/accountant.sock] [--epochs 8]

It needs a daemon (`make run`), torch and Opacus. Two lines are the accountant's: connect,
and accountant="remote". The plan is made from the same numbers that Opacus will use.
"""

from __future__ import annotations

import argparse
import uuid

import torch
from data import load
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import privacy_accountant.opacus
from privacy_accountant import BudgetExceeded, Client, round_up

BATCHES, NOISE, DELTA = 20, 1.5, 1e-5  # 20 batches an epoch: sampling probability 1/20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    x, y, test_x, test_y = load()
    train = TensorDataset(torch.tensor(x, dtype=torch.float32).reshape(-1, 1, 8, 8), torch.tensor(y))
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32),
                          nn.ReLU(), nn.Linear(32, 10))

    with Client(args.server, deadline=60) as client:
        step = privacy_accountant.opacus.step_mechanism(noise_multiplier=NOISE, sample_rate=1 / BATCHES)
        ledger = client.create_ledger(
            f"examples/opacus-{uuid.uuid4()}", "add-or-remove-one", privacy_unit="example",
            plan=(step, BATCHES * args.epochs)).spec.name

        privacy_accountant.opacus.connect(ledger, client=client)
        engine = PrivacyEngine(accountant="remote")
        model, optimizer, loader = engine.make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5),
            data_loader=DataLoader(train, batch_size=len(train) // BATCHES), noise_multiplier=NOISE, max_grad_norm=1.0)
        loss = nn.CrossEntropyLoss()
        try:
            while True:
                for images, labels in loader:
                    optimizer.zero_grad()
                    loss(model(images), labels).backward()
                    optimizer.step()
        except BudgetExceeded as e:
            print(f"stopped by the plan after {len(engine.accountant)} steps: {e.message}")
        with torch.no_grad():
            guesses = model(torch.tensor(test_x, dtype=torch.float32).reshape(-1, 1, 8, 8)).argmax(dim=1)
        accuracy = (guesses.numpy() == test_y).mean()
        print(f"test accuracy {accuracy:.1%}; ({round_up(engine.get_epsilon(DELTA))}, {DELTA:g})-differentially "
              "private per image, whatever made it stop")
        engine.accountant.close()
        print(f"ledger {ledger}: {client.get_ledger(ledger).total_count} steps charged")


if __name__ == "__main__":
    main()
