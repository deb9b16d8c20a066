"""Structured logs: one JSON object per line on standard error; fields, never bodies or tokens."""

from __future__ import annotations

import json
import logging
import logging.handlers
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from omnigraph.errors import StartRefused

LEVEL = "OMNIGRAPH_LOG"
AUDIT = "OMNIGRAPH_AUDIT_LOG"
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


def configure(environ: Mapping[str, str]) -> None:
    """Send every log line of this process to standard error as JSON; the level is info unless the environment says."""
    wanted = environ.get(LEVEL, "").strip().upper()
    level = wanted if wanted in logging.getLevelNamesMapping() else "INFO"
    handler = logging.StreamHandler(sys.stderr)
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
