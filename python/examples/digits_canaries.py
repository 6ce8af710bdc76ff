# SPDX-License-Identifier: Apache-2.0
"""The training of digits_numpy.py, on more features, with canaries that see whether it does what it reports.

    python digits_canaries.py [--server unix:data/accountant.sock] [--broken clipping|noise] [--steps 200] [--seed N]

Right training shows less than what is proven. Two mistakes that report the same mechanism show more: "clipping" clips
the mean of the batch's gradients rather than each of them, and "noise" divides the noise by the batch size twice.
Each step has more noise than in digits_numpy.py: the less is proven, the fewer right guesses contradict it.
"""

from __future__ import annotations

import argparse
import uuid

import numpy
from data import load
from digits_numpy import BATCH, CLIP, DELTA, LEARNING_RATE, RATE, sample

from privacy_accountant import Client, gaussian, poisson_sampled
from privacy_accountant.canaries import GradientCanaries

NOISE = 6.0
STEP = poisson_sampled(gaussian(noise_multiplier=NOISE), sampling_probability=RATE)


def features(x: numpy.ndarray) -> numpy.ndarray:
    """Public random features of images: among more numbers, canaries are told from the data's own gradients."""
    directions = numpy.random.default_rng(8).standard_normal((x.shape[1], 512))
    return numpy.maximum(x @ directions, 0) / 16


def gradients(weights: numpy.ndarray, x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
    """Each example's gradient of the softmax loss, one a row, unclipped."""
    logits = x @ weights
    p = numpy.exp(logits - logits.max(axis=1, keepdims=True, initial=-numpy.inf))
    p /= p.sum(axis=1, keepdims=True)
    p[numpy.arange(len(y)), y] -= 1
    return numpy.einsum("bi,bj->bij", x, p).reshape(len(x), -1)


def clipped(rows: numpy.ndarray) -> numpy.ndarray:
    norms = numpy.linalg.norm(rows, axis=-1, keepdims=True)
    return rows * (1 - 1e-9) * CLIP / numpy.maximum(norms, CLIP)


def noisy_sum(rows: numpy.ndarray, broken: str | None, random: numpy.random.Generator) -> numpy.ndarray:
    noise = random.normal(0, NOISE * CLIP, rows.shape[1])
    if broken == "clipping":
        return clipped(rows.sum(axis=0) / BATCH) * BATCH + noise
    if broken == "noise":
        noise /= BATCH
    return clipped(rows).sum(axis=0) + noise


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--broken", choices=["clipping", "noise"])
    parser.add_argument("--seed", type=int, help="for tests")
    args = parser.parse_args()
    x, y, test_x, test_y = load()
    x, test_x = features(x), features(test_x)
    random = numpy.random.default_rng(args.seed)
    weights = numpy.zeros((x.shape[1], 10))
    canaries = GradientCanaries(200, weights.size, guesses=100, norm=10 * CLIP, sampling_probability=RATE,
                                seed=args.seed)
    with Client(args.server, deadline=60) as client:
        ledger = client.create_ledger(f"examples/canaries-{uuid.uuid4()}", "add-or-remove-one", privacy_unit="example",
                                      plan=(STEP, args.steps)).spec.name
        with client.run(ledger) as run:
            for _ in range(args.steps):
                run.step(STEP)
                batch = sample(random, len(x))
                rows = numpy.concatenate([gradients(weights, x[batch], y[batch]), canaries.rows()])
                noisy = noisy_sum(rows, args.broken, random)
                canaries.observe(noisy)
                weights -= LEARNING_RATE * noisy.reshape(weights.shape) / BATCH
        canaries.record(client, ledger, delta=DELTA, reason=f"broken: {args.broken}" if args.broken else "")
        accuracy = ((test_x @ weights).argmax(axis=1) == test_y).mean()
        seen = canaries.guess()
        found = client.curve(ledger, epsilons=[0], canaries={**seen._asdict(), "delta": DELTA}).canaries
        assert found is not None
        print(f"test accuracy {accuracy:.1%}; {seen.correct} of {seen.guesses} guesses are right; "
              f"observed ε ≥ {found.epsilon_observed:.2f}, proven ε ≤ {found.epsilon:.2f}, p ≤ {found.p_value:.2g}")
        for warning in client.statement(ledger, [DELTA]).warnings:
            print(warning)


if __name__ == "__main__":
    main()
