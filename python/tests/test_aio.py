# SPDX-License-Identifier: Apache-2.0
"""The asyncio client: the same generators carried out, so here is what differs."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest
from conftest import STEP, Daemon, Proxy, plan

from privacy_accountant import AsyncClient, BudgetExceeded, Client, Closed, NotFound, Unavailable
from privacy_accountant import proto as pb

FAST = {"timeout": 6.0, "deadline": 30.0, "backoff_min": 0.01, "backoff_max": 0.1}


def test_the_same_verbs() -> None:
    def verbs(kind: type) -> dict[str, list[str]]:
        return {n: list(inspect.signature(f).parameters) for n,
                f in inspect.getmembers(kind, inspect.isfunction) if not n.startswith("_")}

    blocking, asynchronous = verbs(Client), verbs(AsyncClient)
    assert set(blocking) - set(asynchronous) == {"stream", "new_writer"}
    assert all(blocking[n] == p for n, p in asynchronous.items())


def test_verbs(shared: Daemon, ledger: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncClient(shared.address, **FAST) as client:  # type: ignore[arg-type]
            answers = await asyncio.gather(*(client.report(ledger, STEP) for _ in range(20)))  # one lane, in turn
            assert sorted(a.receipt.sequence for a in answers) == list(range(1, 21))
            assert 0 < await client.epsilon(ledger, 1e-5) < await client.epsilon(ledger, 1e-9)
            assert await client.delta(ledger, 1.0) < 1e-5
            assert len([e async for e in client.entries(ledger, page_size=7)]) == 20
            assert ledger in [x.name async for x in client.ledgers("t/")]
            assert (await client.curve(ledger, points=5)).guarantee == "descriptive"
            assert (await client.get_writer(ledger)).last_sequence == 20
            with pytest.raises(NotFound):
                await client.get_ledger("none")
            states = client.watch(ledger)
            assert (await states.__anext__()).total_count == 20
            await client.close_ledger(ledger)
            assert [s.closed async for s in states][-1]
        with pytest.raises(Closed):
            await client.get_ledger(ledger)
        async with AsyncClient(shared.socket, **FAST) as own:  # type: ignore[arg-type]
            assert await own.backup(tmp_path / "copy") == (tmp_path / "copy").stat().st_size

    asyncio.run(main())


def test_cancelled_and_lost_calls_are_settled(shared: Daemon, proxy: Proxy, client: Client, ledger: str) -> None:
    async def main() -> None:
        async with AsyncClient(proxy.address, **FAST) as far:  # type: ignore[arg-type]
            await far.report(ledger, STEP)
            proxy.hold()
            call = asyncio.ensure_future(far.report(ledger, (STEP, 5)))
            while not far.pending(ledger):  # until the attempt is on its way
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert len(far.pending(ledger)) == 1
            with pytest.raises(Unavailable):
                await far.settle(ledger, deadline=0.2)
            proxy.resume()
            await far.settle(ledger)
            await far.report(ledger, STEP)
        assert client.get_ledger(ledger).total_count == 7

    asyncio.run(main())


def test_run(shared: Daemon, client: Client) -> None:
    ledger = plan(client, 300)

    async def main() -> None:
        async with AsyncClient(shared.address, **FAST) as aio, aio.run(ledger) as run:  # type: ignore[arg-type]
            for _ in range(200):
                await run.step(STEP)
            assert await run.state_dict() == {"ledger": ledger, "steps": 200}
            assert (await run.query(delta=1e-5)).epsilon == await run.epsilon(1e-5)
            with pytest.raises(BudgetExceeded):
                while True:
                    await run.step(STEP)
            assert run.steps == 300

    asyncio.run(main())
    p = client.get_ledger(ledger).plan[0]
    assert (p.spent, p.reserved) == (300, 0)


def test_a_cancelled_step_ends_with_the_run(daemon: Daemon) -> None:
    async def main() -> None:
        async with AsyncClient(daemon.address, **FAST) as aio:  # type: ignore[arg-type]
            ledger = (await aio.create_ledger("p", "add-or-remove-one", plan=(STEP, 1000))).spec.name
            with pytest.raises(asyncio.TimeoutError):
                async with aio.run(ledger, chunk=4) as run:
                    await run.step(STEP)
                    daemon.kill()
                    daemon_is_away = asyncio.gather(*(run.step(STEP) for _ in range(10)))
                    await asyncio.wait_for(daemon_is_away, 0.3)
            daemon.start()
            p: pb.PlanBalance = (await aio.get_ledger(ledger)).plan[0]
            assert 1 <= p.spent + p.reserved <= 1 + 4

    import privacy_accountant.run

    patience, privacy_accountant.run.LEAVE_PATIENCE = privacy_accountant.run.LEAVE_PATIENCE, 0.5
    try:
        asyncio.run(main())
    finally:
        privacy_accountant.run.LEAVE_PATIENCE = patience
