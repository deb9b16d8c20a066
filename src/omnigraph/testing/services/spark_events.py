"""What Spark wrote down about an application: the attempts of its tasks, and how each ended."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GROUP = "omnigraph-"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a task: `stage` is a stage of a load by its name, `ended` what Spark calls its end, or empty."""

    stage: str
    task: tuple[int, int]
    number: int
    host: str
    speculative: bool
    ended: str = ""
    executor: str = ""


@dataclass(slots=True)
class Executor:
    """When an executor came and went, in milliseconds, and why it went."""

    added: int
    removed: int | None = None
    why: str = ""


def event_log(place: Path) -> dict[str, str]:
    """The settings with which an application writes its log to a directory."""
    place.mkdir(exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": place.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def attempts(place: Path) -> list[Attempt]:
    """Every attempt at a task of ours that the logs in a directory know, those of a killed driver included."""
    stages: dict[int, str] = {}
    found: dict[tuple[Path, int], Attempt] = {}
    for log in sorted(place.iterdir()):
        stages.clear()
        for event in _events(log):
            stages.update(_started(event))
            if event["Event"] in ("SparkListenerTaskStart", "SparkListenerTaskEnd"):
                found[log, event["Task Info"]["Task ID"]] = _attempt(event, stages)
    return list(found.values())


def sums(place: Path) -> dict[str, Counter[str]]:
    """What Spark says that all tasks of each stage of ours have counted."""
    stages: dict[int, str] = {}
    found: dict[str, Counter[str]] = {}
    for log in sorted(place.iterdir()):
        stages.clear()
        for event in _events(log):
            stages.update(_started(event))
            if event["Event"] == "SparkListenerStageCompleted":
                info = event["Stage Info"]
                mine = {each["Name"]: int(each["Value"]) for each in info["Accumulables"] if not each["Internal"]}
                found.setdefault(stages.get(info["Stage ID"], ""), Counter()).update(mine)
    return found


def executors(place: Path) -> dict[str, Executor]:
    """The executors of the one application whose log is in a directory, by their ids."""
    (log,) = place.iterdir()
    found: dict[str, Executor] = {}
    for event in _events(log):
        if event["Event"] == "SparkListenerExecutorAdded":
            found[event["Executor ID"]] = Executor(event["Timestamp"])
        elif event["Event"] == "SparkListenerExecutorRemoved":
            known = found[event["Executor ID"]]
            known.removed, known.why = event["Timestamp"], event["Removed Reason"]
    return found


def stage_times(place: Path, stage: str) -> list[tuple[int, int]]:
    """When the jobs of one stage of ours began and ended, in milliseconds, in their order."""
    (log,) = place.iterdir()
    begun: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    for event in _events(log):
        if event["Event"] == "SparkListenerJobStart" and stage in _started(event).values():
            begun[event["Job ID"]] = event["Submission Time"]
        elif event["Event"] == "SparkListenerJobEnd" and event["Job ID"] in begun:
            found.append((begun[event["Job ID"]], event["Completion Time"]))
    return found


def twice(found: Iterable[Attempt]) -> Counter[str]:
    """How many tasks were attempted a second time while the first attempt went on, by stage."""
    return Counter(stage for stage, _ in {(each.stage, each.task) for each in found if each.speculative})


def _started(event: dict[str, Any]) -> dict[int, str]:
    """The stages of Spark that a job brings, by the name of ours."""
    if event["Event"] != "SparkListenerJobStart":
        return {}
    group = event["Properties"].get("spark.jobGroup.id", "")
    return dict.fromkeys(event["Stage IDs"], group.removeprefix(_GROUP))


def _attempt(event: dict[str, Any], stages: dict[int, str]) -> Attempt:
    info = event["Task Info"]
    return Attempt(
        stages.get(event["Stage ID"], ""),
        (event["Stage ID"], info["Index"]),
        info["Attempt"],
        info["Host"],
        info["Speculative"],
        event.get("Task End Reason", {}).get("Reason", ""),
        info["Executor ID"],
    )


def _events(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text().split("\n"):
        try:
            yield json.loads(line)
        except ValueError:
            return  # the end of a log whose application was killed
