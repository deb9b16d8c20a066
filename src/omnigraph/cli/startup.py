"""What keeps a command quick to start."""

from __future__ import annotations

import sys


def skip_pandas() -> None:
    """Let Arrow and Lance find no pandas in this process: no command uses it, and importing it takes over a second."""
    sys.meta_path.insert(0, _Absent())


class _Absent:
    """A finder that says of pandas that it is not installed, and nothing of anything else."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed by this command", name=name)
