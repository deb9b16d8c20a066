"""Structured logs: one JSON object per line on standard error; fields, never bodies or tokens."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import sys
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from omnigraph.errors import StartRefused

LEVEL = "OMNIGRAPH_LOG"
AUDIT = "OMNIGRAPH_AUDIT_LOG"
_ONE_WRITE = 4_096  # characters; what is written to a pipe at once is not mixed with lines of other workers
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, then its own fields."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields.update({name: value for name, value in vars(record).items() if name not in _PLAIN})
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, ensure_ascii=False)


if TYPE_CHECKING:
    _Handler = logging.StreamHandler[TextIO]
else:
    _Handler = logging.StreamHandler


class LineBatches(_Handler):
    """Writes the lines of one turn of the event loop together; those of other threads, warnings and refusals at once.

    Every write lets another thread take the interpreter. A request has five lines, and beside long reads it waited
    for the interpreter after each of them.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []
        self._size = 0
        self._due: asyncio.AbstractEventLoop | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line; `handle` holds the lock."""
        try:
            line = self.format(record) + self.terminator
        except Exception:
            self.handleError(record)
            return
        if self._size + len(line) > _ONE_WRITE:
            self.flush()
        self._lines.append(line)
        self._size += len(line)
        loop = asyncio._get_running_loop()
        refused = getattr(record, "allowed", True) is False  # who was refused does not know it before the log does
        if loop is None or refused or record.levelno >= logging.WARNING:
            self.flush()
        elif self._due is not loop:
            self._due = loop
            loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what was taken."""
        with self.lock or nullcontext():
            lines, self._lines, self._size, self._due = self._lines, [], 0, None
            with suppress(OSError, ValueError):  # there is nowhere to say that nothing can be said
                if lines:
                    self.stream.write("".join(lines))
                super().flush()


def configure(environ: Mapping[str, str]) -> None:
    """Send every log line of this process to standard error as JSON; the level is info unless the environment says."""
    wanted = environ.get(LEVEL, "").strip().upper()
    level = wanted if wanted in logging.getLevelNamesMapping() else "INFO"
    handler = LineBatches(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel("WARNING")
    logging.getLogger("omnigraph").setLevel(level)
    logging.getLogger("uvicorn").setLevel("WARNING")
    # What no line shows is not looked for: the place in the code, the thread and the process.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    _configure_audit(environ.get(AUDIT, "").strip())


def _configure_audit(path: str) -> None:
    """Decisions of policies: to a file of their own if one is named, else beside the other lines, at any level."""
    audit = logging.getLogger("omnigraph.audit")
    audit.setLevel("INFO")
    for handler in list(audit.handlers):
        audit.removeHandler(handler)
        handler.close()
    audit.propagate = not path
    if not path:
        return
    try:
        # Several workers append to it: each line is one write. A rotated file is opened anew.
        sink = logging.handlers.WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        raise StartRefused(f"{AUDIT} cannot be written: {error.strerror or error}: '{path}'") from None
    sink.setFormatter(JsonLines())
    audit.addHandler(sink)
