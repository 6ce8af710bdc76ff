# SPDX-License-Identifier: Apache-2.0
"""Random games against a run: whatever happens around it, each step that was made is charged.

The oracle is dumb. It adds up the ledger's entries: what is charged must be the steps whose
step returned, of each mechanism, and more only by what entries say was charged by time or
by a closing, which no run can prevent. RUN_GAMES=n plays n games instead of a few.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Daemon, Lost, Proxy

from privacy_accountant import BudgetExceeded, Client, FailedPrecondition, Unavailable, gaussian, poisson_sampled
from privacy_accountant import proto as pb

Connect = Callable[..., Client]
KINDS = [poisson_sampled(gaussian(noise_multiplier=i), sampling_probability=0.01) for i in (1, 2, 3)]
ROLES: list[dict[str, Any]] = [{}, {}, {}, {}, {}, {"lifetime": 1}, {"strict": "each"}, {"ahead": True}]


def counts(events: Any) -> Counter[bytes]:
    out: Counter[bytes] = Counter()
    for e in events:
        out[e.mechanism.SerializeToString()] += e.count
    return out


class Books:
    """A ledger's entries, added up."""

    def __init__(self, client: Client, ledger: str, other: str) -> None:
        self.run: Counter[bytes] = Counter()  # charged by the run, or for it
        self.extra: Counter[bytes] = Counter()  # of that by time or closing: used or not
        self.open: dict[int, tuple[str, Counter[bytes]]] = {}
        for e in client.entries(ledger):
            kind = e.WhichOneof("action")
            if kind == "reserve":
                self.open[e.position] = e.writer, counts(e.reserve.events)
            elif kind == "charge":
                self.run += counts(e.charge.events) if e.writer != other else Counter()
            elif kind == "commit":
                self.run += counts(e.commit.events) if e.writer != other else Counter()
                self.settle(e.commit.reservation, counts(e.commit.events))
            elif kind == "release":
                del self.open[e.release.reservation]
            elif kind in ("expire", "close"):
                for position in [e.expire.reservation] if kind == "expire" else list(self.open):
                    writer, rest = self.open.pop(position)
                    if writer != other:
                        self.run += rest
                        self.extra += rest

    def settle(self, position: int, part: Counter[bytes]) -> None:
        writer, rest = self.open.pop(position)
        if rest - part:
            self.open[position] = writer, rest - part


class Game:
    def __init__(self, seed: int, daemon: Daemon, proxy: Proxy, connect: Connect) -> None:
        self.draw = draw = random.Random(seed)
        self.daemon, self.proxy = daemon, proxy
        self.other = connect(daemon.address, deadline=60.0)
        self.kinds = KINDS[: draw.randint(1, 3)]
        self.role = draw.choice(ROLES)
        self.chunk = draw.choice([1, 4, 12, 40])
        self.ledger = self.other.create_ledger(
            f"game/{seed}", "add-or-remove-one", plan=[(k, draw.choice([60, 300, 5000])) for k in self.kinds]).spec.name
        mine = connect(proxy.address, deadline=60.0, backoff_min=0.001, backoff_max=0.02)
        self.run = mine.run(self.ledger, chunk=self.chunk, deadline=60.0, **self.role).open()
        self.lossy, self.report = 0.0, mine._rpc["Report"]
        mine._rpc["Report"] = self.lose
        self.made: Counter[bytes] = Counter()
        self.lock = threading.Lock()
        self.hoard: list[int] = []
        self.robbed = self.closed = False
        self.log: list[str] = []

    def lose(self, *args: Any, **options: Any) -> Any:
        """Report, whose requests and answers get lost."""
        if self.draw.random() < self.lossy:
            raise Lost
        answer = self.report(*args, **options)
        if self.draw.random() < self.lossy:
            raise Lost
        return answer

    # What happens

    def steps(self, kinds: list[pb.Mechanism], n: int) -> None:
        for _ in range(n):
            kind, count = self.draw.choice(kinds), self.draw.choice([1, 1, 1, 1, 1, 1, 2, 9])
            try:
                if self.draw.random() < 0.3:
                    count *= self.run.try_step(kind, count)
                else:
                    self.run.step(kind, count)
            except BudgetExceeded:
                continue
            except FailedPrecondition:
                assert self.robbed or self.closed
                continue
            with self.lock:
                self.made[kind.SerializeToString()] += count

    def some_steps(self) -> None:
        self.steps(self.kinds, self.draw.randint(1, 15))

    def threads(self) -> None:
        workers = [threading.Thread(target=self.steps, args=([k], 8)) for k in self.kinds]
        for w in workers:
            w.start()
        for w in workers:
            w.join()

    def flush(self) -> None:
        try:
            self.draw.choice([self.run.flush, self.run.state_dict, lambda: self.run.query(delta=1e-5)])()
        except FailedPrecondition as e:
            assert e.not_written and self.robbed
            return
        self.charged(Counter())

    def impatient_flush(self) -> None:
        try:
            self.run.flush(deadline=self.draw.choice([0.001, 0.01]))
        except Unavailable:
            pass
        except FailedPrecondition as e:
            assert e.not_written and self.robbed

    def rob(self) -> None:
        """Somebody of the same name gives back what the run has set aside, or uses it up."""
        for r in self.other.get_ledger(self.ledger).reservations:
            if r.position in self.hoard:
                continue
            self.robbed = True
            try:
                if self.draw.random() < 0.8:
                    self.other.release(self.ledger, r.position)
                else:
                    part = self.draw.choice(r.rest)
                    self.other.commit(self.ledger, r.position, (part.mechanism, self.draw.randint(1, part.count)))
            except FailedPrecondition:
                pass  # just now ended

    def hoarding(self) -> None:
        """Others set aside what is left, or give it back."""
        if self.hoard:
            while self.hoard:
                self.other.release(self.ledger, self.hoard.pop())
            return
        for p in self.other.get_ledger(self.ledger).plan:
            try:
                n = p.remaining - self.draw.choice([0, 0, 1, 5, 30])
                if n > 0:
                    self.hoard.append(self.other.reserve(self.ledger, (p.mechanism, n), lifetime=3600).receipt.position)
            except BudgetExceeded:
                pass  # just now taken

    def restart(self) -> None:
        self.daemon.kill()
        if self.draw.random() < 0.5:
            self.alone()
        self.daemon.start()

    def cut(self) -> None:
        if self.draw.random() < 0.5:
            self.proxy.hold()
            self.alone()
        self.proxy.cut()

    def alone(self) -> None:
        """Steps without a daemon."""
        for _ in range(self.draw.randint(1, self.chunk)):
            kind = self.draw.choice(self.kinds)
            try:
                self.made[kind.SerializeToString()] += self.run.try_step(kind)
            except FailedPrecondition:
                assert self.robbed or self.closed

    def losses(self) -> None:
        self.lossy = self.draw.choice([0.0, 0.2, 0.4])

    def expiry(self) -> None:
        if self.role.get("lifetime") == 1:
            for state in self.other.watch(self.ledger):
                if not [r for r in state.reservations if r.position not in self.hoard]:
                    return

    def close_ledger(self) -> None:
        if self.draw.random() < 0.3:
            if self.draw.random() < 0.5:
                self.rob()
            self.other.close_ledger(self.ledger)
            self.closed = True

    def play(self) -> None:
        rare = [self.rob, self.hoarding, self.restart, self.cut, self.losses, self.impatient_flush, self.expiry,
                self.close_ledger]
        for _ in range(self.draw.randint(4, 14)):
            for action in (self.some_steps, self.draw.choice([self.threads, self.flush, *rare, *rare])):
                if self.closed and action in (self.rob, self.hoarding, self.expiry, self.close_ledger):
                    continue
                self.log.append(action.__name__)
                action()
                if self.closed and action == self.close_ledger and self.draw.random() < 0.7:
                    return self.end()
        self.end()

    # What must hold

    def end(self) -> None:
        refused: Counter[bytes] = Counter()
        try:
            self.run.close()
        except FailedPrecondition as e:
            assert self.robbed and e.not_written
            for charge in e.not_written:
                refused += counts(charge.events)
        books = self.charged(refused)
        assert self.robbed or not [w for w, _ in books.open.values() if w != self.other.writer]

    def charged(self, refused: Counter[bytes]) -> Books:
        books = Books(self.other, self.ledger, self.other.writer)
        for kind in self.kinds:
            key = kind.SerializeToString()
            made, charged = self.made[key] - refused[key], books.run[key]
            most = made + books.extra[key] + (self.chunk if self.role.get("ahead") else 0)
            assert made <= charged <= most, (made, charged, most)
        return books


@pytest.mark.parametrize("seed", range(int(os.environ.get("RUN_GAMES", "20"))))
def test_what_was_stepped_is_charged(seed: int, daemon: Daemon, connect: Connect) -> None:
    proxy = Proxy(daemon.address)
    game = Game(seed, daemon, proxy, connect)
    try:
        game.play()
    except BaseException:
        print(game.role, game.chunk, len(game.kinds), game.log)
        raise
    finally:
        proxy.close()
