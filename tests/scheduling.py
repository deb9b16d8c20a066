"""Which worker runs which module of tests: those that share a server, a browser or a JVM stay with the worker that has it.

Groups by marker do not work with pytest 9.2: pytest-xdist hands them on in node ids, which cannot be changed any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_HTTP = "http"
# What modules share, by how their paths begin, the longest work first.
SHARED = {
    "tests/integration/spark/": "spark",
    "tests/test_examples.py": "spark",
    "tests/integration/browser/": "browser",
    "tests/integration/s3/": "s3",
    "tests/integration/clouds/": "clouds",
    "tests/server/test_attacks.py": _HTTP,
    "tests/server/test_auth_http_cases.py": _HTTP,
    "tests/server/test_cluster_boot.py": _HTTP,
    "tests/server/test_guarded_cases.py": _HTTP,
    "tests/server/test_http_cases.py": _HTTP,
    "tests/server/test_openapi.py": _HTTP,
    "tests/server/test_studio.py": _HTTP,
}
_LONGEST_FIRST = list(dict.fromkeys(SHARED.values()))


def module_of(nodeid: str) -> str:
    """The module of a test, which one worker runs in a row."""
    return nodeid.partition("::")[0]


def shared_by(module: str) -> str | None:
    """What a module shares with others."""
    return next((what for start, what in SHARED.items() if module.startswith(start)), None)


def choose(modules: Iterable[str], worker: object, owners: Mapping[str, object]) -> str:
    """The module that a worker runs next: of what it has started, of what no worker has, one that shares nothing.

    When nothing else is left it takes modules of what another worker has started, so that no worker waits for another one.
    """

    def rank(module: str) -> tuple[int, int]:
        what = shared_by(module)
        if what is None:
            return 2, 0
        if what not in owners:
            return 1, _LONGEST_FIRST.index(what)
        return (0 if owners[what] is worker else 3), 0

    return min(modules, key=rank)


def scheduler(config: Any, log: Any) -> Any:
    """Hands whole modules to workers, otherwise in the order of the files: small ones come last and fill the gaps."""
    from xdist.scheduler import LoadScopeScheduling

    class Shared(LoadScopeScheduling):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__(config, log)
            self._owners: dict[str, object] = {}

        def _split_scope(self, nodeid: str) -> str:
            return module_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            module = choose(self.workqueue, node, self._owners)
            what = shared_by(module)
            if what is not None:
                self._owners.setdefault(what, node)
            self.workqueue.move_to_end(module, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Shared()
