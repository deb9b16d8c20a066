"""Objects on S3, Azure or Google Cloud Storage through obstore; guarded writes are each store's conditional put."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, Literal

import obstore
from obstore import exceptions
from obstore.store import AzureStore, GCSStore, S3Store

from omnigraph.errors import Corrupt, OmnigraphError, StorageError
from omnigraph.ids import new_ulid
from omnigraph.storage.base.clouds import ALLOW_HTTP, DEFAULT_RETRY_SECONDS, RETRY_OPTION
from omnigraph.storage.base.errors import Kind, brief, kind_of
from omnigraph.storage.base.layout import Root
from omnigraph.storage.base.objects import ObjectInfo

_KINDS: tuple[tuple[type[Exception], Kind], ...] = (
    (exceptions.NotFoundError, "NotFound"),
    (exceptions.AlreadyExistsError, "Precondition"),
    (exceptions.PreconditionError, "Precondition"),
    (exceptions.PermissionDeniedError, "Configuration"),
    (exceptions.UnauthenticatedError, "Configuration"),
    (exceptions.UnknownConfigurationKeyError, "Configuration"),
    (exceptions.NotSupportedError, "Configuration"),
)

_PIECE_BYTES = 8 << 20
_TOKEN = "omnigraphtoken"  # Azure takes letters, digits and underscores only
_SPOOLED_BYTES = 32 << 20
_RETRIES = 1_000  # more than fit into the time
_STORES: dict[str, Any] = {"s3": S3Store, "az": AzureStore, "gs": GCSStore}
# What names one version of an object in a conditional put. Google compares generations, the others entity tags.
_GUARDS: dict[str, Literal["e_tag", "version"]] = {"gs": "version"}


class RemoteObjects:
    """The storage adapter below one prefix of a bucket."""

    def __init__(self, root: Root) -> None:
        self._uri = root.uri
        self._guard = _GUARDS.get(root.scheme, "e_tag")
        with self._translated(""):
            self._store = open_store(root)

    def read(self, name: str) -> str:
        with self._translated(name):
            return _text(name, bytes(obstore.get(self._store, name).bytes()))

    def read_if_exists(self, name: str) -> str | None:
        try:
            return self.read(name)
        except StorageError as error:
            if error.kind == "NotFound":
                return None
            raise

    def write(self, name: str, text: str, *, durable: bool = True) -> None:
        with self._translated(name):
            obstore.put(self._store, name, text.encode(), use_multipart=False)

    def write_if_absent(self, name: str, text: str, *, durable: bool = True) -> bool:
        return self._put_once(name, text, "create")

    def read_tagged(self, name: str) -> tuple[str, str] | None:
        with self._translated(name):
            try:
                found = obstore.get(self._store, name)
                data = bytes(found.bytes())
            except (exceptions.NotFoundError, FileNotFoundError):
                return None
        tag = found.meta[self._guard]
        if tag is None:
            raise StorageError(f"{self._uri}/{name}: the store gives no {self._guard}, so nothing here can be guarded")
        return _text(name, data), tag

    def write_if_match(self, name: str, text: str, tag: str) -> bool:
        if self._guard == "version" and not tag.isdecimal():
            return False  # the store would refuse the request: generations are numbers
        return self._put_once(name, text, {self._guard: tag})

    def exists(self, name: str) -> bool:
        if self.stat(name) is not None:
            return True
        with self._translated(name):
            return any(batch for batch in obstore.list(self._store, name, chunk_size=1))

    def stat(self, name: str) -> ObjectInfo | None:
        with self._translated(name):
            try:
                found = obstore.head(self._store, name)
            except (exceptions.NotFoundError, FileNotFoundError):
                return None
            return _info(found)

    def delete(self, name: str) -> None:
        with self._translated(name):
            try:
                obstore.delete(self._store, name)
            except (exceptions.NotFoundError, FileNotFoundError):
                return

    def list_dir(self, name: str) -> list[str]:
        return self._listed(name)[0]

    def list_entries(self, name: str) -> list[str]:
        files, folders = self._listed(name)
        return [*files, *folders]

    def _listed(self, name: str) -> tuple[list[str], list[str]]:
        """The names of the files and of the directories directly inside a directory."""
        with self._translated(name):
            listed = obstore.list_with_delimiter(self._store, name)
        # Some servers list an empty directory as an object of its own name ("" for the root, where the last object was
        # deleted a moment ago); that is not a file inside it.
        paths = [found["path"] for found in listed["objects"]]
        files = [path.rpartition("/")[2] for path in paths if path and (not name or path.startswith(f"{name}/"))]
        return files, [prefix.rstrip("/").rpartition("/")[2] for prefix in listed["common_prefixes"]]

    def list_tree(self, name: str) -> list[str]:
        with self._translated(name):
            return [found["path"] for batch in obstore.list(self._store, name, chunk_size=1000) for found in batch]

    def list_sizes(self, name: str) -> dict[str, int]:
        return {path: info.size for path, info in self.list_infos(name).items()}

    def list_infos(self, name: str) -> dict[str, ObjectInfo]:
        with self._translated(name):
            listed = obstore.list(self._store, name or None, chunk_size=1000)
            return {found["path"]: _info(found) for batch in listed for found in batch}

    def read_pieces(self, name: str) -> Iterator[bytes]:
        with self._translated(name):
            for piece in obstore.get(self._store, name).stream(min_chunk_size=_PIECE_BYTES):
                yield bytes(piece)

    def write_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        # Gathered first: obstore reads an iterator on its own threads, where reading from obstore panics.
        with self._translated(name), SpooledTemporaryFile(max_size=_SPOOLED_BYTES) as file:
            file.writelines(pieces)
            file.seek(0)
            obstore.put(self._store, name, file)

    def rename(self, source: str, target: str) -> None:
        with self._translated(source):
            # Copy, then delete: a crash in between leaves both, never neither.
            obstore.copy(self._store, source, target)
            obstore.delete(self._store, source)

    def copy(self, source: str, target: str) -> None:
        with self._translated(source):
            obstore.copy(self._store, source, target)

    def delete_prefix(self, name: str) -> None:
        while paths := self.list_tree(name):
            with self._translated(name):
                try:
                    obstore.delete(self._store, paths)
                except (exceptions.NotFoundError, FileNotFoundError):
                    continue  # another process deletes as well, which some stores report
                return

    # --- large files, which only exist beside graphs on object stores ---------------------------

    def upload(self, name: str, path: Path) -> None:
        """Store a local file under a name."""
        with self._translated(name):
            obstore.put(self._store, name, path)

    def download(self, name: str, path: Path) -> None:
        """Write an object into a local file, piece by piece."""
        with self._translated(name), open(path, "wb") as file:
            for piece in obstore.get(self._store, name).stream(min_chunk_size=_PIECE_BYTES):
                file.write(piece)

    def _put_once(self, name: str, text: str, mode: Any) -> bool:
        """A conditional put; False when the condition did not hold.

        The client repeats a put whose answer was lost, and the store refuses the second because of the first. So every
        put carries a token of its own: a writer that is refused looks whether the object has it.
        """
        token = new_ulid()
        with self._translated(name):
            try:
                obstore.put(
                    self._store, name, text.encode(), mode=mode, attributes={_TOKEN: token}, use_multipart=False
                )
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                return self._token_of(name) == token
            except (exceptions.NotFoundError, FileNotFoundError):
                if mode == "create":
                    raise  # there is no such bucket
                return False
            return True

    def _token_of(self, name: str) -> str | None:
        try:
            found = obstore.get(self._store, name).attributes.get(_TOKEN)
        except (exceptions.NotFoundError, FileNotFoundError):
            return None
        return None if found is None else str(found)

    @contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        try:
            yield
        except OmnigraphError:
            raise
        except Exception as error:
            raise StorageError(f"{self._uri}/{name}: {brief(error)}", kind=error_kind(error)) from error


def error_kind(error: Exception) -> Kind:
    """Which kind of trouble the client of a store reports."""
    return next((kind for cls, kind in _KINDS if isinstance(error, cls)), None) or kind_of(error)


def open_store(root: Root) -> Any:
    """The client for everything below a root; does no I/O."""
    options: Any = dict(root.options)
    client: Any = {ALLOW_HTTP: options.pop(ALLOW_HTTP, "false") == "true"}
    limit = timedelta(seconds=int(options.pop(RETRY_OPTION, DEFAULT_RETRY_SECONDS)))
    retry: Any = {"max_retries": _RETRIES, "retry_timeout": limit}
    return _STORES[root.scheme](
        root.container, prefix=root.prefix or None, config=options, client_options=client, retry_config=retry
    )


def _info(found: Any) -> ObjectInfo:
    return ObjectInfo(found["size"], found["e_tag"], found["last_modified"].timestamp())


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Corrupt(f"'{name}' is not UTF-8 text") from error
