"""Letting go of history that is older than the settings keep; a writer does it now and then, after its commit."""

from __future__ import annotations

import logging
from datetime import timedelta

from omnigraph.engine.maintenance.cleanup import Policy, cleanup
from omnigraph.engine.views.core import Core

_log = logging.getLogger("omnigraph.maintenance")


def forget_older(core: Core, age: timedelta) -> None:
    """Clean up what is older; the commit that it follows has succeeded, so a failure is only worth a line in the log.

    What stands in the way (another cleanup, an export, an interrupted writer) will be gone the next time.
    """
    try:
        report = cleanup(core, Policy(core.store.settings.history_versions, age), confirm=True)
    except Exception as error:
        _log.warning("history was not cleaned up: %s", error)
        return
    removed = sum(each.old_versions_removed for each in report.datasets)
    _log.info("history older than %s went: %d table versions", age, removed)
