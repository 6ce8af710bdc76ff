# SPDX-License-Identifier: Apache-2.0
"""Runs the public accountants and accountctl on the same workloads, one after
the other in the same run, and writes results.md beside this file, and the summary
of docs/benchmarks.md with its picture.

    python run.py --accountctl bin/accountctl [--only dpsgd-1000 … | --resume]

A row each: user CPU and peak memory of the whole process, the answer, its error
against the exact ε (workloads.json, made by exact.py) and whether it is sound, that
is, not below the truth. Failures stay in as they occur. contested.json has more
questions, of kinds in which a peer once was ahead of us; there our own lower bound
tells what is too small.
"""

import argparse
import importlib.metadata
import itertools
import json
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
RUN = HERE / ".venv/run.json"  # what was measured so far
LIMIT = 120  # seconds of CPU for one answer; three times as much by the clock
OURS = "accountctl"
TOO_SMALL = "**too small**"
BEGIN, END = "<!-- bench-peers: written by make bench-peers -->", "<!-- bench-peers: end -->"


def measure(command, stdin):
    """Runs a process and returns (output or None, error, user seconds, MiB)."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=out, stderr=err,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)))
        deadline = time.monotonic() + 3 * LIMIT
        pid = 0
        while not pid:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if time.monotonic() > deadline:
                process.kill()
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, errors = out.read().decode(), err.read().decode().strip()
        measured = usage.ru_utime, usage.ru_maxrss / 1024
        if process.returncode < 0:
            return None, f"killed after {usage.ru_utime + usage.ru_stime:.0f} s of CPU", *measured
        if process.returncode != 0:
            return None, errors.splitlines()[-1] if errors else f"exit status {process.returncode}", *measured
        return json.loads(text), "", *measured


def ask_peer(peer, row, *flags):
    workload = {"adjacency": row["adjacency"], "events": row["events"]}
    workload |= {k: float(row[k]) for k in ("delta", "at") if k in row}
    return measure([sys.executable, str(HERE / "one.py"), peer, *flags], json.dumps(workload))


def ask_ours(accountctl, row):
    workload = {"adjacency": row["adjacency"], "events": row["events"]}
    question = ["--delta", row["delta"]] if "delta" in row else ["--epsilon", row["at"]]
    return measure([accountctl, "compute", "--file", "-", *question, "--output", "json"], json.dumps(workload))


def ask(accountctl, peer, row):
    return ask_ours(accountctl, row) if peer == OURS else ask_peer(peer, row)


def verdict(answer, exact):
    """Returns (ε, relative error, word). 2e−10 is what the exact numbers promise."""
    epsilon = float(answer["epsilon"])
    error = epsilon / float(exact) - 1
    if epsilon != epsilon:
        return epsilon, error, "NaN"
    if epsilon == float("inf"):
        return epsilon, error, "∞"
    return epsilon, error, "sound" if error >= -2e-10 else TOO_SMALL


def collect(accountctl, peers, workloads, rows):
    """Adds to rows what is not in them yet, and yields each new one."""
    have = {(r["workload"], r["delta"], r["peer"]) for r in rows}
    for w in workloads:
        for peer in [OURS, *peers]:
            if (w["name"], w["delta"], peer) in have:
                continue
            answer, error, cpu, memory = ask(accountctl, peer, w)
            row = {"workload": w["name"], "delta": w["delta"], "exact": w["epsilon"], "peer": peer, "cpu": cpu, "memory": memory}
            if answer is None:
                row["failure"] = error
            elif "unsupported" in answer:
                row["unsupported"] = answer["unsupported"]
            else:
                row["epsilon"], row["error"], row["word"] = verdict(answer, w["epsilon"])
            rows.append(row)
            print(f"{w['name']} δ={w['delta']} {peer}: {row.get('epsilon', row.get('failure', row.get('unsupported')))} {cpu:.2f} s", flush=True)
            yield row


def contest(accountctl, peers, questions, rows):
    """As collect, for questions without an exact answer."""
    have = {(r["question"], r["peer"]) for r in rows}
    for q in questions:
        what = "epsilon" if "delta" in q else "delta"
        asked = f"ε at δ = {q['delta']}" if "delta" in q else f"δ at ε = {q['at']}"
        for peer in [OURS, *peers]:
            if (q["name"], peer) in have:
                continue
            answer, error, *_ = ask(accountctl, peer, q)
            row = {"question": q["name"], "asked": asked, "adjacency": q["adjacency"], "peer": peer}
            if answer is None:
                row["failure"] = error
            elif "unsupported" not in answer:
                row |= {"answer": answer[what], "lower": answer.get(what + "Lower", 0)}
            rows.append(row)
            print(f"{q['name']}, {asked}, {peer}: {row.get('answer', row.get('failure', 'not supported'))}", flush=True)
            yield row


def contested(rows):
    """The table of contested questions: what each peer that answers says, and by how much it differs."""
    out = ["| question | adjacency | | accountctl, the proven interval | peer | its answer | against ours |", "|---|---|---|---|---|---|---|"]
    for ours in (r for r in rows if r["peer"] == OURS):
        for r in rows:
            if r["question"] != ours["question"] or r["peer"] == OURS or not {"answer", "failure"} & set(r):
                continue
            if "failure" in r:
                said = f"– | {r['failure'][:100].replace('|', '/')}"
            else:
                word = "" if r["answer"] >= ours["lower"] else f", {TOO_SMALL}"
                said = f"{r['answer']:.10g} | {r['answer'] / ours['answer'] - 1:+.1e}{word}"
            out.append(f"| {r['question']} | {r['adjacency']} | {r['asked']} | [{ours['lower']:.10g}, {ours['answer']:.10g}] | {r['peer']} | {said} |")
    return "\n".join(out) + "\n"


def ahead(rows, questions):
    """What peers answer that is sound, or not known to be unsound, and below our answer."""
    found = []
    for group, name, answer in ((rows, "workload", "epsilon"), (questions, "question", "answer")):
        key = lambda r: (r[name], r.get("delta"))
        ours = {key(r): r for r in group if r["peer"] == OURS}
        for r in group:
            mine = ours[key(r)]
            sound = r.get("word") == "sound" if group is rows else r.get(answer, -1) >= mine["lower"]
            if sound and r[answer] < mine[answer]:
                found.append((r[answer] / mine[answer] - 1, r[name], r["peer"], r[answer], mine[answer]))
    if not found:
        return "None.\n"
    lines = [f"| {name} | {peer} | {theirs:.12g} | {mine:.12g} | {by:+.1e} |" for by, name, peer, theirs, mine in sorted(found)]
    return "| row | peer | its answer | ours | difference |\n|---|---|---|---|---|\n" + "\n".join(lines) + "\n"


def finite(row):
    return row.get("word") in ("sound", TOO_SMALL)


def median(xs):
    return sorted(xs)[len(xs) // 2] if xs else float("nan")


def summary(rows, imports, again):
    out = ["| accountant | answers | too small | ∞, NaN or failed | not supported | median error | median CPU | of it imports | largest memory | one more step |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    for peer in dict.fromkeys(r["peer"] for r in rows):
        mine = [r for r in rows if r["peer"] == peer]
        good = [r for r in mine if finite(r)]
        unsupported = sum("unsupported" in r for r in mine)
        out.append("| {} | {} | {} | {} | {} | {:.1e} | {:.3f} s | {} | {:.0f} MiB | {} |".format(
            peer, len(good), sum(r["word"] == TOO_SMALL for r in good), len(mine) - len(good) - unsupported, unsupported,
            median([abs(r["error"]) for r in good]), median([r["cpu"] for r in good]),
            f"{imports[peer]:.2f} s" if peer in imports else "–", max(r["memory"] for r in mine), again[peer]))
    return "\n".join(out) + "\n"


def table(rows):
    out = []
    for key in dict.fromkeys((r["workload"], r["delta"], r["exact"]) for r in rows):
        out.append(f"\n### {key[0]}, δ = {key[1]}: ε = {key[2]}\n")
        out.append("| accountant | ε | relative error | | user CPU | memory |\n|---|---|---|---|---|---|")
        for r in rows:
            if (r["workload"], r["delta"], r["exact"]) != key or "unsupported" in r:
                continue
            answer = f"{r['epsilon']:.10g} | {r['error']:+.1e} | {r['word']}" if "word" in r else f"– | – | {r['failure'][:100].replace('|', '/')}"
            out.append(f"| {r['peer']} | {answer} | {r['cpu']:.2f} s | {r['memory']:.0f} MiB |")
    return "\n".join(out) + "\n"


def picture(rows, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "peers", "font.size": 11})
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(9, 6))
    least = 1e-15  # closer than float64 tells
    for i, peer in enumerate(dict.fromkeys(r["peer"] for r in rows)):
        good = [r for r in rows if r["peer"] == peer and finite(r)]
        if good:
            ax.scatter([max(r["cpu"], 1e-3) for r in good], [max(abs(r["error"]), least) for r in good],
                       label=peer, color=["C0", "C1", "C2", "C9", "C4", "C5", "C6", "C7"][i], s=110 if peer == OURS else 45, marker="*" if peer == OURS else "osD^vPX"[i - 1],
                       edgecolors=["red" if r["word"] != "sound" else "white" for r in good],
                       linewidths=[1.6 if r["word"] != "sound" else 0.5 for r in good])
    ax.set(xscale="log", yscale="log", ylim=(least / 3, 10), xlabel="user CPU of the whole process, seconds",
           ylabel="relative error of ε", title="Error against time, one mark a workload (red rim: ε is below the truth)")
    ax.grid(True, which="major", alpha=0.3)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    fig.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def one_more_step(peers, row):
    """What the next step's ε takes: peers in a process that has answered, ours from the daemon."""
    again = {}
    for peer in peers:
        answer, error, _, _ = ask_peer(peer, row, "--again")
        again[peer] = f"{answer['again']:.2g} s" if answer and "again" in answer else error or "–"
    bench = subprocess.run(["go", "test", "./internal/server", "-run", "^$", "-bench", "^BenchmarkQueryOneMoreStep$"],
                           cwd=ROOT, capture_output=True, text=True, check=True).stdout
    nanoseconds = float(re.search(r"BenchmarkQueryOneMoreStep\S*\s+\d+\s+(\S+) ns/op", bench).group(1))
    again[OURS] = f"{nanoseconds / 1e9:.2g} s"
    return again


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accountctl", required=True)
    parser.add_argument("--only", nargs="*", help="names of workloads; then nothing is written")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was ended")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from one import PEERS

    workloads = json.loads((HERE / "workloads.json").read_text())
    if args.only:
        rows = []
        for _ in collect(args.accountctl, PEERS, [w for w in workloads if w["name"] in args.only], rows):
            pass
        print(table(rows))
        return
    page = (ROOT / "docs/benchmarks.md").read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    typical = next(w for w in workloads if w["name"] == "dpsgd-1000")
    if args.resume:
        run = json.loads(RUN.read_text())
    else:
        trivial = typical | {"events": [{"mechanism": {"gaussian": {"standardDeviation": 5.0, "sensitivity": 1.0}}, "count": 1}]}
        run = {"load": os.getloadavg()[0], "imports": {p: ask_peer(p, trivial)[2] for p in PEERS}, "again": one_more_step(PEERS, typical), "rows": [], "questions": []}
    questions = json.loads((HERE / "contested.json").read_text())
    for _ in itertools.chain(contest(args.accountctl, PEERS, questions, run["questions"]), collect(args.accountctl, PEERS, workloads, run["rows"])):
        RUN.write_text(json.dumps(run))
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("dp-accounting", "prv-accountant", "opacus", "autodp", "numpy", "scipy"))
    text = (f"\nPython {platform.python_version()}, {versions}; {os.cpu_count()} cores, load {run['load']:.1f} before and {os.getloadavg()[0]:.1f} after the run.\n\n"
            + summary(run["rows"], run["imports"], run["again"]) + "\n")
    (ROOT / "docs/benchmarks.md").write_text(before + BEGIN + text + END + after)
    (HERE / "results.md").write_text(
        "# Every row of the comparison with public accountants\n\n"
        "Written by `make bench-peers`; [docs/benchmarks.md](../../docs/benchmarks.md) has the summary and says how it was measured.\n\n"
        "## Rows in which a peer is ahead\nOf all rows below, those in which a peer's answer is smaller than ours and is not known to be too small.\n\n"
        + ahead(run["rows"], run["questions"])
        + "\n## Contested questions\nKinds in which a peer once was ahead. No exact number stands beside them, so an answer is called too small where it is below our proven lower bound.\n\n"
        + contested(run["questions"]) + "\n## Every row\n" + table(run["rows"]) + "\n")
    picture(run["rows"], ROOT / "docs/benchmarks.svg")


if __name__ == "__main__":
    main()
