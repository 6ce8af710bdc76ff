# SPDX-License-Identifier: Apache-2.0
"""Canaries: directions that are put among the gradients of a training, to see what its noisy gradients tell of them.

    canaries = GradientCanaries(200, size, guesses=100, norm=10 * clip, sampling_probability=q)
    for … in …:                                    # each step
        gradients = np.concatenate([gradients, canaries.rows()])   # of the batch's examples, one a row
        noisy = privatize(gradients)               # what clips each row, adds them up, and adds noise
        canaries.observe(noisy)
    canaries.record(client, "team/mnist", delta=1e-5)

They are no records: neither the dataset's size nor the batch's, by which the sum is divided, counts them. Each goes
through the training's own clipping, so a norm above the bound shows whether it clips.

Needs NumPy: pip install 'privacy-accountant[numpy]'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._real import positive, real
from ._whole import whole

if TYPE_CHECKING:
    from . import proto as pb
    from .client import Client


class Guessed(NamedTuple):
    """What came of canaries: of inserted coins, how many were guessed at, and how many of the guesses were right."""

    inserted: int
    guesses: int
    correct: int


class GradientCanaries:
    """Random directions of length norm among the size numbers of a gradient. A fair coin of its own decided for each
    whether it is in the training at all. If it is, it takes part in each step with the sampling probability of the
    records, so that it costs what a record costs.

    guesses is decided here, before anything is seen: of so many of the count canaries it will be said whether they
    were in. Of those with the highest scores it is said that they were, and of those with the lowest that they were
    not. seed is for tests; without it the coins are secret."""

    def __init__(self, count: int, size: int, *, guesses: int, norm: float, sampling_probability: float = 1.0,
                 seed: int | None = None) -> None:
        count = whole("count", count, 1, 100_000)
        size, guesses = whole("size", size, 1), whole("guesses", guesses, 1, count)
        norm, rate = positive("norm", norm), real("sampling_probability", sampling_probability)
        if not 0 < rate <= 1:
            raise ValueError(f"sampling_probability: {rate}; allowed: a number > 0 and ≤ 1")
        self._random = np.random.default_rng(None if seed is None else whole("seed", seed))
        directions = self._random.standard_normal((count, size), dtype=np.float32)
        directions *= np.float32(norm) / np.linalg.norm(directions, axis=1, keepdims=True)
        self._directions, self._guesses, self._rate = directions, guesses, rate
        self._in = self._random.integers(2, size=count).astype(bool)
        self._scores = np.zeros(count)

    def rows(self) -> np.ndarray:
        """The gradients of the canaries that take part in the next step, one a row, for the training to clip as it
        clips the gradient of each example."""
        part = self._in & (self._random.random(len(self._in)) < self._rate)
        rows: np.ndarray = self._directions[part]
        return rows

    def observe(self, noisy: Any) -> None:
        """Takes what a step released: the sum of the gradients with its noise, or what it was divided to, in as many
        numbers as each row has."""
        flat = np.asarray(noisy, dtype=np.float64).ravel()
        if len(flat) != self._directions.shape[1]:
            raise ValueError(f"noisy: {len(flat)} numbers; allowed: {self._directions.shape[1]}, the canaries' size")
        self._scores += self._directions @ flat

    def watch(self, optimizer: Any) -> None:
        """Puts the canaries into every step of an Opacus DPOptimizer, and observes what it releases. size is how many
        numbers its parameters have together. Call it once, before the first step."""
        import torch

        params = list(optimizer.params)
        sizes = [p.numel() for p in params]
        if sum(sizes) != self._directions.shape[1]:
            raise ValueError(f"size: {self._directions.shape[1]}; allowed: {sum(sizes)}, as the model has")
        clip, noise = optimizer.clip_and_accumulate, optimizer.add_noise
        due = True  # a step of several physical batches has each canary once

        def clip_with_canaries() -> None:
            nonlocal due
            if due:
                parts = np.split(self.rows(), np.cumsum(sizes)[:-1], axis=1)
                for p, part in zip(params, parts):
                    more = torch.as_tensor(part).reshape(-1, *p.shape).to(p)
                    have = p.grad_sample if isinstance(p.grad_sample, list) else [p.grad_sample]
                    p.grad_sample = torch.cat([*have, more])
                due = False
            clip()

        def noise_and_observe() -> None:
            nonlocal due
            noise()
            self.observe(torch.cat([p.grad.detach().flatten() for p in params]).cpu().numpy())
            due = True

        optimizer.clip_and_accumulate, optimizer.add_noise = clip_with_canaries, noise_and_observe

    def guess(self) -> Guessed:
        """How many of the guesses are right. Of equal scores those count first whose guess is wrong."""
        def right(count: int, scores: np.ndarray, said: bool) -> int:
            order = np.lexsort((self._in == said, -scores))  # by score, then what is wrong
            return int(np.count_nonzero(self._in[order[:count]] == said))

        correct = right((self._guesses + 1) // 2, self._scores, True) + right(self._guesses // 2, -self._scores, False)
        return Guessed(len(self._in), self._guesses, correct)

    def record(self, client: Client, ledger: str, *, delta: float, confidence: float | None = None, reason: str = "",
               deadline: float | None = None) -> pb.WriteResponse:
        """Records what came of them in the ledger that the training was charged to. Its statement says what that
        shows, and warns if the training was not what was reported."""
        return client.observe(ledger, **self.guess()._asdict(), delta=delta, confidence=confidence, reason=reason,
                              deadline=deadline)
