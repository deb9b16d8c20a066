"""Objects of any size as files: named by their URIs, read at any byte, written in parts, listed below a prefix.

Names are taken as they are: nothing in them is decoded, so `%41` and `#` stand for themselves. Each read is one
ranged request through the client of `objects_remote`, with its options and retries.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import obstore
from obstore import exceptions

from omnigraph.errors import BadRequest, NotFound, OmnigraphError, StorageError
from omnigraph.storage.base.clouds import CLOUDS, cloud_uri
from omnigraph.storage.base.errors import brief, is_no_container, lacks_identity, refusal_code
from omnigraph.storage.base.layout import Root, is_storable, normalize_root
from omnigraph.storage.base.objects_remote import error_kind, open_store

# An object this small is fetched whole by the first read of it: the bytes cost less than another request.
_WHOLE_BYTES = 128 << 10
# Who reads from the front in small steps gets them out of requests of this size.
_AHEAD_BYTES = 4 << 20
# S3 takes ten thousand parts, so the largest file is 160 GiB; three of them are on their way at once.
_PART_BYTES, _PARTS = 16 << 20, 3


@dataclass(frozen=True, slots=True)
class ObjectName:
    """One object, or everything below one prefix of a bucket."""

    bucket: Root
    key: str

    @classmethod
    def parse(cls, uri: str) -> ObjectName:
        """The object that a URI names; several slashes in a row are one."""
        scheme, _, rest = uri.partition("://")
        container, _, key = rest.partition("/")
        segments = [segment for segment in key.split("/") if segment]
        if any(segment in (".", "..") for segment in segments):
            raise BadRequest(f"'{uri}': the name of an object cannot contain '.' or '..'")
        if not is_storable(uri) or any(letter < " " or letter == "\x7f" for letter in uri):
            raise BadRequest(f"{uri!r} contains a character that no name of an object can have")
        return cls(normalize_root(cloud_uri(scheme.lower(), f"{scheme}://{container}")), "/".join(segments))

    @property
    def uri(self) -> str:
        return f"{self.bucket.uri}/{self.key}"

    @property
    def store(self) -> Any:
        return _store(self.bucket)


@dataclass(frozen=True, slots=True)
class Found:
    """An object that is there: its URI, its size in bytes, and when it was written, in seconds since 1970."""

    uri: str
    size: int
    modified_at: float


@lru_cache(16)
def _store(bucket: Root) -> Any:
    """One client for all files of a bucket, with its connections."""
    return open_store(bucket)


def find_object(uri: str) -> Found | None:
    """What is known of an object, or None when there is none of this name."""
    name = ObjectName.parse(uri)
    if not name.key:
        return None
    with _told(name, "read"):
        try:
            return _found(name, obstore.head(name.store, name.key))
        except (FileNotFoundError, exceptions.NotFoundError):
            return None


def list_objects(uri: str, *, recursive: bool) -> list[Found]:
    """The objects below a prefix, those of deeper prefixes only with `recursive`; NotFound when there is no bucket."""
    name = ObjectName.parse(uri)
    with _told(name, "read"):
        if recursive:
            batches = obstore.list(name.store, name.key or None, chunk_size=1000)
            listed: list[Any] = [each for batch in batches for each in batch]
        else:
            listed = list(obstore.list_with_delimiter(name.store, name.key or None)["objects"])
    found = [_found(ObjectName(name.bucket, each["path"]), each) for each in listed if each["path"] != name.key]
    # An empty object may be the mark of a directory, which has a slash at its end that listings leave out.
    return [each for each in found if each.size or find_object(each.uri) is not None]


def delete_objects(uri: str) -> None:
    """Delete everything below a prefix."""
    name = ObjectName.parse(uri)
    with _told(name, "deleted"):
        paths = [each["path"] for batch in obstore.list(name.store, name.key, chunk_size=1000) for each in batch]
        if paths:
            obstore.delete(name.store, paths)


def missing(uri: str) -> NotFound:
    """The error for an object that is not there, which says whether its bucket is missing as well."""
    return _absent(ObjectName.parse(uri))


class ObjectReader:
    """The bytes of one object; `ahead` is for readers that go through it from the front.

    The first answer says how large it is and which version this is; later ones have to be of the same. What went wrong
    stays in `failure`, because not everything in Arrow hands errors on as they are.
    """

    def __init__(self, uri: str, *, ahead: bool = False) -> None:
        self._name = ObjectName.parse(uri)
        self._ahead = ahead
        self._size: int | None = None
        self._version: str | None = None
        self._at = 0
        self._held, self._held_from = memoryview(b""), 0
        self.closed = False
        self.failure: OmnigraphError | None = None

    def read(self, count: int = -1) -> Any:
        """The next bytes, all of the rest without a number; fewer only at the end."""
        with self._noted():
            return self._read(count)

    def _read(self, count: int) -> Any:
        if count is None or count < 0:
            count = self.size() - self._at
        begin, end = self._at, self._at + count
        if self._size is not None:
            end = min(end, self._size)
        if begin >= end:
            return b""
        held_to = self._held_from + len(self._held)
        if not (self._held_from <= begin and end <= held_to):
            self._fetch(begin, end)
        data = self._held[begin - self._held_from : end - self._held_from]
        self._at += len(data)
        if not self._keeps(self._at):
            self._held = memoryview(b"")
        return data

    read_buffer = read  # what Arrow calls for bytes that it need not copy

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence)
        self._at = (self.size() if base is None else base) + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        """How many bytes there are."""
        if self._size is None:
            with self._noted(), _told(self._name, "read"):
                self._note(obstore.head(self._name.store, self._name.key))
        assert self._size is not None
        return self._size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
        self._held = memoryview(b"")

    def _keeps(self, at: int) -> bool:
        """Whether what is held will be read again, or is still to be read."""
        if self._size is not None and self._size <= _WHOLE_BYTES:
            return True
        return self._ahead and at < self._held_from + len(self._held)

    def _fetch(self, begin: int, end: int) -> None:
        """Hold at least these bytes, as far as there are any."""
        if self._size is not None and self._size <= _WHOLE_BYTES:
            begin, end = 0, self._size
        elif self._ahead:
            held = self._held[begin - self._held_from :] if begin >= self._held_from else memoryview(b"")
            if held:  # the rest of what was fetched ahead, and what follows
                begin += len(held)
                end = max(end, begin + _AHEAD_BYTES)
                fresh = self._range(begin, end)
                self._held, self._held_from = memoryview(bytes(held) + bytes(fresh)), begin - len(held)
                return
            end = max(end, begin + _AHEAD_BYTES)
        self._held, self._held_from = memoryview(self._range(begin, end)), begin

    def _range(self, begin: int, end: int) -> Any:
        if self._size is not None:
            end = min(end, self._size)
            if begin >= end:
                return b""
        options: Any = {"range": (begin, end)}
        if self._version is not None:
            options["if_match"] = self._version
        with _told(self._name, "read"):
            try:
                answer = obstore.get(self._name.store, self._name.key, options=options)
                self._note(answer.meta)
                return answer.bytes()
            except exceptions.PreconditionError as error:
                raise BadRequest(f"'{self._name.uri}' was replaced while it was read; read it again") from error
            except Exception:
                # A range that begins where the object ends, of an empty one for example, is an error.
                if self._size is None and begin >= self.size():
                    return b""
                raise

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except OmnigraphError as error:
            self.failure = error
            raise

    def _note(self, meta: Any) -> None:
        self._size, self._version = meta["size"], meta["e_tag"]


class ObjectWriter:
    """A new object, which is there when it is closed: as one request, or in parts when it is large."""

    def __init__(self, uri: str) -> None:
        self._name = ObjectName.parse(uri)
        if not self._name.key:
            raise BadRequest(f"'{uri}' is not the name of a file")
        self._at = 0
        with _told(self._name, "written"):
            self._writer: Any = obstore.open_writer(
                self._name.store, self._name.key, buffer_size=_PART_BYTES, max_concurrency=_PARTS
            )

    @property
    def closed(self) -> bool:
        return self._writer is None

    def write(self, data: Any) -> int:
        if self._writer is None:
            raise ValueError("the file is closed")
        copied = bytes(data)  # the client keeps what it is given, and Arrow writes its buffers again
        with _told(self._name, "written"):
            self._writer.write(copied)
        self._at += len(copied)
        return len(copied)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """Parts are sent when they are full, and the last one when the file is closed."""

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Finish the object."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            with _told(self._name, "written"):
                writer.close()

    def abandon(self) -> None:
        """Leave what was there before; parts that were sent are removed by the rules of the bucket."""
        self._writer = None


# --- what goes wrong ---------------------------------------------------------------------------------------


@contextmanager
def _told(name: ObjectName, done: str) -> Iterator[None]:
    try:
        yield
    except OmnigraphError:
        raise
    except Exception as error:
        raise _told_plainly(name, done, error) from error


def _told_plainly(name: ObjectName, done: str, error: Exception) -> OmnigraphError:
    """What happened to which object, and what to do about it."""
    what, text = f"'{name.uri}' cannot be {done}", str(error)
    cloud = CLOUDS[name.bucket.scheme]
    kind = error_kind(error)
    if is_no_container(text):
        return _no_container(name, done)
    if kind == "NotFound" and done == "read":
        return _absent(name)
    if lacks_identity(text):
        named = " or ".join(cloud.example)
        return StorageError(f"{what}: there are no credentials for it; set {named}", kind="Configuration")
    if kind == "Configuration":
        code = refusal_code(text)
        why = "the store refuses these credentials" + (f" ({code})" if code else "")
        return StorageError(f"{what}: {why}; check {', '.join(cloud.example)} and what they allow", kind=kind)
    if kind == "Transient":
        server = f"the network and {cloud.endpoints[0]}"
        return StorageError(f"{what}: {brief(error)}; check {server}, and try again", kind=kind)
    return StorageError(f"{what}: {brief(error)}", kind=kind)


def _absent(name: ObjectName) -> NotFound:
    """That there is no object, or not even its bucket, which the answer to a question for an object does not say."""
    try:
        next(iter(obstore.list(name.store, name.key or None, chunk_size=1)), None)
    except Exception as error:
        if is_no_container(str(error)):
            return _no_container(name, "read")
    return NotFound(f"there is no file '{name.uri}'")


def _no_container(name: ObjectName, done: str) -> NotFound:
    what = CLOUDS[name.bucket.scheme].container
    return NotFound(
        f"'{name.uri}' cannot be {done}: there is no {what} '{name.bucket.container}', or these credentials cannot see"
        f" it; check its name{', or create it first' if done == 'written' else ''}"
    )


def _found(name: ObjectName, meta: Any) -> Found:
    return Found(name.uri, meta["size"], meta["last_modified"].timestamp())
