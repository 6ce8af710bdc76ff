# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of README.md and docs/dashboard.md: `make pictures`. Needs Chromium.

A daemon with an example ledger is started, its pages are photographed, and gain.svg is drawn
of the answers of accountctl to one question about 1, 2, … 100 counts.
"""

import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE, BIN = Path(__file__).resolve().parent, Path(sys.argv[1]).resolve()
DELTA = "1e-6"


def accountctl(*arguments, **options):
    done = subprocess.run([BIN / "accountctl", *arguments], capture_output=True, text=True, **options)
    if done.returncode not in (0, 3):  # 3: a charge was refused
        sys.exit(f"accountctl {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def ledgers(server):
    """Ledgers as a team has them: some nearly used up, one refused, and one under way."""
    def ask(*arguments):
        accountctl(*arguments, "--server", server)

    person = ["--adjacency", "add-or-remove-one", "--privacy-unit", "person"]
    for name, owner, budget in (("census/tables", "statistics", "epsilon=2,delta=1e-6"), ("clinic/visits", "clinic", "epsilon=4,delta=1e-6"),
                                ("survey/2026", "statistics", "epsilon=1,delta=1e-6")):
        ask("ledger", "create", name, *person, "--owner", owner, "--dataset-id", name.split("/")[0], "--budget", budget)
    ask("ledger", "create", "vision/digits", *person, "--owner", "vision", "--dataset-id", "digits", "--plan", "gaussian",
        "--noise-multiplier", "1.1", "--sampling-probability", "0.01", "--count", "3000")
    for week in range(1, 25):
        ask("report", "census/tables", "laplace", "--scale", "20", "--sensitivity", "1", "--count", "1" if week % 5 else "8",
            "--label", f"table={'income' if week % 3 else 'age'}", "--request-id", f"week-{week}")
        if week % 4 == 0:
            ask("report", "vision/digits", "gaussian", "--noise-multiplier", "1.1", "--sampling-probability", "0.01", "--count", "350",
                "--label", "run=7", "--request-id", f"part-{week}")
            ask("report", "clinic/visits", "gaussian", "--noise-multiplier", "12", "--count", "2", "--request-id", f"month-{week}")
        time.sleep(0.4)
    ask("report", "survey/2026", "laplace", "--scale", "30", "--sensitivity", "1", "--count", "20", "--request-id", "first")
    ask("reservation", "create", "census/tables", "laplace", "--scale", "20", "--sensitivity", "1", "--count", "12", "--lifetime", "24h", "--request-id", "next")
    ask("report", "census/tables", "laplace", "--scale", "20", "--sensitivity", "1", "--count", "500", "--request-id", "too-much")


def photograph(chromium, address, path, width, height):
    subprocess.run([chromium, "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}", "--timeout=4000",
                    f"--screenshot={path}", address], check=True, capture_output=True)


def screenshots():
    chromium = shutil.which("chromium") or sys.exit("no chromium is installed (apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            http = f"127.0.0.1:{free.getsockname()[1]}"
        daemon = subprocess.Popen([BIN / "accountantd", "--data", f"{folder}/data", "--listen", f"unix://{folder}/a.sock", "--http", http],
                                  stderr=subprocess.DEVNULL)
        try:
            for _ in range(300):
                if os.path.exists(f"{folder}/a.sock"):
                    break
                time.sleep(0.1)
            ledgers(f"unix:{folder}/a.sock")
            for name, path, width, height in (("overview", "/?sort=used", 1200, 640), ("ledger", "/ledger?name=census/tables", 1000, 1150),
                                              ("curves", "/curves?name=census/tables", 1000, 900)):
                while b"<progress" in urllib.request.urlopen(f"http://{http}{path}").read():  # it reads the ledger for the first time
                    time.sleep(0.5)
                photograph(chromium, f"http://{http}{path}", HERE / f"{name}.png", width, height)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


STYLE = """text{font:13px sans-serif;fill:#333}.a{stroke:#999;fill:none}.s{stroke:#b3541e;fill:none;stroke-width:2}.p{stroke:#1b62a5;fill:none;stroke-width:2.5}
.ts{fill:#b3541e}.tp{fill:#1b62a5}@media(prefers-color-scheme:dark){text{fill:#ddd}.s{stroke:#f09a63}.p{stroke:#7db8f0}.ts{fill:#f09a63}.tp{fill:#7db8f0}}"""


def gain():
    """ε of n Laplace counts with ε = 0.05 each: their sum, and what the accountant proves."""
    rows = [(0, 0.0, 0.0)]
    for n in (*range(1, 10), *range(10, 101, 10)):
        answer = json.loads(accountctl("compute", "laplace", "--scale", "20", "--sensitivity", "1", "--count", str(n), "--delta", DELTA,
                                       "--adjacency", "add-or-remove-one", "--output", "json"))
        by = {a["analysis"]: a["epsilon"] for a in answer["analyses"] if "epsilon" in a}
        rows.append((n, by["basic"], answer["epsilon"]))

    def x(n):
        return 60 + 5.2 * n

    def y(e):
        return 250 - 44 * e

    def line(kind, column):
        return f'<polyline class="{kind}" points="{" ".join(f"{x(r[0]):.1f},{y(r[column]):.1f}" for r in rows)}"/>'

    def up(e):
        return f"{math.ceil(e * 100) / 100:.2f}"

    ticks = "".join(f'<text x="52" y="{y(e) + 4:.0f}" text-anchor="end">{e}</text>' for e in range(6))
    ticks += "".join(f'<text x="{x(n):.0f}" y="268" text-anchor="middle">{n}</text>' for n in range(0, 101, 20))
    n, total, proven = rows[-1]
    (HERE / "gain.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 300" role="img"><title>ε of {n} counts is at most {up(proven)}, and the sum of their ε is {total:.2f}'
        f'</title><style>{STYLE}</style><path class="a" d="M60 20V250H590"/>{ticks}{line("s", 1)}{line("p", 2)}'
        f'<text class="ts" x="{x(n) + 8:.0f}" y="{y(total) + 4:.0f}">sum: ε = {total:.2f}</text>'
        f'<text class="tp" x="{x(n) + 8:.0f}" y="{y(proven) + 4:.0f}">proven: ε ≤ {up(proven)}</text>'
        f'<text x="325" y="292" text-anchor="middle">counts with Laplace noise, each with ε = 0.05 (δ = {DELTA})</text>'
        f'<text x="14" y="135" transform="rotate(-90 14 135)" text-anchor="middle">ε of all of them</text></svg>\n')


if __name__ == "__main__":
    gain()
    screenshots()
