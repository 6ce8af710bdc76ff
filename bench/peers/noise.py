# SPDX-License-Identifier: Apache-2.0
"""The smallest noise for a target, by Opacus and by accountctl: the table in README.md.

    make build && make bench/peers/.venv/ready
    bench/peers/.venv/bin/python bench/peers/noise.py --accountctl bin/accountctl

The run is 60 epochs of MNIST in batches of 256: 14,100 steps at q = 256/60,000, for ε = 3 at
δ = 1e-6. Times are CPU times, which other work on the machine hardly changes. Opacus's are those of
get_noise_multiplier alone, without imports; accountctl's are those of the whole process. The rows
are measured in turns.
"""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from conformance.runners.opacus import own as opacus_class

DATASET, BATCH, EPOCHS, STEPS, EPSILON, DELTA = 60_000, 256, 60, 14_100, 3.0, 1e-6
OWN = {name: opacus_class(name, name.upper() + "Accountant") for name in ("rdp", "prv")}


def opacus(accountant):
    # The package opacus.accountants, which would import torch, is stood in for; it has this function.
    sys.modules["opacus.accountants"].create_accountant = lambda mechanism: OWN[mechanism]()
    search = opacus_class("utils", "get_noise_multiplier")
    start = time.process_time()
    sigma = search(target_epsilon=EPSILON, target_delta=DELTA, sample_rate=BATCH / DATASET, steps=STEPS, accountant=accountant)
    return sigma, time.process_time() - start


def accountctl(program):
    line = [program, "calibrate", "dp-sgd", "--batch-size", BATCH, "--dataset-size", DATASET, "--epochs", EPOCHS,
            "--solve", "noise-multiplier", "--target-epsilon", EPSILON, "--target-delta", DELTA, "--output", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in line], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout)["value"], cpu


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accountctl", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {"opacus rdp": lambda: opacus("rdp"), "opacus prv": lambda: opacus("prv"), "accountctl": lambda: accountctl(args.accountctl)}
    seen = {name: [] for name in rows}
    for _ in range(args.rounds):
        for name, measure in rows.items():
            seen[name].append(measure())
    for name, values in seen.items():
        print(f"{name:12} noise multiplier {values[0][0]:.5f}, median CPU {statistics.median(t for _, t in values):.3f} s")


if __name__ == "__main__":
    main()
