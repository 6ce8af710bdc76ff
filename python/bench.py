"""What accounting costs a training loop: `make test-frameworks` runs it for docs/frameworks.md.

    python bench.py --accountantd ../bin/accountantd

A step: the time run.step keeps the training loop's thread, in a loop whose other work
takes a while (asleep, as when a GPU works). A whole run: the same training with Opacus's
own accountant and with ours, in turns, the CPU and wall time of each turn. CPU is of
all of the process's threads; on a machine with other work wall time says little.
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

from dp_accountant import Client, gaussian, poisson_sampled

STEP = poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01)


def quantiles(times: list[float]) -> str:
    times = sorted(times)
    p50, p90, p99 = (times[int(q * (len(times) - 1))] * 1e6 for q in (0.5, 0.9, 0.99))
    return f"p50 {p50:.1f} µs, p90 {p90:.1f} µs, p99 {p99:.0f} µs, mean {statistics.mean(times) * 1e6:.1f} µs, most {times[-1] * 1e3:.1f} ms"


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


def train(engine: Any, batches: int, epochs: int) -> tuple[float, float, float]:
    """Wall and CPU seconds of a training with Opacus, and those in its accountant's hook: a small
    convolutional network on 8×8 images."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(1500, 1, 8, 8), torch.randint(0, 10, (1500,)))
    model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), data_loader=DataLoader(data, batch_size=1500 // batches),
        noise_multiplier=1.1, max_grad_norm=1.0)
    accounted, hook = 0.0, optimizer.step_hook

    def timed(optimizer: Any) -> None:
        nonlocal accounted
        start = time.perf_counter()
        hook(optimizer)
        accounted += time.perf_counter() - start

    optimizer.attach_step_hook(timed)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    if hasattr(engine.accountant, "run"):
        engine.accountant.run.flush()
    return time.perf_counter() - wall, time.process_time() - cpu, accounted


def runs(client: Client, rounds: int, batches: int, epochs: int) -> None:
    import torch
    from opacus import PrivacyEngine

    import dp_accountant.opacus

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    step = dp_accountant.opacus.step_mechanism(noise_multiplier=1.1, sample_rate=1 / batches)
    ratios: dict[str, list[float]] = {"wall": [], "CPU": []}
    took: dict[str, list[float]] = {"rdp": [], "remote": []}
    hooks: dict[str, list[float]] = {"rdp": [], "remote": []}
    for i in range(rounds + 1):
        ledger = client.create_ledger(f"bench/{uuid.uuid4()}", "add-or-remove-one", plan=(step, 10 * batches * epochs)).spec.name
        dp_accountant.opacus.connect(ledger, client=client)
        result = {}
        for name in ("rdp", "remote") if i % 2 else ("remote", "rdp"):
            engine = PrivacyEngine(accountant=name)
            result[name] = train(engine, batches, epochs)
            if name == "remote":
                engine.accountant.close()
        if i:  # the first warms up
            for j, kind in enumerate(ratios):
                ratios[kind].append(result["remote"][j] / result["rdp"][j])
            for name in took:
                took[name].append(result[name][1])
                hooks[name].append(result[name][2])
    n = batches * epochs
    print(f"Opacus: {rounds} runs of {n} steps each way, CPU of a step: rdp {statistics.median(took['rdp']) / n * 1e3:.3f} ms, "
          f"remote {statistics.median(took['remote']) / n * 1e3:.3f} ms")
    print(f"  in the hook, of a step: rdp {statistics.median(hooks['rdp']) / n * 1e6:.0f} µs, remote {statistics.median(hooks['remote']) / n * 1e6:.0f} µs, "
          "with all that the loop waits for the daemon")
    for kind, values in ratios.items():
        print(f"  {kind}, remote over rdp: median {statistics.median(values):.4f}, from {min(values):.4f} to {max(values):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accountantd", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    versions = []
    for package in ("grpcio", "protobuf", "numpy", "torch", "opacus", "jax", "pandas", "matplotlib"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    print(f"Python {platform.python_version()}, {', '.join(versions)}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as directory:
        daemon = subprocess.Popen(
            [args.accountantd, "--listen", "127.0.0.1:0", "--http", "", "--data", directory], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert daemon.stdout is not None
            ready = dict(word.split("=", 1) for word in daemon.stdout.readline().split()[2:])
            with Client("unix:" + ready["socket"], deadline=60) as client:
                print("step, 1 ms of other work:", quantiles(steps(client, 3000, 0.001)))
                print("step, no other work:     ", quantiles(steps(client, 5000, 0)))
                print('step, strict="each":     ', quantiles(steps(client, 300, 0, strict="each")))
                if any(v.startswith("opacus ") for v in versions):
                    runs(client, args.rounds, 20, 5)
        finally:
            daemon.terminate()
            daemon.wait()


if __name__ == "__main__":
    main()
