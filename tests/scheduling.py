"""Which tests one worker runs in a row: those of a module, and those of several that share a server or a JVM.

Groups by marker do not work with pytest 9.2: pytest-xdist hands them on in node ids, which cannot be changed any more.
"""

from __future__ import annotations

from typing import Any

_HTTP = "http"
GROUPS = {
    "tests/integration/browser/": "browser",
    "tests/integration/clouds/": "clouds",
    "tests/integration/s3/": "s3",
    "tests/integration/spark/": "spark",
    "tests/server/test_attacks.py": _HTTP,
    "tests/server/test_auth_http_cases.py": _HTTP,
    "tests/server/test_cluster_boot.py": _HTTP,
    "tests/server/test_guarded_cases.py": _HTTP,
    "tests/server/test_http_cases.py": _HTTP,
    "tests/server/test_openapi.py": _HTTP,
    "tests/server/test_studio.py": _HTTP,
    "tests/test_examples.py": "spark",
}
# The slow tests of Spark take longer than all others together: each worker starts a JVM and takes its part of the files.
_SHARED_OUT = "tests/integration/spark/"


def group_of(nodeid: str, *, slow: bool) -> str:
    """The name of what a test is run in a row with, in a run of the slow tests or of the others."""
    file = nodeid.partition("::")[0]
    if slow and file.startswith(_SHARED_OUT):
        return file
    return next((group for start, group in GROUPS.items() if file.startswith(start)), file)


def scheduler(config: Any, log: Any) -> Any:
    """Hands whole groups to workers, in the order of the files: the small ones come last and fill the gaps."""
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):  # type: ignore[misc,unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid, slow=config.option.markexpr == "slow")

    config.option.loadscopereorder = False
    return Grouped(config, log)
