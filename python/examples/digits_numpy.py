# SPDX-License-Identifier: Apache-2.0
"""DP-SGD in plain NumPy, every step in a ledger whose plan nothing can overrun.

    python digits_numpy.py [--server unix:data/accountant.sock] [--steps 500]

It needs a daemon (`make run`) and NumPy. What it shows: a step is covered before its
noise is drawn; the sampling probability, the clipping norm, the divisor and the number of
steps are public constants, none computed from the data. What it does not: noise for
production, which wants a cryptographic generator and integers; and the learning rate was
chosen by trying several on these images, which on private data is a release each.
"""

from __future__ import annotations

import argparse
import uuid

import numpy
from data import load

from privacy_accountant import BudgetExceeded, Client, gaussian, poisson_sampled, round_up

RATE, NOISE, CLIP, BATCH, LEARNING_RATE, DELTA = 0.08, 2.0, 1.0, 120.0, 2.0, 1e-5
STEP = poisson_sampled(gaussian(noise_multiplier=NOISE), sampling_probability=RATE)


def sample(random: numpy.random.Generator, n: int) -> numpy.ndarray:
    """A Poisson sample of n records: the chance of each is RATE rounded down to a multiple of 2⁻⁵³, never more."""
    return random.integers(0, 2**53, n) < int(RATE * 2**53)


def clipped_sum(weights: numpy.ndarray, x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
    """The sum of the examples' gradients of the softmax loss, each of norm at most CLIP."""
    logits = x @ weights
    p = numpy.exp(logits - logits.max(axis=1, keepdims=True, initial=-numpy.inf))
    p /= p.sum(axis=1, keepdims=True)
    p[numpy.arange(len(y)), y] -= 1
    # An example's gradient is the outer product of its pixels and p, so its norm is the product of theirs.
    norms = numpy.linalg.norm(x, axis=1) * numpy.linalg.norm(p, axis=1)
    scale = (1 - 1e-9) * CLIP / numpy.maximum(norms, CLIP)  # a hair less: rounding must not exceed the norm
    return x.T @ (p * scale[:, None])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    x, y, test_x, test_y = load()
    add_one = lambda a: numpy.hstack([a, numpy.ones((len(a), 1))])  # noqa: E731
    x, test_x = add_one(x), add_one(test_x)
    random = numpy.random.default_rng()
    weights = numpy.zeros((65, 10))
    with Client(args.server, deadline=60) as client:
        ledger = client.create_ledger(f"examples/numpy-{uuid.uuid4()}", "add-or-remove-one", privacy_unit="example",
                                      plan=(STEP, args.steps)).spec.name
        with client.run(ledger) as run:
            try:
                while True:
                    run.step(STEP)
                    batch = sample(random, len(x))
                    noise = random.normal(0, NOISE * CLIP, weights.shape)
                    weights -= LEARNING_RATE * (clipped_sum(weights, x[batch], y[batch]) + noise) / BATCH
            except BudgetExceeded as e:
                print(f"stopped by the plan after {run.steps} steps: {e.message}")
            accuracy = ((test_x @ weights).argmax(axis=1) == test_y).mean()
            print(f"test accuracy {accuracy:.1%}; ({round_up(run.epsilon(DELTA))}, {DELTA:g})-differentially private "
                  "per image, whatever made it stop")
        print(f"ledger {ledger}: {client.get_ledger(ledger).total_count} steps charged")


if __name__ == "__main__":
    main()
