# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's digits (examples/digits/README.md has source and licence), without scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy

FILE = Path(__file__).parents[2] / "examples" / "digits" / "digits.csv.gz"


def load() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Images in [0, 1] and labels: 1,500 to train, and 297, chosen by a public seed, to test."""
    rows = numpy.loadtxt(FILE, delimiter=",")
    rows = rows[numpy.random.default_rng(1998).permutation(len(rows))]
    x, y = rows[:, :64] / 16, rows[:, 64].astype(int)
    return x[297:], y[297:], x[:297], y[:297]
