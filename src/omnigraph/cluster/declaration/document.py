"""Reading `cluster.yaml` from a directory, and the checks that need nothing but the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph.cluster.declaration.config import RESERVED, ClusterConfig, read_config
from omnigraph.cluster.diagnostics import Diagnostics, Stopped
from omnigraph.errors import BadRequest
from omnigraph.policy.fields import FieldRejected
from omnigraph.policy.strict_yaml import YamlRejected, load_yaml
from omnigraph.storage.base.layout import normalize_root

FILE_NAME = "cluster.yaml"


def load_config(directory: Path, found: Diagnostics) -> ClusterConfig:
    """The declaration of a directory; everything wrong with it is noted, and Stopped raised when it has no shape."""
    config = _shaped(_parsed(_read(directory, found), found), found)
    if config.version != 1:
        found.error(
            "unsupported_cluster_config_version", "version", f"version {config.version} is not supported; write 1"
        )
    if config.name is not None and not config.name.strip():
        found.error("empty_metadata_name", "metadata.name", "the name is blank; leave it out or fill it in")
    if config.backend not in (None, "cluster"):
        found.error("unsupported_state_backend", "state.backend", f"'{config.backend}' is not 'cluster'")
    return config


def storage_root(config: ClusterConfig, directory: Path, found: Diagnostics) -> str:
    """Where everything stored is; local roots are relative to the config directory."""
    if config.storage is None:
        return str(directory.resolve())
    text = config.storage.strip().rstrip("/") if config.storage.strip() != "/" else "/"
    if not text or text in ("s3:", "file:"):
        raise found.stop("invalid_storage_root", "storage", f"'{config.storage}' names no place")
    try:
        if "://" not in text:
            return normalize_root(directory.resolve() / Path(text).expanduser()).uri
        if text.startswith("file://") and not text.startswith("file:///"):
            return normalize_root(directory.resolve() / text.removeprefix("file://")).uri
        return normalize_root(text).uri
    except BadRequest as error:
        code = "invalid_storage_root" if "bucket" in error.message else "storage_root_invalid"
        raise found.stop(code, "storage", error.message) from error


def _read(directory: Path, found: Diagnostics) -> str:
    if not directory.is_dir():
        raise found.stop("config_dir_not_found", str(directory), "no such directory")
    path = directory / FILE_NAME
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise found.stop("cluster_config_read_error", str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise found.stop("cluster_config_read_error", str(path), "not UTF-8 text") from error


def _parsed(text: str, found: Diagnostics) -> Any:
    try:
        return load_yaml(text)
    except YamlRejected as error:
        code = "duplicate_yaml_key" if error.duplicate else "invalid_cluster_yaml"
        raise found.stop(code, error.path or FILE_NAME, error.reason) from error


def _shaped(document: Any, found: Diagnostics) -> ClusterConfig:
    before = len(found.found)
    if isinstance(document, dict):
        for key in RESERVED:
            if key in document:
                found.error("future_phase_field", key, f"'{key}' is reserved for a later release; remove it")
        graphs = document.get("graphs")
        for name, graph in graphs.items() if isinstance(graphs, dict) else ():
            if isinstance(graph, dict) and "streaming" in graph:
                path = f"graphs.{name}.streaming"
                found.error("removed_streaming_declaration", path, "streaming is not declared any more; remove it")
    if len(found.found) > before:
        raise Stopped
    try:
        return read_config(document)
    except FieldRejected as error:
        raise found.stop("invalid_cluster_yaml", error.path or FILE_NAME, error.reason) from error
