# SPDX-License-Identifier: Apache-2.0
"""python -m oracle list | write [NAME …] | check [NAME …] [--rows N] [--seed S] | selftest | compare WORKLOADS.json [NAME …]

write makes the files whose path contains a NAME (all without). check makes N random rows of each again and compares
them with what the file holds. selftest computes numbers by two unrelated methods. compare sets the oracle beside a
file of workloads with known truths.
"""

import argparse
import random
import sys
import time

from mpmath import mp, mpf

from . import data_allocation, data_batches, data_best, data_closed, data_conversion, data_declared, data_divergences, data_dominated, data_engine, data_gdp, data_guarantees, data_loss, data_matrices, data_mixtures, data_noise, data_num, data_parallel, data_rdp, data_records, data_reports, data_steps, data_structure, data_theorem, data_traps, data_vectors, data_zcdp, selftest
from .writing import read, write

MODULES = (data_allocation, data_best, data_num, data_gdp, data_guarantees, data_zcdp, data_loss, data_noise, data_rdp, data_closed, data_conversion, data_engine, data_steps, data_declared, data_structure, data_theorem, data_traps, data_mixtures, data_batches, data_matrices, data_parallel, data_dominated, data_divergences, data_records, data_reports, data_vectors)
AGREEMENT = 24  # digits a stored number must keep, unless its field or file promises fewer
FEWER = {"loss/testdata/divergences.json": 18, "accountant/testdata/allocation.json": 14, "pld/testdata/allocation.json": 14, "accountant/testdata/guarantees.json": 10, "alphaMinusOne": 8, "pld/testdata/engine_few_steps.json": 19, "pld/testdata/sampled_steps.json": 7, "pld/testdata/declared.json": 10, "pld/testdata/renyi_tables.json": 8, "mean": 10, "pld/testdata/mixtures.json": 6, "pld/testdata/batches.json": 4, "pld/testdata/dominated.json": 9, "pld/testdata/reports.json": 13, "pld/testdata/vectors.json": 18, "pld/testdata/sampled_vectors.json": 18}


def files(names):
    every = {path: make for module in MODULES for path, make in module.FILES.items()}
    chosen = {p: f for p, f in every.items() if not names or any(n in p for n in names)}
    if not chosen:
        sys.exit(f"no file matches {names}; there are: {', '.join(every)}")
    return chosen


def same(old, new, digits, where):
    """Names of the fields in which two rows differ; numbers in strings are compared as numbers."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() != new.keys():
            return [f"{where}: keys {sorted(old.keys() ^ new.keys())}"]
        return [x for k in old for x in same(old[k], new[k], min(digits, FEWER.get(k, digits)), f"{where}.{k}")]
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{where}: {len(old)} and {len(new)} entries"]
        scale = max((abs(mpf(x)) for x in old), default=0) if where.endswith(".k") else None
        if scale is not None:  # a complex number: relative to its size
            return [f"{where}: {a} and {b}" for a, b in zip(old, new) if abs(mpf(a) - mpf(b)) > scale * mpf(10) ** -digits]
        return [x for i, (a, b) in enumerate(zip(old, new)) for x in same(a, b, digits, f"{where}[{i}]")]
    if isinstance(old, str) and isinstance(new, str) and old != new:
        try:
            a, b = mpf(old), mpf(new)
        except ValueError:
            return [f"{where}: {old} and {new}"]
        return [] if abs(a - b) <= max(abs(a), abs(b)) * mpf(10) ** -digits else [f"{where}: {old} and {new}"]
    return [] if old == new else [f"{where}: {old} and {new}"]


def do_write(args):
    for path, make in files(args.names).items():
        start = time.time()
        def progress(done, of):
            print(f"\r{path} {done}/{of}", end="", file=sys.stderr, flush=True)
        size = write(path, make().build(progress))
        print(f"\r{path}: {size} bytes, {time.time() - start:.0f} s", file=sys.stderr)


def do_check(args):
    rng, wrong = random.Random(args.seed), []
    for path, make in files(args.names).items():
        stored, file = read(path), make()
        places = [(t, i) for t, makers in file.tables.items() for i in range(len(makers))]
        for table, makers in file.tables.items():
            if len(stored.get(table, ())) != len(makers):
                wrong.append(f"{path} {table}: {len(stored.get(table, ()))} rows, the oracle has {len(makers)}")
        if stored["about"] != file.about:
            wrong.append(f"{path}: about differs")
        for table, i in sorted(rng.sample(places, min(args.rows, len(places)))):
            start = time.time()
            with mp.workdps(400):
                found = same(stored[table][i], file.row(table, i), FEWER.get(path, AGREEMENT), f"{path} {table}[{i}]")
            wrong += found
            print(f"{path} {table}[{i}]: {'differs' if found else 'same'}, {time.time() - start:.1f} s", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    parser = argparse.ArgumentParser(prog="python -m oracle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    for name in ("write", "check"):
        p = commands.add_parser(name)
        p.add_argument("names", nargs="*")
        if name == "check":
            p.add_argument("--rows", type=int, default=2)
            p.add_argument("--seed", type=int, default=None)
    commands.add_parser("selftest")
    p = commands.add_parser("compare")
    p.add_argument("file")
    p.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.command == "list":
        print("\n".join(files([])))
    elif args.command == "write":
        do_write(args)
    elif args.command == "check":
        do_check(args)
    elif args.command == "selftest":
        selftest.run()
    else:
        selftest.compare(args.file, args.names)


if __name__ == "__main__":
    main()
