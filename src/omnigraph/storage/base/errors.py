"""Lance failures in our words: the one place that reads the texts of lance's exceptions."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from omnigraph.errors import Corrupt, HistoricalVersionReclaimed, OmnigraphError, StorageError

Kind = Literal["Transient", "Configuration", "NotFound", "Precondition", "Permanent", "Unknown"]
Missing: TypeAlias = Callable[[OmnigraphError], OmnigraphError]
"""What a missing file means to a reader: damage, or that a cleanup has removed what it belonged to."""

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
    ("Transient", ("too many requests", "bad gateway", "gateway timeout", "serverbusy", "request timeout")),
)
_FULL_WORDS = ("no space left", "disk quota", "storage full")
# What lance says about a file that is too short, or whose content makes no sense.
_DAMAGE_WORDS = (
    "corrupt file",
    "file size is too small",
    "sufficient data",
    "invalid range",
    "failed to fill whole buffer",
    "unknown cookie value",
    "failed to decode",
    "does not contain correct footer",
    "invalid seek",
    "missing its encoding",
    "magic",
    "panicked with message",
    "unable to get root as footer",
    "references parent id",
    "column metadata",
)
_INTERRUPT_WORD = "KeyboardInterrupt"
# What S3, Azure and Google answer.
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REFUSED = re.compile(r"status code: 40[13]\b")
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|The specified bucket does not exist")
# Where clients ask for the identity of the machine, and what that of Azure says without an account.
_NO_IDENTITY = ("169.254.169.254", "169.254.170.2", "metadata.google.internal", "Account must be specified")
# What the client of every object store says about a request that failed.
_STORE_FAILURE = re.compile(
    r"Error performing (?P<method>[A-Z]+) (?P<url>[^ ?]+)\S* in (?P<time>[0-9.]+[a-zµ]+)"
    r"(?:, after (?P<retries>\d+) retries, max_retries: \d+, retry_timeout: \S+)?\s+- (?P<reason>.*)"
)
_PANIC = "PanicException"  # a BaseException of a module that cannot be imported
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
def translated(what: str, *, version: int | None = None, missing: Missing | None = None) -> Iterator[None]:
    """Turn any lance failure inside the block into our tree; an explicit version that is missing was reclaimed.

    `missing` decides instead what a file means that is not there. An interrupt stays one.
    """
    try:
        yield
    except BaseException as error:
        if not is_failure(error):
            raise
        found = translate(error, what, version=version)
        if missing is not None and is_missing(found):
            found = missing(found)
        raise found from error


def is_failure(error: BaseException) -> bool:
    """Whether lance raised this for a failure of its own; raises KeyboardInterrupt where lance reports one as such."""
    if type(error).__name__ == _PANIC:
        return True
    if not isinstance(error, _LANCE_RAISES):
        return False
    # A scan that is interrupted ends with an Arrow error whose text names the interrupt.
    if _INTERRUPT_WORD in str(error):
        raise KeyboardInterrupt from error
    return True


def is_missing(error: OmnigraphError) -> bool:
    """Whether a failure says that a file, or a version, is not there."""
    return isinstance(error, HistoricalVersionReclaimed) or (
        isinstance(error, StorageError) and error.kind == "NotFound"
    )


def translate(error: BaseException, what: str, *, version: int | None = None) -> OmnigraphError:
    """The error of our tree for one lance failure."""
    if type(error).__name__ == _PANIC:
        return Corrupt(f"{what}: a stored file is damaged ({brief(error)})")
    kind = kind_of(error)
    if kind == "NotFound" and version is not None:
        return HistoricalVersionReclaimed(version, table=what)
    if kind == "Unknown" and any(word in str(error).lower() for word in _DAMAGE_WORDS):
        return Corrupt(f"{what}: a stored file is damaged ({brief(error)})")
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


def is_full_disk(error: OmnigraphError) -> bool:
    """Whether there was no space, or no more of a quota, for what had to be written."""
    text = str(error).lower()
    return isinstance(error, StorageError) and error.kind == "Permanent" and any(word in text for word in _FULL_WORDS)


def lacks_version_file(error: StorageError) -> bool:
    """Whether a dataset is there but the file of the version to open is not."""
    return error.kind == "NotFound" and "/_versions/" in error.message and ".manifest" in error.message


def is_no_container(text: str) -> bool:
    """Whether the answer of an object store says that there is no such bucket."""
    return _NO_BUCKET.search(text) is not None


def refusal_code(text: str) -> str | None:
    """The word for which an object store has refused a request, where it says one."""
    found = _CODE.search(text)
    return None if found is None else found[1]


def lacks_identity(text: str) -> bool:
    """Whether a client found no credentials, and then asked in vain who the machine is."""
    return any(words in text for words in _NO_IDENTITY)


def brief(error: BaseException) -> str:
    """What an exception says, in one line."""
    # Lance appends its Rust source positions after ", /home/runner/"; they do not help the reader.
    text = str(error).strip().split(", /home/runner/", 1)[0].split(", /rustc/", 1)[0]
    if not text:
        return type(error).__name__
    if _NO_BUCKET.search(text):
        return "the bucket does not exist, or these credentials cannot see it; create it first"
    if lacks_identity(text):
        return "there are no credentials for the store; set its variables, or run where the machine has a role"
    line = text.splitlines()[0]
    found = _STORE_FAILURE.search(line)
    if found is None:
        return line
    tries = "" if found["retries"] is None else f" after {found['retries']} retries in {found['time']}"
    reason = found["reason"]
    if _REFUSED.search(reason):
        code = refusal_code(text)
        reason = "the store refuses these credentials" + (f" ({code})" if code else "")
    return f"{found['method']} {found['url']} failed{tries}: {reason}"
