"""Runs the public accountants and accountctl on the same workloads, one after
the other in the same run, and writes docs/benchmarks.md and its picture.

    python run.py --accountctl bin/accountctl --out docs

A row each: user CPU and peak memory of the whole process (imports included, and
once more without the imports, by a run that only imports), the answer, its error
against the exact ε and whether it is sound (not below the truth). Failures stay
in as they occur. Exact numbers: internal/accountant/testdata/workloads.json and
the rows of MORE below, from the oracle.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
LIMIT = 120  # seconds of wall time for one answer
OURS = "accountctl"


def subsampled(q, s, n):
    gaussian = {"gaussian": {"standardDeviation": s, "sensitivity": 1.0}}
    return {"mechanism": {"poissonSampled": {"samplingProbability": q, "mechanism": gaussian}}, "count": n}


# Beyond the reference file; ε from the oracle (oracle/README.md).
MORE = [
    ("small-q-10M", [subsampled(1e-5, 0.7, 10**7)], "1e-5", "0.275167679"),
    ("little-noise", [subsampled(0.1, 0.3, 100)], "1e-5", "106.1759"),
    ("pure-1x100", [{"mechanism": {"pureDp": {"epsilon": 1.0}}, "count": 100}], "1e-5", "79.841322365"),
]


def workloads():
    """Yields (name, adjacency, events, delta, exact ε) of every row given by δ."""
    file = ROOT / "internal/accountant/testdata/workloads.json"
    for w in json.loads(file.read_text()):
        for row in w["truth"]:
            if list(row)[0] == "delta":
                yield w["name"], w["adjacency"], w["events"], row["delta"], row["epsilon"]
    for name, events, delta, epsilon in MORE:
        yield name, "ADD_OR_REMOVE_ONE", events, delta, epsilon


def measure(command, stdin):
    """Runs a process and returns (output or None, error, user seconds, MiB)."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err)
        process.stdin.write(stdin.encode())
        process.stdin.close()
        deadline = time.monotonic() + LIMIT
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = -9
                return None, f"killed after {LIMIT} s", usage.ru_utime, usage.ru_maxrss / 1024
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, errors = out.read().decode(), err.read().decode().strip()
        if process.returncode != 0:
            last = errors.splitlines()[-1] if errors else f"exit status {process.returncode}"
            return None, last, usage.ru_utime, usage.ru_maxrss / 1024
        return json.loads(text), "", usage.ru_utime, usage.ru_maxrss / 1024


def ask_peer(peer, adjacency, events, delta):
    workload = {"adjacency": adjacency, "events": events, "delta": float(delta)}
    return measure([sys.executable, str(HERE / "one.py"), peer], json.dumps(workload))


def ask_ours(accountctl, adjacency, events, delta):
    workload = {"adjacency": adjacency, "events": events}
    return measure([accountctl, "compute", "--file", "-", "--delta", delta, "--output", "json"], json.dumps(workload))


def verdict(answer, truth):
    """Returns (ε, relative error, word)."""
    epsilon = float(answer["epsilon"])
    error = epsilon / truth - 1
    if epsilon != epsilon:
        return epsilon, error, "NaN"
    if epsilon == float("inf"):
        return epsilon, error, "∞"
    return epsilon, error, "sound" if error >= -2e-10 else "**too small**"


def collect(accountctl, peers):
    rows = []
    for name, adjacency, events, delta, exact in workloads():
        for peer in [OURS, *peers]:
            if peer == OURS:
                answer, error, cpu, memory = ask_ours(accountctl, adjacency, events, delta)
            else:
                answer, error, cpu, memory = ask_peer(peer, adjacency, events, delta)
            row = {"workload": name, "delta": delta, "exact": exact, "peer": peer, "cpu": cpu, "memory": memory}
            if answer is None:
                row["failure"] = error
            elif "unsupported" in answer:
                row["unsupported"] = answer["unsupported"]
            else:
                row["epsilon"], row["error"], row["word"] = verdict(answer, float(exact))
            rows.append(row)
            print(f"{name} δ={delta} {peer}: {row.get('epsilon', row.get('failure', row.get('unsupported')))} {cpu:.2f} s", flush=True)
    return rows


def table(rows):
    out = []
    for key in dict.fromkeys((r["workload"], r["delta"], r["exact"]) for r in rows):
        out.append(f"\n### {key[0]}, δ = {key[1]}: ε = {key[2]}\n")
        out.append("| accountant | ε | relative error | | user CPU, s | memory, MiB |\n|---|---|---|---|---|---|")
        for r in rows:
            if (r["workload"], r["delta"], r["exact"]) != key or "unsupported" in r:
                continue
            if "failure" in r:
                out.append(f"| {r['peer']} | – | – | {r['failure'][:100].replace('|', '/')} | {r['cpu']:.2f} | {r['memory']:.0f} |")
            else:
                out.append(f"| {r['peer']} | {r['epsilon']:.10g} | {r['error']:+.1e} | {r['word']} | {r['cpu']:.2f} | {r['memory']:.0f} |")
    return "\n".join(out) + "\n"


def summary(rows, baseline):
    out = ["| accountant | answers | too small | ∞ or failed | not supported | median error | median CPU, s | of it imports, s | largest memory, MiB |",
           "|---|---|---|---|---|---|---|---|---|"]
    median = lambda xs: sorted(xs)[len(xs) // 2] if xs else float("nan")
    for peer in dict.fromkeys(r["peer"] for r in rows):
        mine = [r for r in rows if r["peer"] == peer]
        answered = [r for r in mine if "word" in r]
        good = [r for r in answered if r["word"] in ("sound", "**too small**")]
        out.append("| {} | {} | {} | {} | {} | {:.1e} | {:.2f} | {:.2f} | {:.0f} |".format(
            peer, len(good), sum(r["word"] == "**too small**" for r in answered),
            sum("failure" in r for r in mine) + len(answered) - len(good), sum("unsupported" in r for r in mine),
            median([abs(r["error"]) for r in good]), median([r["cpu"] for r in good]), baseline.get(peer, 0),
            max(r["memory"] for r in mine)))
    return "\n".join(out) + "\n"


def picture(rows, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "peers"
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(8, 5))
    for peer in dict.fromkeys(r["peer"] for r in rows):
        good = [r for r in rows if r["peer"] == peer and r.get("word") in ("sound", "**too small**")]
        if not good:
            continue
        ax.scatter([max(r["cpu"], 1e-3) for r in good], [max(abs(r["error"]), 1e-15) for r in good],
                   label=peer, s=60 if peer == OURS else 28, marker="*" if peer == OURS else "o",
                   edgecolors=["red" if r["word"] != "sound" else "none" for r in good], linewidths=1)
    ax.set(xscale="log", yscale="log", xlabel="user CPU of the whole process, s", ylabel="relative error of ε",
           title="Error against time (red rim: ε is too small)")
    ax.grid(True, which="major", alpha=0.3)
    ax.legend(fontsize=8)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accountctl", required=True)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    args = parser.parse_args()

    sys.path.insert(0, str(HERE))
    import one

    empty = {"adjacency": "ADD_OR_REMOVE_ONE", "events": [subsampled(0.5, 5.0, 1)]}
    baseline = {p: ask_peer(p, empty["adjacency"], empty["events"], "1e-5")[2] for p in one.PEERS}
    rows = collect(args.accountctl, one.PEERS)
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}"
                         for p in ("dp-accounting", "prv-accountant", "autodp", "opacus", "numpy", "scipy"))
    page = args.out / "benchmarks-peers.md"
    page.write_text(
        "# Side by side with public accountants\n\n"
        "Written by `make bench-peers`; not edited. Each answer is a process of its own, one after the other in the same run; user CPU and\n"
        "memory are those of the whole process, Python's imports included (\"of it imports\": one step of a trivial workload). Errors are\n"
        "against exact values of ε (oracle/). \"too small\" under-reports the privacy loss; the GDP one is a central limit, not a bound.\n"
        f"Failures stay as they occur. Versions: Python {platform.python_version()}, {versions}.\n\n"
        "![error against time](benchmarks-peers.svg)\n\n" + summary(rows, baseline) + "\n## Every row\n" + table(rows))
    picture(rows, args.out / "benchmarks-peers.svg")
    print(f"wrote {page}; children used {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime:.0f} s of CPU")


if __name__ == "__main__":
    main()
