# SPDX-License-Identifier: Apache-2.0
"""Opacus: every step of a DPOptimizer covered by a ledger before the weights change.

    privacy_accountant.opacus.connect("team/mnist", server="unix:/run/accountant.sock")
    engine = opacus.PrivacyEngine(accountant="remote")

or, for an optimizer that exists, attach(optimizer, run, data_loader). Written against
Opacus 1.6, whose optimizer adds the noise, calls one hook, and then changes the weights.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from opacus.accountants import IAccountant, register_accountant
from opacus.optimizers import AdaClipDPOptimizer, DPOptimizer
from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler, UniformWithReplacementSampler
from torch import distributed

from . import _verbs as verbs
from . import proto as pb
from ._cover import Kind
from ._fields import enum_value
from ._real import positive, real
from ._whole import whole
from .batches import RandomAllocation, dealt_by, refuse_repeats, shuffles
from .client import Client
from .errors import Closed, FailedPrecondition
from .mechanisms import event, gaussian, poisson_sampled, workload
from .run import Run

__all__ = ["RemoteAccountant", "SpentEpsilon", "StatedEpsilon", "attach", "connect", "step_mechanism"]

_ADD_OR_REMOVE = pb.Workload.ADD_OR_REMOVE_ONE
_GRID = 2.0**24  # Opacus's samplers compare q with multiples of 1/_GRID


def step_mechanism(*, noise_multiplier: float, sample_rate: float, iterations: int = 1, poisson: bool = True,
                   adjacency: str | int = "add-or-remove-one") -> pb.Mechanism:
    """What one step of a DPOptimizer is charged as; a PLAN for it has exactly this.

    sample_rate is rounded up to a multiple of 2⁻²⁴: the sampler compares it with
    single-precision numbers on that grid, which makes the chance of a record that much.
    Without Poisson sampling there is no amplification, and under add-or-remove-one the noise
    counts half: without a record the next one takes its place, and so on, so each batch may have
    one record less and one more, which is two clipping norms. If `iterations` batches were
    accumulated, a record may be in each of them: it is in the step with at most iterations
    times the probability, and contributes at most iterations times the clipping norm.
    """
    noise = positive("noise_multiplier", noise_multiplier, "a positive number, since without noise nothing is private")
    q = real("sample_rate", sample_rate, "a probability in (0, 1]")
    if not 0 < q <= 1:
        raise ValueError(f"sample_rate: {sample_rate}; allowed: a probability in (0, 1]")
    iterations = whole("iterations", iterations, 1)
    if not poisson and enum_value(pb.Workload.Adjacency.DESCRIPTOR, "adjacency", adjacency) == _ADD_OR_REMOVE:
        noise /= 2
    if iterations > 1:
        noise, q = math.nextafter(noise / iterations, 0.0), math.nextafter(q * iterations, 2.0)
    q = math.ceil(q * _GRID) / _GRID
    inner = gaussian(noise_multiplier=noise)
    return poisson_sampled(inner, sampling_probability=q) if poisson and q < 1 else inner


@functools.lru_cache(maxsize=64)
def _step_kind(noise_multiplier: float, sample_rate: float, iterations: int, poisson: bool, adjacency: int) -> Kind:
    return Kind(step_mechanism(noise_multiplier=noise_multiplier, sample_rate=sample_rate, iterations=iterations,
                               poisson=poisson, adjacency=adjacency))


def connect(ledger: str | None = None, *, server: str | None = None, client: Client | None = None, **run: Any) -> None:
    """Makes PrivacyEngine(accountant="remote") charge a ledger; by default that of the
    environment's ACCOUNTANT_LEDGER, of the daemon at ACCOUNTANT_SERVER. run: Run's options.
    A ledger that is missing or closed is an error here, and so is a daemon that does not answer."""
    name = ledger or os.environ.get("ACCOUNTANT_LEDGER")
    if not name:
        raise ValueError("ledger: missing; allowed: a ledger's name, here or in ACCOUNTANT_LEDGER")
    settings = {"ledger": name, "server": server, "client": client, "options": run,
                "adjacency": _find(name, client, server)}
    register_accountant("remote", type("RemoteAccountant", (RemoteAccountant,), {"_settings": settings}), force=True)


def _find(ledger: str, client: Client | None, server: str | None) -> int:
    """The ledger's adjacency. It is asked for now: before a training run begins, not at its first step."""
    if client is not None:
        state = client.get_ledger(ledger)
    else:
        with Client(server) as own:
            state = own.get_ledger(ledger)
    if state.closed:
        raise FailedPrecondition("connect", ledger, "the ledger is closed; allowed: an open one")
    return state.spec.adjacency


class StatedEpsilon(float):
    """An ε under add-or-remove-one, which says when it shows itself what it rests on."""

    assumption = ("if the number of records is public: Opacus divides each noisy sum by a batch size that follows from "
                  "it, rounded down. A ledger with the adjacency zero-out needs no such assumption")

    def __repr__(self) -> str:
        return f"{float(self)!r} ({self.assumption})"


class SpentEpsilon(StatedEpsilon):
    """An ε of what was run so far."""

    assumption = (
        "if the parameters and the number of steps were fixed before any result was seen, and "
        + StatedEpsilon.assumption
    )


class RemoteAccountant(IAccountant):  # type: ignore[misc]
    """Opacus's accountant whose books are a ledger. connect registers it.

    One process reports: under DDP and FSDP every rank calls the hook, and rank 0 covers
    the step. The run begins with the first step and ends with close, or with the process.
    """

    _settings: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []  # Opacus's own: noise multiplier, sample rate, steps
        if not self._settings:
            raise ValueError('accountant: not connected; allowed: privacy_accountant.opacus.connect before '
                             'PrivacyEngine(accountant="remote")')
        self._own: Client | None = None
        self._run: Run | None = None
        self._restored = False

    @property
    def ledger(self) -> str:
        """The ledger's name."""
        return str(self._settings["ledger"])

    @property
    def _adjacency(self) -> int:
        return int(self._settings["adjacency"])

    @property
    def client(self) -> Client:
        """The client that asks and reports."""
        if self._settings["client"] is not None:
            return self._settings["client"]  # type: ignore[no-any-return]
        if self._own is None:
            self._own = Client(self._settings["server"])
        return self._own

    @property
    def run(self) -> Run:
        """The run, begun if it is not."""
        if self._run is None:
            run = self.client.run(self.ledger, **self._settings["options"])
            if self._restored:
                run.steps = len(self)
            self._run = run.open()
        return self._run

    def close(self) -> None:
        """Ends the run: charges what was made, gives back the rest. Questions go on."""
        try:
            if self._run is not None:
                self._run.close()
        finally:
            if self._own is not None:
                self._own.close()
                self._own = None

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Covers a step of a Poisson sample, as the caller says; the hook looks for itself."""
        self._cover(noise_multiplier, sample_rate, 1, True)

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[DPOptimizer], None]:
        """The hook of PrivacyEngine.make_private. What the engine does not tell, whether batches
        are Poisson samples and which optimizer it is for, is read from its frame; if that
        is not as in Opacus 1.6 there is no amplification."""
        caller = sys._getframe(1)
        known = caller.f_locals if caller.f_code.co_name == "make_private" else {}
        loader = known.get("data_loader")
        dealer = dealt_by(loader)
        if dealer is not None:
            hook = _Hook(lambda noise, k: self._cover_dealt(dealer, noise, k))
        else:
            poisson, rate = _sampling(loader, sample_rate, self._adjacency)
            hook = _Hook(lambda noise, k: self._cover(noise, rate, k, poisson))
        optimizer = known.get("optimizer")
        if isinstance(optimizer, DPOptimizer):
            hook.guard(optimizer)
        return hook

    def _cover(self, noise_multiplier: float, sample_rate: float, iterations: int, poisson: bool) -> None:
        # As floats: a tensor may be changed in place, and would be found in the cache as it was.
        noise_multiplier, sample_rate = real("noise_multiplier", noise_multiplier), real("sample_rate", sample_rate)
        self.run.step(_step_kind(noise_multiplier, sample_rate, iterations, poisson, self._adjacency))
        self._note(noise_multiplier, sample_rate * iterations)

    def _cover_dealt(self, dealer: RandomAllocation, noise_multiplier: float, iterations: int) -> None:
        _cover_dealt(self.run, dealer, noise_multiplier, iterations)
        self._note(real("noise_multiplier", noise_multiplier), dealer.selected / dealer.steps)

    def _note(self, noise_multiplier: float, sample_rate: float) -> None:
        """Adds a step to Opacus's own history."""
        last = self.history[-1] if self.history else None
        entry = (noise_multiplier, sample_rate)
        if last is not None and tuple(last[:2]) == entry:
            self.history[-1] = (*entry, last[2] + 1)
        else:
            self.history.append((*entry, 1))

    def get_epsilon(self, delta: float, **question: Any) -> float:
        """ε of the ledger at delta, under its guarantee, with every step made so far. Under add-or-remove-one it is
        a StatedEpsilon, which says what it rests on.

        Before the first step, with a history that was put in (as get_noise_multiplier
        does), ε of that history alone under the ledger's adjacency: as steps on Poisson samples, and for
        make_private_with_epsilon(poisson_sampling=False) as steps on the batches that its loader draws.
        """
        epsilon = self._epsilon(delta)
        return StatedEpsilon(epsilon) if self._adjacency == _ADD_OR_REMOVE else epsilon

    def _epsilon(self, delta: float) -> float:
        if self._run is not None and not self._run.ended:
            return self._run.epsilon(delta)
        if self._run is None and self.history and not self._restored:
            engine = _calibrating()
            steps = [self._planned(engine, noise, rate, n) for noise, rate, n in self.history]
            return self.client.epsilon(workload(steps, adjacency=self._adjacency), delta)
        return self.client.epsilon(self.ledger, delta)

    def _planned(self, engine: Mapping[str, Any], noise: float, rate: float, steps: int) -> pb.Event:
        """Steps that are to be made, as they will be charged. engine: the variables of make_private_with_epsilon, if
        it asks."""
        poisson, rate = True, min(1.0, rate)
        loader = engine.get("data_loader")
        if loader is not None:  # Opacus counts epochs/(1/batches) steps, cut to a whole number: often one less
            epochs = positive("epochs", engine.get("epochs"))
            steps = max(steps, math.ceil(epochs * len(loader)))
            if not engine.get("poisson_sampling", True):
                dealer = dealt_by(loader)
                if dealer is not None:
                    return dealer.event(step_mechanism(noise_multiplier=noise, sample_rate=1), math.ceil(epochs))
                with warnings.catch_warnings():  # make_private warns, once
                    warnings.simplefilter("ignore", UserWarning)
                    poisson, rate = _sampling(loader, rate, self._adjacency)
        return event(step_mechanism(noise_multiplier=noise, sample_rate=rate, poisson=poisson,
                                    adjacency=self._adjacency), steps)

    def spent_epsilon(self, delta: float) -> SpentEpsilon:
        """ε at delta of what was charged to the ledger so far, for a progress bar or a log: it follows the training.

        It is a guarantee only if neither the parameters nor the moment of stopping depended on
        outputs, which its `assumption` says. A job must not stop on it: one that trains until
        this number reaches a target has let outputs (the steps that it could make, the loss that it saw) decide,
        and what holds then is get_epsilon.
        """
        if self._run is not None and not self._run.ended:
            self._run.flush()
        return SpentEpsilon(self.client.query(self.ledger, delta=delta).running)

    def __len__(self) -> int:
        return sum(whole("steps", n) for _, _, n in self.history)

    @classmethod
    def mechanism(cls) -> str:
        return "remote"

    def state_dict(self, destination: Any = None) -> Any:
        """Opacus's history, after every step was charged; neither writer nor sequence."""
        if self._run is not None and not self._run.ended:
            self._run.flush()
        return super().state_dict(destination)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on with a checkpoint's history. The ledger has its steps; what is run again is charged again."""
        super().load_state_dict(state_dict)
        self.history = list(self.history)
        self._restored = True


def attach(optimizer: DPOptimizer, run: Run, data_loader: Any, *, sample_rate: float | None = None) -> None:
    """Covers every step of an optimizer that exists with run, before its present hook.

    data_loader: what it is trained with. Only if that draws Poisson samples, as
    DPDataLoader does, are steps charged as samples of them; if its batch_sampler is a
    RandomAllocation, each epoch is charged as such. sample_rate asserts instead
    that batches are Poisson samples with this probability, for loaders of other kinds.
    """
    dealer = dealt_by(data_loader)
    if dealer is not None and sample_rate is not None:
        raise ValueError(f"sample_rate: {sample_rate}, and batches that a RandomAllocation deals; allowed: one of them")
    refuse_repeats(data_loader)
    poisson, rate = True, 1.0
    client = run._client
    adjacency = client._carry_out(verbs.get_ledger(run._target.names(client, None)[0]), None).spec.adjacency
    if dealer is None:
        poisson, rate = _sampling(data_loader, 1.0, adjacency) if sample_rate is None else (
            True, real("sample_rate", sample_rate))

    def cover(noise_multiplier: float, iterations: int) -> None:
        if dealer is not None:
            _cover_dealt(run, dealer, noise_multiplier, iterations)
        else:
            run.step(_step_kind(real("noise_multiplier", noise_multiplier), rate, iterations, poisson, adjacency))

    hook = _Hook(cover, optimizer.step_hook)
    hook.guard(optimizer)
    optimizer.attach_step_hook(hook)


def _cover_dealt(run: Run, dealer: RandomAllocation, noise_multiplier: float, iterations: int) -> None:
    """Covers a step on the next batch of a RandomAllocation."""
    if iterations != 1:
        raise ValueError(f"accumulated batches: {iterations}; allowed: 1 with a RandomAllocation. Deal fewer steps, "
                         "and cut a batch that is too large for the memory with BatchMemoryManager")
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        raise ValueError(f"ranks: {distributed.get_world_size()}; allowed: 1 with a RandomAllocation, since each rank "
                         "would deal every record")
    dealer.cover(run, step_mechanism(noise_multiplier=noise_multiplier, sample_rate=1))


def _calibrating() -> Mapping[str, Any]:
    """The variables of the make_private_with_epsilon that asks, which does not say what it calibrates for; none if
    something else asks."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "make_private_with_epsilon" and frame.f_globals.get("__name__", "").startswith(
                "opacus."):
            return frame.f_locals
        frame = frame.f_back  # type: ignore[assignment]
    return {}


def _sampling(data_loader: Any, sample_rate: float, adjacency: int) -> tuple[bool, float]:
    """Whether batches are Poisson samples, and with which probability."""
    refuse_repeats(data_loader)
    sampler = getattr(data_loader, "batch_sampler", None)
    if isinstance(sampler, (UniformWithReplacementSampler, DistributedUniformWithReplacementSampler)):
        rate = float(sampler.sample_rate)
        return True, rate if sample_rate >= 1 else max(rate, sample_rate)
    why = "the DataLoader shuffles the data and cuts it into batches, for which no amplification worth having is " \
          "proven" if shuffles(data_loader) else "batches are not known to be Poisson samples"
    twice = ", and for two clipping norms, since one record more or less moves others from batch to batch (under the " \
            "adjacency zero-out for one)" if adjacency == _ADD_OR_REMOVE else ""
    warnings.warn(
        f"{why}, so each step is charged without amplification by sampling{twice}, though Opacus's own accountants "
        "would assume it; allowed for amplification: make_private(poisson_sampling=True), or a "
        "privacy_accountant.batches.RandomAllocation as the DataLoader's batch_sampler", UserWarning, stacklevel=3)
    return False, sample_rate


class _Hook:
    """A DPOptimizer's step hook: it covers the step, or raises, and then the weights stay."""

    def __init__(self, cover: Callable[[float, int], None], then: Callable[[DPOptimizer], None] | None = None) -> None:
        self._cover, self._then = cover, then
        self._covered = False

    def __call__(self, optimizer: DPOptimizer) -> None:
        # Under DDP noise is added on rank 0 only; under FSDP on every rank to its own
        # part. Either way all ranks together make one release.
        if getattr(optimizer, "rank", 0) == 0:
            try:
                self._cover(optimizer.noise_multiplier, optimizer.accumulated_iterations)
            except BaseException:
                for p in optimizer.params:  # the noise is in the gradients already
                    p.grad = None
                    p.summed_grad = None
                raise
        self._covered = True
        if self._then is not None:
            self._then(optimizer)

    def guard(self, optimizer: DPOptimizer) -> None:
        """Refuses steps that the hook did not see: Opacus has one slot for hooks, and
        whoever attaches another takes it."""
        if isinstance(optimizer, AdaClipDPOptimizer):
            warnings.warn("AdaClipDPOptimizer divides a noisy count by the true size of the batch, which its analysis "
                          "does not cover", UserWarning, stacklevel=4)

        def check(*_: object) -> None:
            if not self._covered and any(p.requires_grad for p in optimizer.params):
                raise Closed("step", "",
                             "a step was not covered: the optimizer's step hook was replaced; allowed: attach after "
                             "the other hook")
            self._covered = False

        optimizer.original_optimizer.register_step_pre_hook(check)
