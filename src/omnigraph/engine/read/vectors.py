"""Exact distances from stored vectors to one query vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Scores = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
# Vectors are widened to double in blocks of about this many numbers.
_BLOCK_NUMBERS = 1 << 20


def distances(vectors: pa.FixedSizeListArray, query: Sequence[float], metric: str) -> Scores:
    """Distance per vector, smaller is nearer: Euclidean, one minus cosine, or one minus dot product; NaN for null."""
    dim = vectors.type.list_size
    # Stored vectors are single precision, so the query is rounded the same way before it is compared.
    target = np.asarray(query, np.float32).astype(np.float64)
    # The values buffer also has a slot for each null vector, so rows and slots stay aligned.
    numbers = vectors.values.slice(vectors.offset * dim, len(vectors) * dim).to_numpy(zero_copy_only=False)
    matrix = numbers.reshape(len(vectors), dim)
    result = np.empty(len(vectors))
    step = max(1, _BLOCK_NUMBERS // max(dim, 1))
    for begin in range(0, len(vectors), step):
        result[begin : begin + step] = _METRICS[metric](matrix[begin : begin + step].astype(np.float64), target)
    result[~vectors.is_valid().to_numpy(zero_copy_only=False)] = np.nan
    return result


def _euclidean(block: Matrix, target: Scores) -> Scores:
    difference = block - target
    result: Scores = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return result


def _cosine(block: Matrix, target: Scores) -> Scores:
    norms = np.sqrt(np.einsum("ij,ij->i", block, block)) * np.sqrt(target @ target)
    # A zero vector has no direction; it counts as orthogonal to everything.
    cosine = np.divide(block @ target, norms, out=np.zeros(len(block)), where=norms > 0)
    result: Scores = 1.0 - cosine
    return result


def _dot(block: Matrix, target: Scores) -> Scores:
    result: Scores = 1.0 - block @ target
    return result


_METRICS = {"l2": _euclidean, "cosine": _cosine, "dot": _dot}
