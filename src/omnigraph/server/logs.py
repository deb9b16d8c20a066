"""Structured logs: one JSON object per line on standard error; fields, never bodies or tokens."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

LEVEL = "OMNIGRAPH_LOG"
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
