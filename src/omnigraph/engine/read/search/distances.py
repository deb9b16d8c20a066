"""Exact distances from stored vectors to one query vector, and the nearest of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.engine.read.columns.arrays import Rows

Scores = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
# Vectors are widened to double in blocks of about this many numbers.
_BLOCK_NUMBERS = 1 << 20
_GATHERED_NUMBERS = 1 << 17
# Below this many vectors one pass in double precision is as fast as two.
_FEW_VECTORS = 4_096
_SINGLE_STEP = float(np.finfo(np.float32).eps)


def distances(vectors: pa.FixedSizeListArray, query: Sequence[float], metric: str) -> Scores:
    """Distance per vector, smaller is nearer: Euclidean, one minus cosine, or one minus dot product; NaN for null."""
    matrix, target = matrix_of(vectors), _target(query)
    result = np.empty(len(vectors))
    step = max(1, _BLOCK_NUMBERS // max(matrix.shape[1], 1))
    for begin in range(0, len(vectors), step):
        block = matrix[begin : begin + step].astype(np.float64)
        result[begin : begin + step] = _METRICS[metric](block, target.astype(np.float64))
    result[~vectors.is_valid().to_numpy(zero_copy_only=False)] = np.nan
    return result


def closest(
    vectors: pa.FixedSizeListArray, query: Sequence[float], metric: str, most: int, among: Rows | None = None
) -> tuple[Rows, Scores]:
    """(positions, distances) of the vectors that can be among the nearest `most`, all that tie with the last included.

    Only those at the positions `among` count, or all. A pass in single precision with an error bound rules nearly all
    vectors out; only the rest is measured exactly.
    """
    present = np.arange(len(vectors)) if among is None else among
    if vectors.null_count:
        present = present[vectors.is_valid().to_numpy(zero_copy_only=False)[present]]
    if len(present) > max(most, _FEW_VECTORS):
        present = present[_promising(matrix_of(vectors), _target(query), metric, present, most)]
    exact = distances(vectors.take(pa.array(present)), query, metric)
    if most < len(exact):
        near = exact <= np.partition(exact, max(most, 1) - 1)[max(most, 1) - 1]
        present, exact = present[near], exact[near]
    return present, exact


def matrix_of(vectors: pa.FixedSizeListArray) -> Singles:
    """The stored numbers, a row for each vector; what stands in the row of a null means nothing."""
    dim = vectors.type.list_size
    # The values buffer also has a slot for each null vector, so rows and slots stay aligned.
    numbers = vectors.values.slice(vectors.offset * dim, len(vectors) * dim).to_numpy(zero_copy_only=False)
    matrix: Singles = numbers.reshape(len(vectors), dim)
    return matrix


def _target(query: Sequence[float]) -> Singles:
    # Stored vectors are single precision, so the query is rounded the same way before it is compared.
    return np.asarray(query, np.float32)


def _promising(matrix: Singles, target: Singles, metric: str, present: Rows, most: int) -> npt.NDArray[np.bool_]:
    """Which of the present vectors cannot be ruled out."""
    # In pieces that stay in the processor's cache between being gathered and being multiplied.
    step = max(1, _GATHERED_NUMBERS // max(matrix.shape[1], 1))
    value, error = np.empty(len(present)), np.empty(len(present))
    with np.errstate(all="ignore"):
        for begin in range(0, len(present), step):
            piece = slice(begin, begin + step)
            value[piece], error[piece] = _roughly(matrix[present[piece]], target, metric)
    if not np.isfinite(value).all() or not np.isfinite(error).all():
        return np.ones(len(present), np.bool_)  # beyond single precision nothing can be ruled out
    bound = np.partition(value + error, max(most, 1) - 1)[max(most, 1) - 1]
    possible: npt.NDArray[np.bool_] = value - error <= bound
    return possible


def _roughly(matrix: Singles, target: Singles, metric: str) -> tuple[Scores, Scores]:
    """A value per vector that grows with its distance, and how far off it may be."""
    # Not by BLAS: it would wake a thread per core for every piece, and wait for all of them on a busy machine.
    dots = np.einsum("ij,j->i", matrix, target).astype(np.float64)
    squares = np.einsum("ij,ij->i", matrix, matrix).astype(np.float64)
    square = float(target.astype(np.float64) @ target.astype(np.float64))
    lengths = np.sqrt(squares * square)
    # Rounding of a sum of products is at most this share of the product of the lengths.
    share = 4 * (matrix.shape[1] + 8) * _SINGLE_STEP
    if metric == "dot":
        return 1.0 - dots, share * lengths
    if metric == "l2":
        return squares + square - 2 * dots, share * (squares + square + 2 * lengths)
    cosine = np.divide(dots, lengths, out=np.zeros(len(dots)), where=lengths > 0)
    # The square of a short vector may vanish in single precision: such a one is never ruled out.
    return 1.0 - cosine, np.where(lengths > _SINGLE_STEP**3, share, 2.0)


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
