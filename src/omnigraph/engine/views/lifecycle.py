"""Creating and opening a graph: the compiler's schema and the storage's protocols put together."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.compiler.catalog.accepted import Accepted, accept_schema
from omnigraph.compiler.decode import to_source
from omnigraph.compiler.source import Source
from omnigraph.cores import thread_count
from omnigraph.engine.values.arrow import stored_schema, table_types
from omnigraph.engine.values.message import commit_message
from omnigraph.engine.views.core import Core
from omnigraph.engine.views.schemas import HASHES, Schemas
from omnigraph.engine.views.table_tasks import TableTasks
from omnigraph.engine.views.view import OpenTables
from omnigraph.errors import BadRequest, NotFound
from omnigraph.ids import new_ulid
from omnigraph.policy.engine import PolicyEngine
from omnigraph.policy.external_blobs import ExternalBlobPolicy
from omnigraph.settings import DEFAULTS, Settings
from omnigraph.storage.base.store import store_for
from omnigraph.storage.manifest.opening import open_read_only, open_read_write
from omnigraph.storage.manifest.rows import SchemaRow
from omnigraph.storage.protocol import recovery
from omnigraph.storage.protocol.reserve import keep_reserve, on_full_disk

if TYPE_CHECKING:
    from omnigraph.storage.manifest.initialize import NewGraph

StrPath = str | os.PathLike[str]
Text = str | os.PathLike[str] | Source
"""A schema or a query: its text, the path of a file, or a text that is never taken for a path."""


def create_graph(
    uri: StrPath,
    schema: Text,
    *,
    force: bool = False,
    settings: Settings = DEFAULTS,
    actor: str | None = None,
    message: str | None = None,
) -> str:
    """Create a graph with a schema (text, or the path of a file) and return the id of its first commit."""
    from omnigraph.storage.manifest.initialize import initialize  # a graph is created once and opened often

    source, text = read_source(schema), commit_message(message)
    accepted = accept_schema(source, domain=new_ulid())
    store = store_for(uri, settings)
    if store.root.is_local:
        _require_directory(store.root.uri)
    with store.gates.schema.exclusive():
        return initialize(store.root, store.objects, new_graph(accepted), force=force, actor_id=actor, message=text)


def _require_directory(path: str) -> None:
    """Make the directory of a new graph, and its parents; BadRequest where there can be none."""
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        raise BadRequest(f"'{path}' is a file; a graph is a directory") from None
    except OSError as error:
        raise BadRequest(f"no graph can be created at '{path}': {error.strerror}") from error


def open_graph(
    uri: StrPath,
    *,
    read_only: bool = False,
    settings: Settings = DEFAULTS,
    policy: PolicyEngine | None = None,
    external_blobs: ExternalBlobPolicy | None = None,
    tasks: TableTasks | None = None,
) -> Core:
    """Open a graph; for writing, whatever interrupted writers left is finished or undone first.

    `tasks` spreads work on large tables; without it everything happens in this process.
    """
    store = store_for(uri, settings)
    store = replace(store, root=replace(store.root, read_only=read_only))
    schemas = Schemas(store)
    if read_only:
        opened = open_read_only(store, HASHES)
    else:
        opened = on_full_disk(store.root, lambda: open_read_write(store, HASHES, lambda: recovery.sweep(store)))
        keep_reserve(store.root)
    schemas.adopt(opened.contract)
    tables = OpenTables(store.root, settings.distribute_rows, tasks, thread_count(settings.threads))
    return Core(store, schemas, tables, read_only, policy, external_blobs)


def new_graph(accepted: Accepted) -> NewGraph:
    """What storage has to create for an accepted schema."""
    from omnigraph.storage.manifest.initialize import NewGraph, NewTable

    state = SchemaRow(accepted.shape_hash, accepted.ir_hash, accepted.domain)
    tables = [
        NewTable(key, stored_schema(info), info.type_id, info.incarnation_id)
        for key, info in table_types(accepted.catalog).items()
    ]
    return NewGraph(accepted.source, accepted.ir_json, state, tables)


# The only query without a brace: a body alone that deletes.
_FOREIGN = re.compile(r"\s*(?:select|match|with|create|merge|insert|update|delete)\b", re.IGNORECASE)
_DELETION = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*+delete\s+\w+\s+where\s", re.DOTALL)


def is_text(given: str) -> bool:
    """Whether this is the text of a schema or of queries, and not a path."""
    return "{" in given or _DELETION.match(given) is not None


def read_source(given: Text) -> Source:
    """A schema or query as given: text when it holds a brace or deletes, else the path of a file."""
    if isinstance(given, Source):
        return given
    if isinstance(given, str) and (is_text(given) or not given.strip()):
        return Source(given)
    path = Path(given)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        about = "; a query begins with 'query' or 'match {'" if _FOREIGN.match(str(given)) else ""
        raise NotFound(f"'{path}' is not a file, and not a schema or query text either{about}") from None
    except OSError as error:
        raise BadRequest(f"'{path}' cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadRequest(
            "this is not a schema or query text, and contains a character that no path can have"
        ) from error
    return to_source(data, code="S000" if path.suffix == ".pg" else "Q000", name=str(path))
