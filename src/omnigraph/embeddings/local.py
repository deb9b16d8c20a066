"""The local provider: a small static embedding model whose files come inside an installed wheel; no network, no key."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omnigraph.errors import BadRequest, EmbeddingError

if TYPE_CHECKING:
    from omnigraph.embeddings.wire import Role

MODEL = "wordllama/l2_supercat_256"
# The model was trained so that these prefixes of a vector are vectors of the same text by themselves.
DIMENSIONS = (64, 128, 256)

_PACKAGE = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_NUMBERS: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
_BATCH = 256

Matrix = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class LocalEmbedder:
    """Averages the vectors of a text's tokens; queries and documents are embedded alike."""

    model: str = MODEL

    def embed(self, texts: Sequence[str], dim: int, role: Role) -> list[list[float]]:
        """One unit vector a text; EmbeddingError for a dimension that the model does not have."""
        if dim not in DIMENSIONS:
            known = ", ".join(map(str, DIMENSIONS))
            raise EmbeddingError(f"the local model has vectors of {known} numbers, not {dim}; declare one of these")
        tokens, weights = _model()
        found: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            encoded = tokens.encode_batch(list(texts[start : start + _BATCH]), add_special_tokens=False)
            found += [_pooled(weights, one.ids, dim) for one in encoded]
        return found


def require_local_model() -> None:
    """BadRequest unless the model is installed."""
    if find_spec(_PACKAGE) is None or find_spec("tokenizers") is None:
        raise BadRequest("embedding provider 'local' needs its model: install omnigraph[local]")


def _pooled(weights: Matrix, ids: Sequence[int], dim: int) -> list[float]:
    if not ids:
        raise EmbeddingError("a text without a single token has no embedding")
    known = np.minimum(np.asarray(ids), len(weights) - 1)
    total = weights[known, :dim].astype(np.float64).sum(axis=0)
    norm = float(np.sqrt(total @ total))
    if norm == 0:
        raise EmbeddingError("embedding has no direction: its norm is zero")
    unit: list[float] = (total / norm).astype(np.float32).tolist()
    return unit


@lru_cache(maxsize=1)
def _model() -> tuple[Any, Matrix]:
    """Tokenizer and weights, read straight from the installed files: the package's own loader may go to the network."""
    require_local_model()
    from tokenizers import Tokenizer

    spec = find_spec(_PACKAGE)
    place = Path(next(iter((spec and spec.submodule_search_locations) or [])))
    try:
        tokens = Tokenizer.from_file(str(place / _TOKENIZER))
        weights = _tensor(place / _WEIGHTS, _TENSOR)
    except Exception as error:
        raise EmbeddingError(f"the local model in '{place}' cannot be read: {error}") from error
    tokens.no_padding()
    tokens.no_truncation()
    return tokens, weights


def _tensor(path: Path, name: str) -> Matrix:
    """One tensor of a safetensors file, mapped, so that the workers of a machine share its pages."""
    with path.open("rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        entry = json.loads(file.read(size))[name]
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    kind = _NUMBERS[entry["dtype"]]
    begin, end = entry["data_offsets"]
    numbers: Matrix = np.frombuffer(data, kind, (end - begin) // kind.itemsize, 8 + size + begin)
    return numbers.reshape(entry["shape"])
