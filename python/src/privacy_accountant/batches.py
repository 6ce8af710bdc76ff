# SPDX-License-Identifier: Apache-2.0
"""Batches into which every record is dealt at random, and what an epoch of them is charged as.

    deal = RandomAllocation(dataset_size=60000, steps=235)
    noise = gaussian(noise_multiplier=1.1)
    with client.run("team/mnist") as run:
        for epoch in range(60):
            for batch in deal:                # indices of records; there may be none
                deal.cover(run, noise)        # the epoch is charged at its first step
                ...                           # add noise to the sum of the clipped gradients, also to an empty sum

A number for random allocation holds only for batches that were dealt so. Here the same object
deals the batches and says what to report, so the two cannot differ.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import secrets
import sys
import warnings
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from . import proto as pb
from ._fields import event
from ._kinds import random_allocation
from ._whole import whole

if TYPE_CHECKING:
    import numpy

__all__ = ["RandomAllocation", "padded", "with_empty"]


class _Run(Protocol):
    def step(self, mechanism: pb.Mechanism, count: int = 1) -> None: ...

    def _prepare(self, mechanism: pb.Mechanism, count: int = 1) -> None: ...


class RandomAllocation:
    """Deals the records 0 … dataset_size−1 into the batches of an epoch.

    Each record is in `selected` of the `steps` batches. All choices are as likely, and
    independent of those for other records and for other epochs. So batches have different
    sizes, and one may be empty: its step still adds its noise, and a mean is a sum divided by
    a public number such as dataset_size·selected/steps.

    Every `iter` begins an epoch, with a choice of its own; what an unfinished epoch has left is
    not dealt any more. An epoch of which no batch was taken goes on instead, because a DataLoader
    with workers calls `iter` twice for each of its epochs. The object serves as the batch_sampler of a
    PyTorch DataLoader, with any number of workers: the batches are dealt in the process that iterates.
    For one process: the ranks of a distributed training would each deal every record.

    The choice comes from the operating system's randomness. Who can predict or learn it has no
    amplification to overcome, so keep it as private as the data.
    seed: for tests only, NOT private: the same batches every time.
    """

    def __init__(self, dataset_size: int, steps: int, selected: int = 1, *, seed: int | None = None) -> None:
        self.dataset_size, self.steps = whole("dataset_size", dataset_size, 1), whole("steps", steps, 1)
        self.selected = whole("selected", selected, 1, self.steps)
        if seed is not None:
            seed = whole("seed", seed)
            warnings.warn(f"seed: {seed}: whoever knows it knows the batches, and what is charged for them does not "
                          "hold; allowed: no seed, except in tests", UserWarning, stacklevel=2)
        self.epoch = 0  # how many were begun
        self._seed = seed
        self._key: bytes | None = None  # what the epoch's choice follows from
        self._batches: list[array[int]] = []
        self._dealt = self.steps  # how many batches of the epoch were handed out
        self._covered = self.steps  # how many of its steps were covered
        self._charged: bytes | None = None  # what its steps run, if it was charged
        self._going_on = False  # the next iteration goes on with this epoch: it was loaded, or no batch was taken

    def __len__(self) -> int:
        return self.steps

    def __repr__(self) -> str:
        seed = "" if self._seed is None else f", seed={self._seed} (NOT private)"
        return f"RandomAllocation({self.dataset_size}, steps={self.steps}, selected={self.selected}{seed})"

    def __iter__(self) -> Iterator[list[int]]:
        if not self._going_on:
            self._begin()
        self._going_on = True
        return self._rest(self.epoch)

    def _begin(self) -> None:
        self.epoch += 1
        # A key for each epoch, from which no other epoch's follows: a stolen state tells one choice only,
        # and two jobs that go on from one state do not make the same choices.
        self._key = secrets.token_bytes(32) if self._seed is None else _hash(f"{self._seed}/{self.epoch}".encode(), 32)
        self._batches = _deal(self._key, self.dataset_size, self.steps, self.selected)
        self._dealt = self._covered = 0
        self._charged = None

    def _rest(self, epoch: int) -> Iterator[list[int]]:
        while True:
            if epoch != self.epoch:
                raise RuntimeError(f"the batches of epoch {epoch} are asked for after epoch {self.epoch} began; "
                                   "allowed: one epoch after the other")
            if self._dealt >= self.steps:
                return
            self._dealt += 1
            self._going_on = False
            yield list(self._batches[self._dealt - 1])

    # What to report

    def event(self, mechanism: pb.Mechanism, epochs: int = 1) -> pb.Event:
        """What so many epochs are reported as; a PLAN for them has exactly this.

        mechanism: what each step runs on its batch, such as gaussian(noise_multiplier=1.1).
        """
        selected = self.selected if self.selected > 1 else None
        return event(random_allocation(mechanism, steps=self.steps, selected=selected), epochs)

    def cover(self, run: _Run, mechanism: pb.Mechanism) -> None:
        """Covers a step that runs mechanism on the next batch; call it before the noise is drawn.

        The epoch's first step charges the whole epoch to the run, as `event` says, and the others
        are covered with it. If it raises, the step is not covered: do not release its noise.
        """
        runs = mechanism.SerializeToString(deterministic=True)
        if self._covered >= self._dealt:
            raise ValueError(f"cover: step {self._covered + 1} of an epoch of which {self._dealt} batches were dealt; "
                             "allowed: one step on each batch, since a batch that is used twice costs more")
        if self._charged is None:
            run.step(self.event(mechanism).mechanism)
            self._charged = runs
        elif self._charged != runs:
            raise ValueError("mechanism: not that of the epoch's first step, for which the epoch was charged; "
                             "allowed: the same one for a whole epoch")
        self._covered += 1

    def _prepare(self, run: _Run, mechanism: pb.Mechanism) -> None:
        """Sets aside the epoch of the next step, as Run._prepare does, unless that is charged already."""
        if self._charged is None or self._covered >= self.steps:
            run._prepare(self.event(mechanism).mechanism)

    # Going on after an interruption

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch stands, as JSON can hold it.

        It counts the batches whose steps were covered, or, without `cover`, those that were handed
        out. It holds the secret choice of the epoch that is under way: keep it as private as the data.
        """
        done = self._covered if self._charged is not None else self._dealt
        over = done >= self.steps
        return {"dataset_size": self.dataset_size, "steps": self.steps, "selected": self.selected,
                "epoch": self.epoch, "done": done, "key": None if over or self._key is None else self._key.hex(),
                "charged": None if over or self._charged is None else self._charged.hex()}

    def load_state_dict(self, state: Mapping[str, Any], *, go_on: bool = False) -> None:
        """Takes up a state. The next iteration begins a new epoch, with a choice of its own.

        go_on=True: the next iteration goes on with the epoch that was under way. It is not charged
        again, so it asserts that no step after this state was run, not even by a job that crashed: a
        record would take part twice. Save the state before each step's noise is drawn, and it is so.
        """
        for name in ("dataset_size", "steps", "selected"):
            if state[name] != getattr(self, name):
                raise ValueError(f"state: {name} is {state[name]}, and here {getattr(self, name)}; allowed: the state "
                                 "of an equal RandomAllocation")
        self.epoch, done = whole("epoch", state["epoch"]), whole("done", state["done"], 0, self.steps)
        self._dealt = self._covered = self.steps
        self._charged, self._batches, self._key, self._going_on = None, [], None, False
        if go_on and state["key"] is not None:
            self._key = bytes.fromhex(state["key"])
            self._batches = _deal(self._key, self.dataset_size, self.steps, self.selected)
            self._dealt = self._covered = done
            self._charged = None if state["charged"] is None else bytes.fromhex(state["charged"])
            self._going_on = True


def padded(batch: Sequence[int], size: int) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """The batch in parts of one size, each with a mask that is False where a part is filled up with the index 0.

    A compiled function, as of JAX, wants one shape: let it sum the clipped gradients where the mask is True,
    add the parts up, and draw the step's noise once. There is always a part, also of an empty batch.
    No record is left out: cutting a batch off would be another mechanism. Needs NumPy.
    """
    import numpy

    size = whole("size", size, 1, 2**31)
    for at in range(0, max(1, len(batch)), size):
        part = batch[at:at + size]
        given = numpy.asarray(part)
        if given.dtype.kind not in "iu" or (given < 0).any():  # NumPy would cut floats
            part = [whole("batch", index) for index in part]
        yield (numpy.array([*part, *[0] * (size - len(part))], dtype=numpy.int64),
               numpy.arange(size) < len(part))


def with_empty(collate: Callable[[list[Any]], Any], example: Any) -> Callable[[list[Any]], Any]:
    """A collate_fn for DataLoader that takes an empty batch too, where collate fails on it.

    example: a record, such as dataset[0]. An empty batch has its types and shapes, and no rows.
    """
    return functools.partial(_collate, collate, example)


def _collate(collate: Callable[[list[Any]], Any], example: Any, records: list[Any]) -> Any:
    return collate(records) if records else _no_rows(collate([example]))


def _no_rows(batch: Any) -> Any:
    """The batch without its rows: within tuples, lists and dictionaries every array or tensor has them first."""
    if isinstance(batch, dict):
        return {k: _no_rows(v) for k, v in batch.items()}
    if isinstance(batch, (tuple, list)):
        parts = [_no_rows(v) for v in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    if not hasattr(batch, "shape"):
        raise TypeError(f"with_empty: a batch with a {type(batch).__name__} in it; allowed: arrays and tensors, in "
                        "tuples, lists and dictionaries")
    return batch[:0]


def dealt_by(batches: Any) -> RandomAllocation | None:
    """The RandomAllocation that deals these batches: itself, or a DataLoader's batch_sampler."""
    for dealer in (batches, getattr(batches, "batch_sampler", None)):
        if isinstance(dealer, RandomAllocation):
            return dealer
    return None


def shuffles(loader: Any) -> bool:
    """Whether this is a PyTorch DataLoader that shuffles its data and cuts it into batches."""
    kind = type(getattr(loader, "sampler", None))
    return kind.__name__ == "RandomSampler" and kind.__module__.startswith("torch.")


def refuse_repeats(loader: Any) -> None:
    """Raises if PyTorch's sampler may put a record into one batch several times: it then contributes several clipping
    norms, and no report of one is true."""
    sampler: Any = getattr(loader, "sampler", None)
    kinds = [kind.__name__ for kind in type(sampler).__mro__ if kind.__module__.startswith("torch.")]
    if not {"RandomSampler", "WeightedRandomSampler"} & set(kinds):
        return
    why = "draws with replacement" if getattr(sampler, "replacement", False) else ""
    draws, records = getattr(sampler, "num_samples", 0), len(getattr(sampler, "data_source", range(2**53)))
    if draws > records:
        why = why or f"draws {draws} times from {records} records"
    if why:
        raise ValueError(f"sampler: {kinds[0]} {why}, so that a record may be in one batch several times, and "
                         "contributes as often; allowed: replacement=False with at most as many draws as records, "
                         "Poisson samples (of Opacus with poisson_sampling=True, which has no weights), or a "
                         "RandomAllocation as the DataLoader's batch_sampler")


def _deal(key: bytes, records: int, steps: int, selected: int) -> list[array[int]]:
    """Each record into `selected` of the steps, uniformly (Floyd's algorithm for a random subset)."""
    batches: list[array[int]] = [array("Q") for _ in range(steps)]
    words = _words(key)
    for record in range(records):
        chosen: set[int] = set()
        for last in range(steps - selected, steps):
            step = _below(last + 1, words)
            chosen.add(last if step in chosen else step)
        for step in chosen:
            batches[step].append(record)
    return batches


def _below(n: int, words: Iterator[int]) -> int:
    """A uniform one of 0 … n−1, exactly: a word beyond the last multiple of n is not used."""
    last = 2**64 - 2**64 % n
    for word in words:
        if word < last:
            return word % n
    raise AssertionError("the words have no end")


def _words(key: bytes) -> Iterator[int]:
    """Random 64-bit words without an end: SHAKE-256 of the key and a counter."""
    for block in itertools.count():
        words = array("Q", _hash(key + block.to_bytes(8, "big"), 1 << 16))
        if sys.byteorder == "big":
            words.byteswap()
        yield from words


def _hash(of: bytes, length: int) -> bytes:
    return hashlib.shake_256(b"privacy_accountant.batches\0" + of).digest(length)
