# SPDX-License-Identifier: Apache-2.0
"""The daemon beside a bare one, in turn: make bench-load BARE=path/to/limits.

BARE is a program without accounting (gRPC, one committer, bbolt, acknowledged
after fsync): `limits serve -durable`, and `limits drive -set durable -spid PID
-only SHAPE`, which prints a line with "cpu/op server …us client …us". Without it
only our own figures are printed. Both daemons run all the time, with new files in
the same directory; their loads take turns, since what else the machine does
changes from minute to minute. Medians of the rounds.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile

SHAPES = [  # what, arguments of load, the bare driver's shape
    ("1 stream, window 2,048, 1 ledger", "--streams 1 --window 2048", "tcp 1 stream window 2048"),
    ("64 streams, window 256, 64 ledgers", "--streams 64 --window 256 --ledgers 64", "tcp 64 streams window 256"),
    ("64 streams, window 256, 1 ledger", "--streams 64 --window 256", None),
    ("1,000 streams, window 16, 1,000 ledgers", "--streams 1000 --window 16 --ledgers 1000", None),
    ("1,000 writers, unary, 1 connection, 1,000 ledgers", "--streams 1000 --unary --ledgers 1000 --reports 20000", "tcp 1 conn x 1000"),
    ("1,000 writers, unary, 1 connection, 1 ledger", "--streams 1000 --unary --reports 20000", None),
]
SERVER, HTTP = "127.0.0.1:27878", "127.0.0.1:27879"


def start(command, cwd, ready):
    p = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if ready not in p.stdout.readline():
        raise SystemExit(f"{command[0]} did not start")
    return p


def ours(load, arguments):
    given = ["--reports", "100000"] + arguments.split()
    out = json.loads(subprocess.run([load, "--server", SERVER, "--http", HTTP, *given], check=True, capture_output=True, text=True).stdout)
    return (out["reportsPerSecond"], out["acknowledgedP50Milliseconds"], out["acknowledgedP99Milliseconds"],
            out["serverMicrosecondsPerReport"], out["clientMicrosecondsPerReport"])


def bare(limits, pid, shape, cwd):
    out = subprocess.run([limits, "drive", "-set", "durable", "-spid", str(pid), "-reps", "1", "-only", shape],
                         check=True, capture_output=True, text=True, cwd=cwd).stdout
    found = re.search(r"med= *(\d+).*p50= *(\d+)us p99= *(\d+)us cpu/op server ([\d.]+)us client ([\d.]+)us", out)
    rate, p50, p99, server, client = map(float, found.groups())
    return rate, p50 / 1000, p99 / 1000, server, client


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--accountantd", required=True)
    a.add_argument("--load", required=True)
    a.add_argument("--bare", default="")
    a.add_argument("--rounds", type=int, default=5)
    a = a.parse_args()
    load, limits = os.path.abspath(a.load), a.bare and os.path.abspath(a.bare)
    with tempfile.TemporaryDirectory(dir=".") as directory:
        daemons = [start([os.path.abspath(a.accountantd), "--listen", SERVER, "--http", HTTP, "--data", "ours"], directory, "ready")]
        try:
            if limits:
                daemons.append(start([limits, "serve", "-durable"], directory, "serving"))
            measured = {}
            for _ in range(a.rounds):
                for what, arguments, shape in SHAPES:
                    if limits and shape:
                        measured.setdefault((what, "bare"), []).append(bare(limits, daemons[1].pid, shape, directory))
                    measured.setdefault((what, "ours"), []).append(ours(load, arguments))
        finally:
            for d in daemons:
                d.terminate()
                d.wait()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end; medians of {a.rounds}\n")
    print("| load | | reports/s | p50, p99 (ms) | CPU per report: server + client (µs) | range |\n|---|---|---|---|---|---|")
    for (what, who), runs in measured.items():
        rate, p50, p99, server, client = (statistics.median(x) for x in zip(*runs))
        sums = [r[3] + r[4] for r in runs]
        print(f"| {what} | {who} | {rate:,.0f} | {p50:.0f}, {p99:.0f} | {server:.1f} + {client:.1f} = {statistics.median(sums):.1f} | {min(sums):.1f}–{max(sums):.1f} |")


main()
