"""`version`."""

from __future__ import annotations

from omnigraph.cli.call import Call
from omnigraph.cli.main import release
from omnigraph.cli.terminal import output


def version(call: Call) -> None:
    """The release, and the storage format it reads and writes."""
    from omnigraph.storage.manifest.stamp import CURRENT_STAMP

    output.write(f"{release()}\ninternal-schema {CURRENT_STAMP}\n")
