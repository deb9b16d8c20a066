"""What keeps a command quick to start."""

from __future__ import annotations

import sys


def skip_pandas() -> None:
    """Let Arrow find no pandas when it first looks: no command uses it, and importing it takes over a second."""
    sys.meta_path.insert(0, _OneRefusal())


class _OneRefusal:
    """Says once that pandas is absent, then gets out of the way."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            sys.meta_path.remove(self)
            raise ModuleNotFoundError("pandas is not needed by this command", name=name)
