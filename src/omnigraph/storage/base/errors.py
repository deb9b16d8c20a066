"""Lance failures in our words: the one place that reads the texts of lance's exceptions."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from omnigraph.errors import HistoricalVersionReclaimed, OmnigraphError, StorageError

Kind = Literal["Transient", "Configuration", "NotFound", "Precondition", "Permanent", "Unknown"]

# Lance raises these for everything (Arrow's errors are among them); only the words tell the cases apart.
_LANCE_RAISES = (OSError, ValueError, RuntimeError, NotImplementedError)
_CONFLICT_WORDS = ("commit conflict", "concurrent", "preempted", "incompatible with concurrent", "conflicting")
# Order matters: a missing bucket is also a 404, and the debug text of any S3 failure mentions its "retry_timeout".
_KIND_BY_WORDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("Configuration", ("permission denied", "access denied", "accessdenied", "forbidden", "invalidaccesskeyid")),
    ("Configuration", ("signaturedoesnotmatch", "unauthenticated", "no such bucket", "nosuchbucket")),
    ("Permanent", ("no space left", "disk quota", "file too large", "storage full", "read-only file system")),
    ("NotFound", ("was not found", "not found", "no such file")),
    ("Transient", ("timed out", "connection", "connect error", "dns error", "reset by peer", "slow down")),
    ("Transient", ("error sending request", "internal server error", "service unavailable", "temporarily")),
)
_KIND_BY_CLASS: tuple[tuple[type[BaseException], Kind], ...] = (
    (FileNotFoundError, "NotFound"),
    (PermissionError, "Configuration"),
    (TimeoutError, "Transient"),
    (ConnectionError, "Transient"),
)
_KIND_BY_ERRNO: dict[int, Kind] = {
    errno.ENOSPC: "Permanent",
    errno.EDQUOT: "Permanent",
    errno.EFBIG: "Permanent",
    errno.EROFS: "Permanent",
    errno.EACCES: "Configuration",
    errno.EPERM: "Configuration",
    errno.ENOENT: "NotFound",
    errno.ENOTDIR: "NotFound",
    errno.ETIMEDOUT: "Transient",
    errno.EAGAIN: "Transient",
    errno.EINTR: "Transient",
    errno.EMFILE: "Transient",
}


@contextmanager
def translated(what: str, *, version: int | None = None) -> Iterator[None]:
    """Turn any lance failure inside the block into our tree; an explicit version that is missing was reclaimed."""
    try:
        yield
    except _LANCE_RAISES as error:
        raise translate(error, what, version=version) from error


def translate(error: Exception, what: str, *, version: int | None = None) -> OmnigraphError:
    """The error of our tree for one lance failure."""
    kind = kind_of(error)
    if kind == "NotFound" and version is not None:
        return HistoricalVersionReclaimed(version, table=what)
    return StorageError(f"{what}: {brief(error)}", kind=kind)


def kind_of(error: BaseException) -> Kind:
    """Which kind of storage trouble an exception reports."""
    number = getattr(error, "errno", None)
    if number in _KIND_BY_ERRNO:
        return _KIND_BY_ERRNO[number]
    by_class = next((kind for cls, kind in _KIND_BY_CLASS if isinstance(error, cls)), None)
    if by_class is not None:
        return by_class
    text = str(error).lower()
    return next((kind for kind, words in _KIND_BY_WORDS if any(word in text for word in words)), "Unknown")


def is_conflict(error: BaseException) -> bool:
    """Whether the failed commit certainly had no effect because another commit came first."""
    if type(error).__name__ == "CommitConflictError":
        return True
    text = str(error).lower()
    return isinstance(error, OSError) and any(word in text for word in _CONFLICT_WORDS)


def lacks_version_file(error: StorageError) -> bool:
    """Whether a dataset is there but the file of the version to open is not."""
    return error.kind == "NotFound" and "/_versions/" in error.message and ".manifest" in error.message


def brief(error: BaseException) -> str:
    """What an exception says, in one line."""
    # Lance appends its Rust source positions after ", /home/runner/"; they help nobody who reads the message.
    text = str(error).strip().split(", /home/runner/", 1)[0]
    return text.splitlines()[0] if text else type(error).__name__
