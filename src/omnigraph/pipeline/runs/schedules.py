"""The schedules of declared pipelines as definitions for what runs by the clock: a crontab, or DAGs of Airflow."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from omnigraph.pipeline.runs.declared import Pipeline

_DAG = """
with DAG({dag!r}, schedule={schedule!r}, start_date=START, catchup=False, max_active_runs=1, tags=["omnigraph"]):
    run = BashOperator(task_id="run", bash_command={command!r})
"""
_HEAD = '''"""Made by `omnigraph pipeline schedule --format airflow`; make it again when cluster.yaml changes."""

from datetime import datetime, timezone

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
'''


def crontab(pipelines: Iterable[Pipeline], directory: Path, program: Sequence[str]) -> str:
    """One line per pipeline with a schedule; a pipeline brings those that it comes after along."""
    lines = [f"{each.schedule} {_escaped(_command(each, directory, program))}" for each in pipelines if each.schedule]
    return "".join(f"{line}\n" for line in ["# made by `omnigraph pipeline schedule`", *lines])


def airflow(pipelines: Iterable[Pipeline], directory: Path, program: Sequence[str]) -> str:
    """A module of one DAG per pipeline with a schedule."""
    dags = [
        _DAG.format(dag=f"omnigraph_{each.name}", schedule=each.schedule, command=_command(each, directory, program))
        for each in pipelines
        if each.schedule
    ]
    return "\n".join([_HEAD, *dags])


def _command(pipeline: Pipeline, directory: Path, program: Sequence[str]) -> str:
    words = [*program, "pipeline", "run", pipeline.name, "--config", str(directory), "--with-dependencies", "--json"]
    return shlex.join(words)


def _escaped(command: str) -> str:
    """In a crontab a percent sign ends the command."""
    return command.replace("%", "\\%")
