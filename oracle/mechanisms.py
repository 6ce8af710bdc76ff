# SPDX-License-Identifier: Apache-2.0
"""From a mechanism in protobuf JSON spelling to its dominating pair in one direction."""

from mpmath import mp, mpf

from .number import exact
from .pairs import (ADD, ADD_OR_REMOVE, REMOVE, REPLACE, approximate_atoms, gaussian_line, laplace_pieces,
                    response_atoms, revealed_atoms, sampled_atoms)


def gaussian(sigma, sensitivity=1.0):
    return {"gaussian": {"standardDeviation": sigma, "sensitivity": sensitivity}}


def laplace(scale, sensitivity=1.0):
    return {"laplace": {"scale": scale, "sensitivity": sensitivity}}


def response(epsilon, buckets=None):
    return {"randomizedResponse": {"epsilon": epsilon} | ({"buckets": buckets} if buckets else {})}


def pure(epsilon):
    return {"pureDp": {"epsilon": epsilon}}


def approximate(epsilon, delta):
    return {"approximateDp": {"epsilon": epsilon, "delta": delta}}


def gaussian_dp(mu):
    return {"gaussianDp": {"mu": mu}}


def sampled(q, mechanism):
    return {"poissonSampled": {"samplingProbability": q, "mechanism": mechanism}}


def kind(mechanism):
    (name, fields), = mechanism.items()
    return name, fields


def shift_of(mechanism, adjacency):
    """The neighbours' distance in units of the noise (Gaussian: μ, Laplace: Δ/b); REPLACE_ONE doubles a sensitivity."""
    name, f = kind(mechanism)
    if "noiseMultiplier" in f:
        return (2 if adjacency == REPLACE else 1) / exact(f["noiseMultiplier"])
    noise = exact(f["standardDeviation"] if name == "gaussian" else f["scale"])
    if "distance" in f:
        return exact(f["distance"]) / noise
    return exact(f["sensitivity"]) / noise * (2 if adjacency == REPLACE else 1)


def pair_of(mechanism, adjacency, direction):
    """The pair (P, Q) with L = ln dP/dQ; direction REMOVE: P is the output with the record present."""
    name, f = kind(mechanism)
    if name == "gaussian":
        return gaussian_line(shift_of(mechanism, adjacency), 1, direction, False)
    if name == "gaussianDp":
        return gaussian_line(exact(f["mu"]), 1, direction, False)
    if name == "laplace":
        return laplace_pieces(shift_of(mechanism, adjacency), 1, direction)
    if name == "randomizedResponse":
        if adjacency == ADD_OR_REMOVE:
            raise ValueError("randomized response is not defined under ADD_OR_REMOVE_ONE")
        if "noise" in f:  # uniform with probability ν: each false value has ν/k
            noise, k = exact(f["noise"]), f["buckets"]
            return response_atoms(mp.log1p((1 - noise) * k / noise), k)
        return response_atoms(f["epsilon"], f.get("buckets", 2))
    if name == "pureDp":
        return response_atoms(f["epsilon"])
    if name == "approximateDp":
        return approximate_atoms(f["epsilon"], f["delta"])
    if name == "poissonSampled":
        q = exact(f["samplingProbability"]) if "samplingProbability" in f else mpf(f["batchSize"]) / f["datasetSize"]
        return _sampled_pair(q, f["mechanism"], adjacency, direction)
    raise ValueError(f"no pair for {name}")


def _sampled_pair(q, inner, adjacency, direction):
    name, _ = kind(inner)
    if name == "gaussian":
        # One record's own contribution moves the mean by Δ; a replaced one lies on the other side.
        return gaussian_line(shift_of(inner, ADD_OR_REMOVE), q, direction, adjacency == REPLACE)
    if name == "gaussianDp" and adjacency == ADD_OR_REMOVE:
        return gaussian_line(exact(inner["gaussianDp"]["mu"]), q, direction, False)
    if name == "laplace":
        return laplace_pieces(shift_of(inner, ADD_OR_REMOVE), q, direction, adjacency == REPLACE)
    if name == "randomizedResponse" and adjacency == REPLACE:
        return revealed_atoms(pair_of(inner, adjacency, direction), q)  # without the record there is no answer
    if name in ("pureDp", "approximateDp") and adjacency == ADD_OR_REMOVE:
        return sampled_atoms(pair_of(inner, adjacency, direction), q, direction)
    raise ValueError(f"sampling of {name} under {adjacency} is not defined here")


def is_symmetric(mechanism, adjacency):
    return kind(mechanism)[0] != "poissonSampled" or adjacency == REPLACE


def directions(mechanism, adjacency):
    return (REMOVE,) if is_symmetric(mechanism, adjacency) else (REMOVE, ADD)
