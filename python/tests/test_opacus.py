# SPDX-License-Identifier: Apache-2.0
"""Opacus: what its optimizers do is what the ledger has. Run by make test-frameworks."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Daemon

pytestmark = pytest.mark.frameworks
torch = pytest.importorskip("torch")
opacus = pytest.importorskip("opacus")

from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402
from torch.utils.data import DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler  # noqa: E402

import privacy_accountant.opacus as remote  # noqa: E402
from privacy_accountant import (  # noqa: E402
    BudgetExceeded, Client, Closed, FailedPrecondition, NotFound, event, gaussian, workload,
)
from privacy_accountant import proto as pb  # noqa: E402
from privacy_accountant.batches import RandomAllocation, with_empty  # noqa: E402

warnings.filterwarnings("ignore", message="Secure RNG turned off")
warnings.filterwarnings("ignore", message="Full backward hook")
warnings.filterwarnings("ignore", message="Optimal order is the")

RATE, NOISE, LENGTH = 1 / 8, 1.1, 8
STEP = remote.step_mechanism(noise_multiplier=NOISE, sample_rate=RATE)


class Job:
    """A small model, its data and an engine on a new ledger."""

    def __init__(self, client: Client, spec: dict[str, Any] | None = None, workers: int = 0, mode: str = "hooks",
                 **private: Any) -> None:
        torch.manual_seed(1)
        self.client = client
        self.ledger = client.create_ledger(f"o/{uuid.uuid4()}", private.pop("adjacency", "add-or-remove-one"),
                                           **({"plan": (STEP, 1000)} if spec is None else spec)).spec.name
        remote.connect(self.ledger, client=client)
        self.engine = opacus.PrivacyEngine(accountant="remote")
        data = TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,)))
        model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        args: dict[str, Any] = {
            "module": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
            "criterion": torch.nn.CrossEntropyLoss(),
            "data_loader": private.pop("data_loader", None) or DataLoader(data, batch_size=64 // LENGTH,
                                                                              num_workers=workers),
            "max_grad_norm": 1.0, "grad_sample_mode": mode}
        if "target_epsilon" in private:
            made = self.engine.make_private_with_epsilon(**args, **private)
        else:
            made = self.engine.make_private(**args, noise_multiplier=private.pop("noise_multiplier", NOISE), **private)
        self.criterion = made[2] if mode == "ghost" else torch.nn.CrossEntropyLoss()
        self.model, self.optimizer, self.loader = made[0], made[1], made[-1]
        self.steps = 0

    def one(self, x: Any, y: Any) -> None:
        self.optimizer.zero_grad()
        self.criterion(self.model(x), y).backward()
        self.optimizer.step()
        self.steps += 1

    def epoch(self) -> None:
        for x, y in self.loader:
            self.one(x, y)

    def weights(self) -> Any:
        return torch.cat([p.detach().flatten().clone() for p in self.model.parameters()])

    def charged(self) -> dict[str, int]:
        """What the ledger has, by mechanism."""
        self.engine.accountant.run.flush()
        counts: dict[str, int] = {}
        for entry in self.client.entries(self.ledger):
            for e in getattr(entry,
                             entry.WhichOneof("action")).events if entry.WhichOneof("action") in ("charge",
                                                                                                  "commit") else ():
                counts[str(e.mechanism)] = counts.get(str(e.mechanism), 0) + e.count
        return counts


@pytest.fixture(autouse=True)
def closed_afterwards(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[Any] = []
    start = remote.RemoteAccountant.__init__

    def init(self: Any) -> None:
        start(self)
        made.append(self)

    monkeypatch.setattr(remote.RemoteAccountant, "__init__", init)
    yield
    for accountant in made:
        accountant.close()


@pytest.mark.parametrize("mode", ["hooks", "functorch", "ghost"])
def test_every_step_is_in_the_ledger(client: Client, mode: str) -> None:
    job = Job(client, mode=mode)
    for _ in range(3):
        job.epoch()
    assert job.charged() == {str(STEP): job.steps} and job.steps == 3 * LENGTH
    assert job.engine.get_epsilon(1e-5) == client.epsilon(job.ledger, 1e-5)
    assert len(job.engine.accountant) == job.steps
    # Opacus's own accountant, told the same, has a larger bound: a sanity check of units.
    own = opacus.accountants.RDPAccountant()
    own.history = [(NOISE, RATE, job.steps)]
    exact = client.epsilon(workload((STEP, job.steps), adjacency="add-or-remove-one"), 1e-5)
    assert 0.5 * own.get_epsilon(1e-5) < exact < own.get_epsilon(1e-5)


def test_spent_epsilon_follows_the_training(client: Client) -> None:
    job = Job(client)
    accountant = job.engine.accountant
    seen = []
    for epoch in (1, 2):
        job.epoch()
        spent = accountant.spent_epsilon(1e-5)
        done = workload((STEP, epoch * LENGTH), adjacency="add-or-remove-one")
        assert spent == pytest.approx(client.epsilon(done, 1e-5), rel=1e-6)
        assert "the parameters and the number of steps were fixed before any result was seen" in repr(spent)
        seen.append(spent)
        assert job.engine.get_epsilon(1e-5) == client.epsilon(job.ledger, 1e-5) > spent  # the plan's, all along
    assert seen[0] < seen[1]
    accountant.close()
    assert accountant.spent_epsilon(1e-5) == seen[1]  # also afterwards


def test_the_rate_is_rounded_up_to_the_samplers_grid() -> None:
    q = remote.step_mechanism(noise_multiplier=1, sample_rate=1 / 12).poisson_sampled.sampling_probability
    assert 1 / 12 < q < 1 / 12 + 2**-24 and (q * 2**24).is_integer()
    grid = torch.arange(2**24 // 12 - 2, 2**24 // 12 + 4, dtype=torch.float64).mul(2.0**-24).float()
    below = 2**24 // 12 - 2 + int((grid < 1 / 12).sum())  # how many of all numbers that torch.rand makes
    assert below / 2**24 == q
    assert (torch.rand(10000) * 2**24 % 1 == 0).all()


def test_empty_batches_count(client: Client) -> None:
    job = Job(client)
    empty = 0
    for x, y in job.loader:
        x, y = (x[:0], y[:0]) if job.steps % 2 else (x, y)
        empty += len(x) == 0
        job.one(x, y)
    assert empty >= LENGTH // 2 and job.charged() == {str(STEP): LENGTH}


@pytest.mark.parametrize(("adjacency", "noise"), [("add-or-remove-one", NOISE / 2), ("zero-out", NOISE)])
def test_without_poisson_sampling(client: Client, adjacency: str, noise: float) -> None:
    plain = gaussian(noise_multiplier=noise)
    assert plain == remote.step_mechanism(noise_multiplier=NOISE, sample_rate=1 / LENGTH, poisson=False,
                                          adjacency=adjacency)
    with pytest.warns(UserWarning, match="without amplification"):
        job = Job(client, {"plan": (plain, 100)}, adjacency=adjacency, poisson_sampling=False)
    job.epoch()
    assert job.charged() == {str(plain): LENGTH}


@pytest.mark.parametrize("adjacency", ["add-or-remove-one", "zero-out"])
@pytest.mark.parametrize("dealt", [False, True])
def test_noise_is_calibrated_for_what_is_drawn(client: Client, adjacency: str, dealt: bool) -> None:
    # What is charged comes to the target. Shuffled batches need more noise than Poisson samples.
    data = TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,)))
    deal = RandomAllocation(64, LENGTH)
    batches: dict[str, Any] = {"batch_sampler": deal} if dealt else {"batch_size": 64 // LENGTH, "shuffle": True}
    target = {"target_epsilon": 4.0, "target_delta": 1e-5, "epochs": 3}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*without amplification")
        job = Job(client, {}, adjacency=adjacency, poisson_sampling=False, data_loader=DataLoader(data, **batches),
                  **target)
    noise = job.optimizer.noise_multiplier
    for _ in range(3):
        job.epoch()
    counts = job.charged()
    step = remote.step_mechanism(noise_multiplier=noise, sample_rate=1 / LENGTH, poisson=False, adjacency=adjacency)
    assert counts == ({str(deal.event(gaussian(noise_multiplier=noise)).mechanism): 3} if dealt else
                      {str(step): 3 * LENGTH})
    assert 3.9 < client.epsilon(job.ledger, 1e-5) <= 4.0
    if not dealt:
        assert noise > Job(client, {}, adjacency=adjacency, **target).optimizer.noise_multiplier


def test_no_step_is_left_out_of_a_calibration(client: Client) -> None:
    # Opacus plans for int(3/(1/75)) = 224 steps of 225.
    assert int(3 / (1 / 75)) == 224
    data = TensorDataset(torch.randn(75, 5), torch.randint(0, 3, (75,)))
    job = Job(client, {}, data_loader=DataLoader(data, batch_size=1), target_epsilon=1.0, target_delta=1e-5, epochs=3,
              epsilon_tolerance=1e-4)
    step = remote.step_mechanism(noise_multiplier=job.optimizer.noise_multiplier, sample_rate=1 / 75)
    assert client.epsilon(workload((step, 225), adjacency="add-or-remove-one"), 1e-5) <= 1.0


def test_one_record_less_moves_the_others() -> None:
    # Why the noise counts half under add-or-remove-one: without the first of 64 records each batch of eight has lost
    # one and got another, with gradients that may point the other way.
    sums = []
    for records in (range(64), range(1, 64)):
        ones = torch.tensor([(-1.0) ** (i // 8) for i in records])
        sums.append([x.sum().item() for (x,) in DataLoader(TensorDataset(ones), batch_size=8)])
    assert max(abs(a - b) for a, b in zip(*sums)) == 2.0


def weighted(replacement: bool = True, draws: int = 128) -> Any:
    """The loader of opacus#813: 16 records a batch, drawn with weights from 10,000."""
    sampler = WeightedRandomSampler(torch.ones(10_000), num_samples=draws, replacement=replacement)
    data = TensorDataset(torch.randn(10_000, 5), torch.randint(0, 3, (10_000,)))
    return DataLoader(data, batch_size=16, sampler=sampler)


def test_weights_and_poisson_sampling(client: Client) -> None:
    # Opacus puts Poisson samples in the place of the weights, with the rate 1/len(loader) = 1/8 where the user may
    # think of 16/10,000. The ledger has what is drawn.
    drawn = remote.step_mechanism(noise_multiplier=NOISE, sample_rate=1 / 8)
    job = Job(client, {"plan": (drawn, 8)}, data_loader=weighted())
    assert job.loader.batch_sampler.sample_rate == 1 / 8
    sizes = [len(x) for x, _ in job.loader]
    # Binomial(10,000, 1/8) eight times: mean 10,000, standard deviation 94; seven of them are passed once in 4e11.
    assert abs(sum(sizes) - 10_000) < 7 * 94
    job.epoch()
    assert job.charged() == {str(drawn): 8}


def test_draws_with_replacement_are_refused(client: Client) -> None:
    few = torch.zeros(64)
    few[0] = 1.0
    data = TensorDataset(torch.arange(64.0), torch.zeros(64))
    loader = DataLoader(data, batch_size=8, sampler=WeightedRandomSampler(few, 64))
    assert all((x == 0).all() for x, _ in loader)  # one record, eight times in a batch: eight clipping norms
    job = Job(client)
    twice = DataLoader(data, batch_size=8, sampler=RandomSampler(data, num_samples=100))
    for bad in (loader, DataLoader(data, batch_size=8, sampler=RandomSampler(data, replacement=True)), twice):
        for attempt in (lambda b: remote.attach(job.optimizer, client.run(job.ledger), b),
                        lambda b: remote.attach(job.optimizer, client.run(job.ledger), b, sample_rate=0.125),
                        lambda b: client.run(job.ledger).over(b, STEP)):
            with pytest.raises(ValueError, match="a record may be in one batch several times"):
                attempt(bad)
    with pytest.raises(ValueError, match="WeightedRandomSampler draws with replacement"):
        Job(client, data_loader=weighted(), poisson_sampling=False)
    with pytest.warns(UserWarning, match="two clipping norms"):
        Job(client, data_loader=weighted(replacement=False), poisson_sampling=False)


def test_whole_numbers_of_torch() -> None:
    assert event(STEP, torch.tensor(3)) == event(STEP, 3)
    for bad in (torch.tensor(True), torch.tensor(3.0), torch.tensor(2.5), torch.tensor([1, 2])):
        with pytest.raises(TypeError, match="whole number"):
            event(STEP, bad)
    with pytest.raises(ValueError, match="iterations: 1.5; allowed: a whole number"):
        remote.step_mechanism(noise_multiplier=1, sample_rate=0.5, iterations=1.5)  # type: ignore[arg-type]


def test_the_divisor_tells_the_number_of_records(client: Client) -> None:
    # opacus#819: the divisor of each noisy sum is ⌊records/batches⌋, 6 of 1,000 records in 143 batches and 7 of 1,001,
    # so in many dimensions the size of the noise alone tells which it was. The number says that it assumes otherwise.
    def spread(records: int) -> float:
        data = TensorDataset(torch.zeros(records, 100_000), torch.zeros(records, dtype=torch.long))
        model = torch.nn.Linear(100_000, 1, bias=False)
        engine = opacus.PrivacyEngine()
        model, optimizer, loader = engine.make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0), noise_multiplier=1.0,
            max_grad_norm=1.0, data_loader=DataLoader(data, batch_size=7))
        before = next(model.parameters()).detach().clone()
        x = torch.zeros(1, 100_000)
        model(x).sum().backward()
        optimizer.step()
        return float((next(model.parameters()).detach() - before).std())

    # The standard deviation of 100,000 normal numbers is within 1 % with probability 1 − 1e-5 (χ²).
    assert spread(1000) == pytest.approx(1 / 6, rel=0.01) and spread(1001) == pytest.approx(1 / 7, rel=0.01)
    job = Job(client)
    assert "if the number of records is public" in repr(job.engine.get_epsilon(1e-5))
    assert type(Job(client, adjacency="zero-out").engine.get_epsilon(1e-5)) is float


def test_shuffled_data(client: Client) -> None:
    job = Job(client)
    loader = DataLoader(TensorDataset(torch.zeros(64, 5)), batch_size=8, shuffle=True)
    run = client.run(job.ledger)
    with pytest.warns(UserWarning, match="shuffles the data and cuts it into batches.*without amplification"):
        remote.attach(job.optimizer, run, loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_random_allocation(client: Client, workers: int) -> None:
    deal = RandomAllocation(64, 40)  # so some batches are empty
    noise = gaussian(noise_multiplier=NOISE)
    data = TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,)))
    collate = with_empty(torch.utils.data.default_collate, data[0])
    loader = DataLoader(data, batch_sampler=deal, collate_fn=collate, num_workers=workers)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*without amplification")
        job = Job(client, {"plan": deal.event(noise, 3)}, poisson_sampling=False, data_loader=loader)
    for _ in range(3):
        job.epoch()
    assert job.steps == 120 and job.charged() == {str(deal.event(noise).mechanism): 3}
    with pytest.raises(BudgetExceeded):
        job.epoch()
    assert job.steps == 120


def test_accumulated_batches(client: Client) -> None:
    twice = remote.step_mechanism(noise_multiplier=NOISE, sample_rate=1, iterations=2, poisson=False)
    assert NOISE / 4 * (1 - 1e-15) <= twice.gaussian.noise_multiplier < NOISE / 4
    with pytest.warns(UserWarning):
        job = Job(client, {"plan": (twice, 100)}, poisson_sampling=False)
    for i, (x, y) in enumerate(job.loader):
        job.criterion(job.model(x), y).backward()
        if i % 2:
            job.optimizer.step()
            job.optimizer.zero_grad()
    assert job.charged() == {str(twice): LENGTH // 2}


def test_virtual_batches_are_one_step(client: Client) -> None:
    job = Job(client)
    physical = 0
    with BatchMemoryManager(data_loader=job.loader, max_physical_batch_size=3, optimizer=job.optimizer) as loader:
        for x, y in loader:
            job.one(x, y)
            physical += 1
    assert physical > LENGTH and job.charged() == {str(STEP): LENGTH}


def test_a_changing_noise_multiplier(client: Client) -> None:
    job = Job(client, {"budgets": [{"epsilon": 50, "delta": 1e-5, "guard": "rdp", "order": 4}]})
    schedule = opacus.schedulers.ExponentialNoise(job.optimizer, gamma=0.9)
    for _ in range(3):
        job.epoch()
        schedule.step()
    assert sorted(job.charged().values()) == [LENGTH] * 3


def test_a_refusal_leaves_the_weights(client: Client) -> None:
    job = Job(client, {"plan": (STEP, 10)})
    with pytest.raises(BudgetExceeded):
        while True:
            before = job.weights()
            job.epoch()
            before = job.weights()
    after = job.weights()
    with pytest.raises(BudgetExceeded):
        job.epoch()
    assert torch.equal(after, job.weights()) and not torch.equal(before, after)
    assert all(p.grad is None for p in job.model.parameters())  # its noise is gone
    assert job.charged() == {str(STEP): 10}


def test_a_replaced_hook_is_noticed(client: Client) -> None:
    job = Job(client)
    job.epoch()
    job.optimizer.attach_step_hook(lambda optimizer: None)
    before = job.weights()
    with pytest.raises(Closed, match="hook was replaced"):
        job.epoch()
    assert torch.equal(before, job.weights())


def test_an_optimizer_that_exists(client: Client) -> None:
    job = Job(client)
    seen = []
    job.optimizer.attach_step_hook(lambda optimizer: seen.append(1))
    job.optimizer.original_optimizer._optimizer_step_pre_hooks.clear()
    with client.run(job.ledger) as run:
        remote.attach(job.optimizer, run, job.loader)
        job.epoch()
    assert run.steps == len(seen) == LENGTH and client.get_ledger(job.ledger).total_count == LENGTH
    with pytest.raises(Closed):
        job.epoch()


def test_with_a_target(client: Client) -> None:
    job = Job(client, {}, target_epsilon=3.0, target_delta=1e-5, epochs=4)
    for _ in range(4):
        job.epoch()
    assert 2.9 < job.engine.get_epsilon(1e-5) <= 3.0
    rdp = opacus.accountants.utils.get_noise_multiplier(target_epsilon=3.0, target_delta=1e-5, sample_rate=RATE,
                                                        epochs=4, accountant="rdp")
    assert job.optimizer.noise_multiplier < rdp  # less noise for the same promise


def test_checkpoints(client: Client, tmp_path: Any) -> None:
    job = Job(client)
    job.epoch()
    job.engine.save_checkpoint(path=tmp_path / "c", module=job.model, optimizer=job.optimizer)
    assert client.get_ledger(job.ledger).total_count == LENGTH  # flushed
    saved = torch.load(tmp_path / "c", weights_only=False)["privacy_accountant_state_dict"]
    assert dict(saved) == {"history": [(NOISE, RATE, LENGTH)], "mechanism": "remote"}
    job.epoch()
    job.engine.accountant.close()
    assert job.engine.get_epsilon(1e-5) == client.epsilon(job.ledger, 1e-5)  # also afterwards

    fresh = opacus.PrivacyEngine(accountant="remote")
    fresh.accountant.load_state_dict(saved)
    assert fresh.accountant.get_epsilon(1e-5) == client.epsilon(job.ledger, 1e-5)
    fresh.accountant.step(noise_multiplier=NOISE, sample_rate=RATE)
    fresh.accountant.run.flush()
    assert fresh.accountant.run.steps == LENGTH + 1  # the job's count goes on from its checkpoint
    assert client.get_ledger(job.ledger).total_count == 2 * LENGTH + 1  # and the ledger has all


def test_worker_processes(client: Client) -> None:
    job = Job(client, workers=2)  # forked from a process with an open run
    for _ in range(2):
        job.epoch()
    assert job.charged() == {str(STEP): 2 * LENGTH}


def test_not_connected(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.delenv("ACCOUNTANT_LEDGER", raising=False)
    with pytest.raises(ValueError, match="ACCOUNTANT_LEDGER"):
        remote.connect()
    with pytest.raises(ValueError, match="connect"):
        remote.RemoteAccountant()
    with pytest.raises(NotFound, match="none"):  # not at the first step
        remote.connect("none", client=client)
    with pytest.raises(NotFound, match="none"):
        remote.connect("none", server=client.server)
    ledger = client.create_ledger(f"c/{uuid.uuid4()}", "add-or-remove-one").spec.name
    remote.connect(ledger, server=client.server)
    client.close_ledger(ledger)
    with pytest.raises(FailedPrecondition, match="closed"):
        remote.connect(ledger, client=client)
    for bad in ({"noise_multiplier": 0, "sample_rate": 0.5}, {"noise_multiplier": 1, "sample_rate": 0}):
        with pytest.raises(ValueError, match="allowed"):
            remote.step_mechanism(**bad)  # type: ignore[arg-type]


def worker(rank: int, address: str, ledger: str, rendezvous: str, count: int) -> None:
    """One rank of a DDP job."""
    import torch.distributed as dist
    from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP

    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    with Client(address, deadline=60) as client:
        remote.connect(ledger, client=client)
        engine = opacus.PrivacyEngine(accountant="remote")
        torch.manual_seed(3)
        model = DPDDP(torch.nn.Linear(5, 3))
        data = TensorDataset(torch.randn(64, 5), torch.randint(0, 3, (64,)))
        private, optimizer, loader = engine.make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=DataLoader(data, batch_size=8),
            noise_multiplier=NOISE, max_grad_norm=1.0)
        for _ in range(count):
            for x, y in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(private(x), y).backward()
                optimizer.step()
        engine.accountant.close()
    dist.barrier()
    dist.destroy_process_group()


def test_distributed(shared: Daemon, client: Client, tmp_path: Any) -> None:
    ledger = client.create_ledger(f"o/{uuid.uuid4()}", "add-or-remove-one", plan=(STEP, 1000)).spec.name
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.spawn(worker, args=(shared.address, ledger, str(tmp_path / "r"), 2), nprocs=2)
    state = client.get_ledger(ledger)
    assert state.total_count == 2 * LENGTH and len({e.writer for e in client.entries(ledger)}) == 1
    assert isinstance(state, pb.Ledger)


def test_noise_that_is_changed_in_place(client: Client) -> None:
    other = remote.step_mechanism(noise_multiplier=2.0, sample_rate=RATE)
    ledger = client.create_ledger(f"o/{uuid.uuid4()}", "add-or-remove-one",
                                  plan=[(remote.step_mechanism(noise_multiplier=4.0, sample_rate=RATE), 9),
                                        (other, 9)]).spec.name
    remote.connect(ledger, client=client)
    accountant = opacus.accountants.create_accountant("remote")
    noise = torch.tensor(4.0)
    for _ in range(2):
        accountant.step(noise_multiplier=noise, sample_rate=RATE)
        noise /= 2
    accountant.close()
    assert [p.spent for p in client.get_ledger(ledger).plan] == [1, 1]
    assert accountant.history == [(4.0, RATE, 1), (2.0, RATE, 1)]
