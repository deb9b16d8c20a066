"""`embed`: vectors for the records of a file, without any graph."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.cli.call import Call
from omnigraph.cli.input.embedding_records import (
    EmbedSpec,
    Selection,
    is_entity,
    is_missing,
    parse_selector,
    parse_spec,
    read_records,
    text_of,
)
from omnigraph.cli.input.files import read_text
from omnigraph.cli.input.params import parse_json
from omnigraph.cli.terminal import output
from omnigraph.cli.terminal.progress import progress
from omnigraph.errors import BadRequest, NotFound

_DEFAULT_OUTPUT = "./build/seed.embedded.jsonl"
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Job:
    """One run: from where, to where, what."""

    input: Path
    output: Path
    spec: EmbedSpec
    mode: str
    selection: Selection


@dataclass(slots=True)
class Counts:
    """What a run did."""

    records: int = 0
    selected: int = 0
    embedded: int = 0
    cleaned: int = 0


def embed(call: Call) -> None:
    """Fill, replace or remove vectors."""
    job = _job(call)
    if not job.input.exists():
        raise NotFound(f"seed input does not exist: '{job.input}'")
    records = list(read_records(read_text(str(job.input))))
    counts = Counts(records=len(records))
    model = _clean(job, records, counts) if job.mode == "clean" else _embed(call, job, records, counts)
    _write(job.output, records)
    if call.json:
        output.document(
            {
                "input": str(job.input),
                "output": str(job.output),
                "records": counts.records,
                "selected_records": counts.selected,
                "embedded_records": counts.embedded,
                "cleaned_records": counts.cleaned,
                "mode": job.mode,
                "dimension": job.spec.dimension,
                "model": model,
            }
        )
        return
    output.line(
        f"embedded {counts.embedded} records (selected {counts.selected}, cleaned {counts.cleaned}) "
        f"from {job.input} -> {job.output} [{job.mode} {job.spec.dimension}d]"
    )


# --- what to do ----------------------------------------------------------------------------------


def _job(call: Call) -> Job:
    selection = Selection(tuple(call.many("--type")), tuple(map(parse_selector, call.many("--select"))))
    seed = call.text("--seed")
    source, target, spec = _seeded(seed) if seed is not None else _written_out(call)
    return Job(source, target, spec, _mode(call), selection)


def _mode(call: Call) -> str:
    if call.given("--clean"):
        return "clean"
    if call.given("--reembed-all"):
        return "reembed_all"
    return "reembed_selected" if call.given("--select") else "fill_missing"


def _written_out(call: Call) -> tuple[Path, Path, EmbedSpec]:
    for name in ("--input", "--output", "--spec"):
        if not call.given(name):
            raise BadRequest(f"{name} is required (or name everything in one file with --seed)")
    path = call.value("--spec")
    try:
        raw = parse_json(read_text(path))
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"'{path}' is not valid JSON: {error}") from None
    return Path(call.value("--input")), Path(call.value("--output")), parse_spec(raw, f"'{path}'")


def _seeded(path: str) -> tuple[Path, Path, EmbedSpec]:
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        raw = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        raise BadRequest(f"'{path}' is not valid YAML: {' '.join(str(error).split())}") from error
    source = _member(raw, "sources", "raw_seed") or _member(raw, "seed", "data")
    if not isinstance(source, str):
        raise BadRequest(f"'{path}' names no source: set sources.raw_seed")
    spec = raw.get("embeddings")
    if spec is None:
        raise BadRequest(f"'{path}' has no spec: set embeddings")
    target = _member(raw, "artifacts", "embedded_seed") or _DEFAULT_OUTPUT
    base = Path(path).parent
    return base / source, base / str(target), parse_spec(spec, f"'{path}': embeddings")


def _member(raw: Any, section: str, key: str) -> Any:
    found = raw.get(section) if isinstance(raw, dict) else None
    return found.get(key) if isinstance(found, dict) else None


# --- doing it ------------------------------------------------------------------------------------


def _selected(job: Job, records: list[Any], counts: Counts) -> list[tuple[dict[str, Any], str]]:
    """The data of every selected entity of a type that the spec knows, with its type."""
    found = []
    for record in records:
        if is_entity(record) and job.selection.covers(record["type"], record["data"]):
            counts.selected += 1
            if record["type"] in job.spec.types:
                found.append((record["data"], record["type"]))
    return found


def _clean(job: Job, records: list[Any], counts: Counts) -> str:
    for data, kind in _selected(job, records, counts):
        if data.pop(job.spec.types[kind].target, job) is not job:
            counts.cleaned += 1
    return ""


def _embed(call: Call, job: Job, records: list[Any], counts: Counts) -> str:
    from omnigraph.embeddings import make_embedder, resolve_config

    embedder = make_embedder(resolve_config(call.env))
    targets = {name: each.target for name, each in job.spec.types.items()}
    chosen = _selected(job, records, counts)
    if job.mode == "fill_missing":
        chosen = [(data, kind) for data, kind in chosen if is_missing(data, targets[kind])]
    with progress(call, "embedding", len(chosen), "records") as advance:
        for start in range(0, len(chosen), _BATCH):
            batch = chosen[start : start + _BATCH]
            texts = [text_of(kind, data, job.spec.types[kind].fields) for data, kind in batch]
            for (data, kind), vector in zip(batch, embedder.embed(texts, job.spec.dimension, "document"), strict=True):
                data[targets[kind]] = vector
            advance(len(batch))
    counts.embedded = len(chosen)
    return embedder.model


def _write(path: Path, records: list[Any]) -> None:
    """The previous output stays until the new one is complete."""
    unfinished = path.with_name(f"{path.name}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{output.compact(record)}\n" for record in records)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
