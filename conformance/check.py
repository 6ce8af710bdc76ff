# SPDX-License-Identifier: Apache-2.0
"""Asks accountants about every case, and writes the tables of docs/conformance.md.

    python -m conformance.check [--only ACCOUNTANT …] [--write]

Verdicts: "sound" if the answer is not below the truth, with how far it is above; "refused" if the accountant has no
word for the case; "unsound" if the answer is below the truth; "failed" for an exception, no number, or no answer in
time. Exit status 1 if accountctl is unsound or fails, or where an accountant named by --only is.
"""

import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import platform
import select
import subprocess
import sys

from .runners import accountants

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent / "docs/conformance.md"
BEGIN, END = "<!-- conformance: written by make conformance -->", "<!-- conformance: end -->"
ROUNDING = 1e-9  # of the truth, which is stated to 16 digits: an answer below it by less is rounding, not a bound
LIMIT = 120      # seconds by the clock for one answer
PACKAGES = ("dp-accounting", "jax-privacy", "prv-accountant", "opacus", "autodp", "riskcal")


class Runner:
    """A process that answers about one case after the other; it is started again after it died or hung."""

    def __init__(self, name):
        self.name, self.process = name, None

    def ask(self, case):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, "-m", "conformance.runners", self.name], cwd=HERE.parent, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps({k: case[k] for k in ("adjacency", "events", "delta")}) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.close()
        return {"failed": "ended" if ready else f"no answer in {LIMIT} s"}

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def verdict(case, said):
    """Returns (word, how far above the truth or None)."""
    if "refused" in said:
        return "refused", None
    epsilon = said.get("epsilon", math.nan)
    if math.isnan(epsilon):
        return "failed", None
    least = float(case["least"])
    if epsilon < least - ROUNDING * abs(least) or math.isinf(least) and not math.isinf(epsilon):
        return "unsound", epsilon / least - 1 if math.isfinite(least) else None
    if case["most"] is None or math.isinf(least):
        return "sound", None
    return "sound", math.inf if math.isinf(epsilon) else epsilon / least - 1 if least > 0 else epsilon


def cell(case, said):
    word, above = verdict(case, said)
    if word == "sound" and above is not None:
        return "∞" if math.isinf(above) else "exact" if above < 1e-6 else f"+{100 * above:.2g} %"
    return "**unsound**" if word == "unsound" else word


def summary(cases, answers):
    yield "| accountant | sound | of them within 0.1 % | ∞ | refused | failed | unsound |"
    yield "|---|---|---|---|---|---|---|"
    for name, said in answers.items():
        words = [verdict(c, s) for c, s in zip(cases, said)]
        count = lambda word: sum(w == word for w, _ in words)
        sound = [a for w, a in words if w == "sound"]
        close = sum(a is not None and a <= 1e-3 for a in sound)
        endless = sum(a is not None and math.isinf(a) for a in sound)
        yield f"| {name} | {count('sound')} | {close} | {endless} | {count('refused')} | {count('failed')} | {count('unsound')} |"


def findings(cases, answers):
    yield "| accountant | case | δ | its ε | the truth | what the case catches |"
    yield "|---|---|---|---|---|---|"
    for name, said in answers.items():
        for c, s in zip(cases, said):
            if verdict(c, s)[0] == "unsound":
                yield f"| {name} | {c['name']} | {c['delta']:.3g} | {s['epsilon']:.6g} | {float(c['least']):.6g} | {c['catches']} |"


def table(cases, answers):
    yield "| case | δ | " + " | ".join(answers) + " |"
    yield "|---|---|" + "---|" * len(answers)
    for i, c in enumerate(cases):
        yield f"| {c['name']} | {c['delta']:.3g} | " + " | ".join(cell(c, said[i]) for said in answers.values()) + " |"


def versions():
    named = [f"{package} {importlib.metadata.version(package)}" for package in PACKAGES]
    return f"Python {platform.python_version()}, " + ", ".join(named)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="accountants to ask; then nothing is written")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/conformance.md")
    args = parser.parse_args()
    cases = json.loads((HERE / "cases.json").read_text())
    answers = {}
    for name in args.only or accountants():
        runner = Runner(name)
        answers[name] = [runner.ask(c) for c in cases]
        runner.close()
        print(f"{name}: asked {len(cases)} cases", file=sys.stderr, flush=True)
    parts = ["\n".join(summary(cases, answers)), "\n".join(findings(cases, answers)), "\n".join(table(cases, answers))]
    if args.write:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        PAGE.write_text(before + BEGIN + f"\n\n{versions()}.\n\n{parts[0]}\n\n## Answers below the truth\n\n{parts[1]}\n\n## Every case\n\n"
                        f"The part of ε by which an answer is above the truth.\n\n{parts[2]}\n\n" + END + after)
    else:
        print("\n\n".join(parts))
    for name, said in answers.items():
        for c, s in zip(cases, said):
            if "failed" in s:
                print(f"{name}, {c['name']}, δ = {c['delta']:g}: {s['failed']}", file=sys.stderr)
    judged = args.only or ["accountctl"]
    sys.exit(any(verdict(c, s)[0] in ("unsound", "failed") for name in judged for c, s in zip(cases, answers[name])))


if __name__ == "__main__":
    main()
