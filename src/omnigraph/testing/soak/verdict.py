"""The verdict of a soak: every logged write against what the graph holds in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.storage.base.store import Store
from omnigraph.storage.manifest import manifest
from omnigraph.storage.protocol.recovery import RECOVERY_ACTOR
from omnigraph.testing.graphs.tiny import TABLES, contents
from omnigraph.testing.soak.worker import BRANCHES, HOT, Try, events

UNDECIDED = frozenset({"RecoveryRequired"})
# Whatever else a process may be told, damage is nothing that processes which die and stall can do.
DAMAGE = frozenset({"Corrupt", "HistoricalVersionReclaimed"})


@dataclass(slots=True)
class Verdict:
    """Counts of a run, and every broken promise in words."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The verdict for a terminal."""
        lines = [f"{name:24} {count}" for name, count in self.counts.items()]
        lines += [f"  refused: {name:20} {count}" for name, count in self.refusals.most_common()]
        lines += [f"BROKEN: {problem}" for problem in self.problems[:40]]
        lines.append(f"{len(self.problems)} problems" if self.problems else "every promise held")
        return "\n".join(lines)


@dataclass(slots=True)
class _Journal:
    tries: dict[str, Try] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def judge(store: Store, log: Path) -> Verdict:
    """Compare logs and graph."""
    verdict = Verdict()
    journal = _read(log, verdict)
    verdict.counts.update(attempted=len(journal.tries), acknowledged=len(journal.acknowledged))
    verdict.counts["refused"] = len(journal.refused)
    verdict.counts["lost"] = verdict.counts["partial"] = 0
    published: set[str] = set()
    for branch in BRANCHES:
        published |= _judge_branch(store, branch, journal, verdict)
    for name in sorted(journal.acknowledged.keys() - published):
        verdict.counts["lost"] += 1
        verdict.problems.append(f"{name} was acknowledged but is not published")
    for name in sorted(journal.refused.keys() & published):
        if journal.refused[name] not in UNDECIDED:
            verdict.problems.append(f"{name} was refused with {journal.refused[name]} but is published")
    verdict.counts["published"] = len(published)
    verdict.counts["published, never answered"] = len(published - journal.acknowledged.keys())
    return verdict


def _judge_branch(store: Store, branch: str | None, journal: _Journal, verdict: Verdict) -> set[str]:
    state = manifest.load(store.root, branch).state
    own = [commit for commit in state.lineage.newest_first() if commit.manifest_branch == branch]
    names = [commit.actor_id for commit in own if commit.actor_id not in (None, RECOVERY_ACTOR)]
    verdict.counts[f"commits on {branch or 'main'}"] = len(own)
    verdict.counts[f"aborted on {branch or 'main'}"] = state.aborts.num_rows
    for name, count in Counter(names).items():
        if count > 1:
            verdict.problems.append(f"{name} was published {count} times")
    rows = {key: contents(store, key, branch) for key in TABLES}
    published = {name for name in names if name is not None}
    _judge_atomicity(branch, journal, published, rows, verdict)
    _judge_hot_rows([name for name in names if name is not None], journal, rows, verdict)
    return published


def _judge_atomicity(
    branch: str | None,
    journal: _Journal,
    published: set[str],
    rows: dict[str, dict[str, tuple[str, int]]],
    verdict: Verdict,
) -> None:
    for name, attempt in journal.tries.items():
        if attempt.branch != branch:
            continue
        present = {key for key in TABLES if name in rows[key]}
        wanted = set(attempt.tables) if name in published else set()
        if present != wanted:
            verdict.counts["partial"] += 1
            verdict.problems.append(f"{name}: rows in {sorted(present)}, wanted {sorted(wanted)}")
        if attempt.removes is not None and name in published:
            verdict.problems += [
                f"{name}: {attempt.removes} is still in {k}" for k in wanted if attempt.removes in rows[k]
            ]


def _judge_hot_rows(
    newest_first: list[str], journal: _Journal, rows: dict[str, dict[str, tuple[str, int]]], verdict: Verdict
) -> None:
    """The hot row of each table shows the last published write that touched it."""
    for key in TABLES:
        for name in newest_first:
            attempt = journal.tries[name]
            if attempt.kind in ("hot", "update") and key in attempt.tables:
                if rows[key][HOT][0] != name:
                    verdict.problems.append(f"{key}: the hot row shows {rows[key][HOT][0]}, last written by {name}")
                break


def _read(log: Path, verdict: Verdict) -> _Journal:
    journal = _Journal()
    for event in events(log):
        kind, name = event.pop("event"), event["name"]
        if kind == "try":
            journal.tries[name] = Try(**(event | {"tables": tuple(event["tables"])}))
        elif kind == "ack":
            journal.acknowledged[name] = event["commit"]
        elif kind == "refused":
            journal.refused[name] = event["error"]
            verdict.refusals[event["error"]] += 1
        elif kind == "broken":
            verdict.problems.append(f"{name} raised {event['error']}")
        else:
            verdict.counts["beside writes, refused"] += 1
        if event.get("error") in DAMAGE:
            verdict.problems.append(f"{name} was told {event['error']}: {event['text']}")
    return journal
