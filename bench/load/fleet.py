# SPDX-License-Identifier: Apache-2.0
"""bbolt and PostgreSQL in turns, with and without a synchronous standby, and with three daemons: make bench-fleet.

Every server runs on this machine, with fsync on. The loads take turns, since what else the machine
does changes from minute to minute; the figures are medians of the rounds. Needs PostgreSQL's programs.
"""

import argparse
import glob
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

STREAMS, REPORTS, FLEET = 63, 100000, 3
SHAPES = [
    (f"{STREAMS} streams, window 256, {STREAMS} ledgers", lambda of: ["--streams", str(STREAMS // of), "--window", "256", "--ledgers", str(STREAMS // of),
                                                                    "--reports", str(REPORTS // of)]),
    ("1 writer a daemon, unary", lambda of: ["--streams", "1", "--unary", "--reports", str(500 // of)]),
]


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]))
    return found[-1] if found else os.path.dirname(shutil.which("postgres"))


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Postgres:
    """A server in a directory of its own; as another user if this one is root."""

    def __init__(self, root, name, of=None):
        self.bin, self.dir, self.port = programs(), os.path.join(root, name), port()
        self.user = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        os.mkdir(self.dir)
        if self.user:
            shutil.chown(self.dir, "postgres", "postgres")
        if of is None:
            self.run("initdb", "-D", self.dir + "/data", "-U", "accountant", "-A", "trust")
        else:
            self.run("pg_basebackup", "-D", self.dir + "/data", "-h", "127.0.0.1", "-p", str(of.port), "-U", "accountant", "-R")
        self.process = subprocess.Popen(
            [self.bin + "/postgres", "-D", self.dir + "/data", "-p", str(self.port), "-k", self.dir,
             "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        self.until("SELECT 1")
        if of is not None:
            of.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            of.sql("SELECT pg_reload_conf()")
            of.until("SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")

    def run(self, program, *args):
        subprocess.run([self.bin + "/" + program, *args], check=True, cwd=self.dir, capture_output=True, **self.user)

    def sql(self, text):
        self.run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "accountant", "-d", "postgres", "-qc", text)

    def until(self, text):
        for _ in range(600):
            try:
                return self.sql(text)
            except subprocess.CalledProcessError:
                time.sleep(0.1)
        raise SystemExit("a PostgreSQL server did not start")

    def url(self, database="postgres"):
        return f"postgres://accountant@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def stop(self):
        self.process.send_signal(2)
        self.process.wait()


class Daemon:
    def __init__(self, command, root, name, *args):
        self.server, http = f"127.0.0.1:{port()}", f"127.0.0.1:{port()}"
        self.http = http
        self.process = subprocess.Popen(
            [command, "--listen", self.server, "--http", http, "--data", os.path.join(root, name), *args],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if "ready" not in self.process.stdout.readline():
            raise SystemExit(f"the daemon {name} did not start")

    def start(self, load, shape):
        return subprocess.Popen([load, "--server", self.server, "--http", self.http, *shape], stdout=subprocess.PIPE, text=True)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def load(daemons, command, shape):
    """The daemons' rates together, and the largest of their medians; each has an equal part of the load and ledgers of its own."""
    out = []
    for process in [d.start(command, shape(len(daemons))) for d in daemons]:
        said, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit("a load failed")
        out.append(json.loads(said))
    return sum(o["reportsPerSecond"] for o in out), max(o["acknowledgedP50Milliseconds"] for o in out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--accountantd", default="bin/accountantd")
    p.add_argument("--load", default="bin/load")
    p.add_argument("--rounds", type=int, default=5)
    a = p.parse_args()
    running = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are stopped
    with tempfile.TemporaryDirectory(prefix="fleet") as root:
        os.chmod(root, 0o755)
        try:
            alone = Postgres(root, "alone")
            running.append(alone)
            primary = Postgres(root, "primary")
            running.append(primary)
            running.append(Postgres(root, "standby", primary))
            alone.sql("CREATE DATABASE shared")
            fleet = f"PostgreSQL, {FLEET} daemons together"
            stores = {"bbolt": [], "PostgreSQL": ["--store", alone.url()], "PostgreSQL with a standby": ["--store", primary.url()],
                      fleet: ["--store", alone.url("shared"), "--signing-key", root + "/signing.key"]}
            daemons = {name: [] for name in stores}
            for name, flags in stores.items():
                for i in range(FLEET if name == fleet else 1):
                    daemons[name].append(Daemon(a.accountantd, root, f"{name.replace(' ', '')}{i}", *flags))
                    running.append(daemons[name][-1])
            for what, shape in SHAPES:
                found = {name: [] for name in daemons}
                for _ in range(a.rounds):
                    for name, of in daemons.items():
                        found[name].append(load(of, a.load, shape))
                for name, rounds in found.items():
                    rate = statistics.median(r for r, _ in rounds)
                    p50 = statistics.median(ms for _, ms in rounds)
                    print(f"| {what} | {name} | {rate:,.0f} | {p50:.2f} |", flush=True)
        finally:
            for r in reversed(running):
                r.stop()


if __name__ == "__main__":
    main()
