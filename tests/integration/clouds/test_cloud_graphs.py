"""Graphs on Azure and Google Cloud Storage: the same objects, the same races with one winner, the same graph."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.errors import BadRequest, StorageError
from omnigraph.storage.base.layout import Root, normalize_root
from omnigraph.storage.base.objects import open_objects
from omnigraph.testing.crash.invariants import violations
from omnigraph.testing.naive.observe import image_of
from omnigraph.testing.services.clouds import CloudServer
from omnigraph.testing.services.object_behaviour import BEHAVIOURS, Behaviour
from relocation_trial import build, compact_branches, copy_files, heads, observed, opened, thin_out, work

SCHEMA = "node Person { name: String @key }  edge Knows: Person -> Person"


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda behaviour: behaviour.__name__)
def test_the_objects_behave(behaviour: Behaviour, root: Root) -> None:
    behaviour(open_objects(root))


@pytest.mark.slow
def test_a_graph_with_branches_lives_there_and_goes_to_a_disk_and_back(
    root: Root, cloud: CloudServer, tmp_path: Path
) -> None:
    before = observed(build(root.uri))
    disk = tmp_path / "disk.omni"
    copy_files(root, normalize_root(disk))
    assert observed(opened(str(disk), read_only=True)) == before
    work(opened(str(disk)), "disk")
    back = cloud.fresh_root("deeper/back")
    copy_files(normalize_root(disk), back)
    work(opened(back.uri), "back")
    compact_branches(opened(back.uri))
    graph = opened(back.uri)
    shown = heads(graph)
    thin_out(graph)
    shown.pop("idle")
    assert heads(opened(back.uri)) == shown
    assert observed(opened(root.uri, read_only=True)) == before


RACER = """
import sys
import omnigraph as og
from omnigraph.errors import OmnigraphError
place, who, schema = sys.argv[1:]
sys.stdin.readline()
try:
    og.init(place, schema)
    print("created")
except OmnigraphError as error:
    print(error.code)
sys.stdout.flush()
sys.stdin.readline()
graph = og.open(place, actor=who)
for number in range(5):
    graph.mutate('query q($n: String) { insert Person { name: $n } }', params={"n": f"{who}-{number}"})
"""


@pytest.mark.slow
def test_of_several_processes_one_makes_the_graph_and_all_write_one_chain(root: Root) -> None:
    people = ("act-a", "act-b", "act-c")
    command = [sys.executable, "-c", RACER, root.uri]
    racers = [
        subprocess.Popen([*command, who, SCHEMA], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in people
    ]
    told = []
    for step in range(2):
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        if step == 0:
            told = [racer.stdout.readline().strip() for racer in racers if racer.stdout is not None]
    for racer in racers:
        racer.communicate(timeout=300)
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert Counter(told)["created"] == 1
    graph = og.open(root.uri)
    assert set(image_of(graph.view())["node:Person"]) == {f"{who}-{number}" for who in people for number in range(5)}
    history = graph.commits.list()
    assert [each.parent_commit_id for each in history] == [*(each.graph_commit_id for each in history[1:]), None]
    assert violations(graph._core.store) == []


def test_wrong_credentials_are_a_configuration_error(root: Root, cloud: CloudServer) -> None:
    if cloud.scheme == "gs":
        pytest.skip("fake-gcs-server checks no credentials")
    og.init(root.uri, SCHEMA)
    wrong = normalize_root(root.uri, env=cloud.environment | {"AZURE_STORAGE_ACCOUNT_KEY": "d3Jvbmc="})
    with pytest.raises(StorageError) as caught:
        open_objects(wrong).read("_schema.pg")
    assert caught.value.kind == "Configuration"


def test_a_server_without_tls_needs_the_switch(root: Root, cloud: CloudServer) -> None:
    switch = {"az": "AZURE_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP"}[cloud.scheme]
    without = {name: value for name, value in cloud.environment.items() if name != switch}
    with pytest.raises(BadRequest, match=f"set {switch}=true"):
        normalize_root(root.uri, env=without)
