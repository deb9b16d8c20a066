"""What a failure of Spark says to the one who started the job."""

from __future__ import annotations

import pytest

from omnigraph.errors import StorageError
from omnigraph.pipeline.tasks.watching import translated

JAVA = """An error occurred while calling o882.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
Caused by: org.apache.spark.SparkException: Not enough memory to build and broadcast the table to all worker nodes.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.notEnoughMemory(QueryExecutionErrors.scala:2180)
"""
PYTHON = """Job aborted due to stage failure
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in work
RuntimeError: no space left on device
\tat org.apache.spark.api.python.BasePythonRunner.run(PythonRunner.scala:1)
"""


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (JAVA, "SparkException: Not enough memory to build and broadcast the table to all worker nodes."),
        (PYTHON, "RuntimeError: no space left on device"),
        ("nothing known\nat all", "nothing known"),
    ],
)
def test_the_cause_at_the_end_of_a_stack_is_named(told: str, reason: str) -> None:
    with pytest.raises(StorageError) as failure, translated("query"):
        raise RuntimeError(told)
    assert f"the Spark job 'query' failed: {reason}; see " in str(failure.value)
