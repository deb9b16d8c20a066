"""One Spark session for every test here, in each worker process; what it takes long for is slow, but for a few."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.pipeline.spark.session import spark_session

HERE = Path(__file__).parent


# A first sign of trouble, in a run that leaves the slow tests out.
QUICK = (
    "test_a_type_is_a_frame_with_its_columns",
    "test_columns_and_types_are_the_promised_ones_even_without_rows",
    "test_the_facade_loads_on_spark_and_says_so",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        here = isinstance(item, pytest.Function) and HERE in item.path.parents
        if here and "spark" in item.fixturenames and item.originalname not in QUICK:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session on two cores; a failed task is tried again."""
    session = spark_session("local[2,4]")
    yield session
    session.stop()
