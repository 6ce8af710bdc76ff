# SPDX-License-Identifier: Apache-2.0
"""What accounting costs a training loop: `make test-frameworks` runs it for docs/frameworks.md.

    python bench.py --accountantd ../bin/accountantd

A step: the time run.step keeps the training loop's thread, in a loop whose other work
takes a while (asleep, as when a GPU works). A whole run: the same training with Opacus's
own accountant and with ours, at once, their epochs in turns. Wall and CPU time are from
the first step to the last one's charge; CPU is of all of the process's threads.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import statistics
import subprocess
import tempfile
import time
import uuid
import warnings
from typing import Any

from privacy_accountant import Client, gaussian, poisson_sampled

STEP = poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01)


def quantiles(times: list[float]) -> str:
    times = sorted(times)
    p50, p90, p99 = (times[int(q * (len(times) - 1))] * 1e6 for q in (0.5, 0.9, 0.99))
    return (f"p50 {p50:.1f} µs, p90 {p90:.1f} µs, p99 {p99:.0f} µs, mean {statistics.mean(times) * 1e6:.1f} µs, "
            f"most {times[-1] * 1e3:.1f} ms")


def steps(client: Client, n: int, work: float, **options: Any) -> list[float]:
    """Times of n steps of a run."""
    ledger = client.create_ledger(f"bench/{uuid.uuid4()}", "add-or-remove-one", plan=(STEP, 10 * n)).spec.name
    times = []
    with client.run(ledger, **options) as run:
        for _ in range(n):
            start = time.perf_counter()
            run.step(STEP)
            times.append(time.perf_counter() - start)
            if work:
                time.sleep(work)
    assert client.get_ledger(ledger).total_count == n
    return times


class Training:
    """A training with Opacus of a small convolutional network on 8×8 images, timed epoch by epoch."""

    def __init__(self, engine: Any, batches: int) -> None:
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        data = TensorDataset(torch.randn(1500, 1, 8, 8), torch.randint(0, 10, (1500,)))
        model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
        self.engine, self.loss = engine, nn.functional.cross_entropy
        self.model, self.optimizer, self.loader = engine.make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=DataLoader(data, batch_size=1500 // batches),
            noise_multiplier=1.1, max_grad_norm=1.0)
        self.wall = self.cpu = self.others = self.accounted = 0.0
        self.hook = self.optimizer.step_hook
        self.optimizer.attach_step_hook(self.timed)

    def timed(self, optimizer: Any) -> None:
        start = time.perf_counter()
        self.hook(optimizer)
        self.accounted += time.perf_counter() - start

    def epoch(self, last: bool) -> None:
        wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        for x, y in self.loader:
            self.optimizer.zero_grad()
            self.loss(self.model(x), y).backward()
            self.optimizer.step()
        if last and hasattr(self.engine.accountant, "run"):
            self.engine.accountant.run.flush()
        cpu, own = time.process_time() - cpu, time.thread_time() - own
        self.wall += time.perf_counter() - wall
        self.cpu += cpu
        self.others += cpu - own


def runs(client: Client, rounds: int, batches: int, epochs: int) -> None:
    import torch
    from opacus import PrivacyEngine

    import privacy_accountant.opacus

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    step = privacy_accountant.opacus.step_mechanism(noise_multiplier=1.1, sample_rate=1 / batches)
    done: dict[str, list[Training]] = {"rdp": [], "remote": []}
    for i in range(rounds + 1):
        ledger = client.create_ledger(f"bench/{uuid.uuid4()}", "add-or-remove-one",
                                      plan=(step, 10 * batches * epochs)).spec.name
        privacy_accountant.opacus.connect(ledger, client=client)
        pair = {name: Training(PrivacyEngine(accountant=name), batches) for name in done}
        for epoch in range(epochs):  # in turns, for the machine's speed changes
            for name in ("rdp", "remote") if (i + epoch) % 2 else ("remote", "rdp"):
                pair[name].epoch(epoch == epochs - 1)
        pair["remote"].engine.accountant.close()
        if i:  # the first warms up
            for name in done:
                done[name].append(pair[name])

    n = batches * epochs
    print(f"Opacus: {rounds} runs of {n} steps each way")
    for name, trainings in done.items():
        wall, cpu, hook, others = (statistics.median(getattr(t, kind) for t in trainings) / n * 1e6
                                   for kind in ("wall", "cpu", "accounted", "others"))
        print(f"  a step with {name}: {wall:.0f} µs, CPU {cpu:.0f} µs; in the hook {hook:.0f} µs, CPU of other "
              f"threads {others:.0f} µs")
    for kind in ("wall", "cpu"):
        ratios = [getattr(b, kind) / getattr(a, kind) for a, b in zip(done["rdp"], done["remote"])]
        print(f"  {kind}, remote over rdp: median {statistics.median(ratios):.4f}, from {min(ratios):.4f} to "
              f"{max(ratios):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accountantd", required=True)
    parser.add_argument("--rounds", type=int, default=12, help="runs each way")
    parser.add_argument("--steps", type=int, default=200, help="steps of an Opacus run, 20 an epoch")
    args = parser.parse_args()
    versions = []
    for package in ("grpcio", "protobuf", "numpy", "torch", "opacus", "jax", "pandas", "matplotlib"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    print(f"Python {platform.python_version()}, {', '.join(versions)}; {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as directory:
        daemon = subprocess.Popen(
            [args.accountantd, "--listen", "127.0.0.1:0", "--http", "", "--data", directory], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        try:
            assert daemon.stdout is not None
            ready = dict(word.split("=", 1) for word in daemon.stdout.readline().split()[2:])
            with Client("unix:" + ready["socket"], deadline=60) as client:
                print("step, 1 ms of other work:", quantiles(steps(client, 3000, 0.001)))
                print("step, no other work:     ", quantiles(steps(client, 5000, 0)))
                print('step, strict="each":     ', quantiles(steps(client, 300, 0, strict="each")))
                if any(v.startswith("opacus ") for v in versions):
                    runs(client, args.rounds, 20, args.steps // 20)
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
