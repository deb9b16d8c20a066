"""What the images are built from is in the repository and reaches the build, and what the manifests start is in the images."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from omnigraph.cli.table.parse import parse
from omnigraph.pipeline.spark.session import MASTER
from tools.images.build import base_image
from tools.images.manifests import KUBERNETES, NotUnderstoodError, Pod, documents, link_variables, pods, services

REPOSITORY = Path(__file__).resolve().parent.parent
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
IGNORED = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
ENTRYPOINT = REPOSITORY / "deploy" / "spark" / "entrypoint.sh"
MANIFESTS = documents(*sorted(KUBERNETES.glob("*.yaml")))
PODS = {pod.name: pod for pod in pods(MANIFESTS)}
# Variables that Spark itself reads.
OF_SPARK = {"SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_DAEMON_MEMORY"}


def copied() -> list[str]:
    """What the Dockerfile copies from the repository."""
    lines = [shlex.split(line)[1:] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    return [source for line in lines if not line[0].startswith("--from") for source in line[:-1]]


def reaches_the_build(path: str, rules: list[str]) -> bool:
    """Whether `.dockerignore` lets a file through: the last rule counts that fits it or a directory above it."""
    parts = path.split("/")
    inside = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    let_through = True
    for rule in filter(None, (line.strip() for line in rules)):
        if not rule.startswith("#"):
            pattern = _expression(rule.removeprefix("!").strip("/"))
            if any(pattern.fullmatch(each) for each in inside):
                let_through = rule.startswith("!")
    return let_through


def _expression(rule: str) -> re.Pattern[str]:
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", rule)
    return re.compile("".join(meanings.get(piece, re.escape(piece)) for piece in pieces))


def tracked(source: str) -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "--", source], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("this is not a checkout")
    return done.stdout.splitlines()


@pytest.mark.parametrize("source", sorted(set(copied())))
def test_what_the_dockerfile_copies_is_tracked_and_reaches_the_build(source: str) -> None:
    files = tracked(source)
    assert files, f"{source} is not in the repository"
    assert not [file for file in files if not reaches_the_build(file, IGNORED)]


@pytest.mark.parametrize(
    ("path", "rules", "found"),
    [
        ("deploy/spark/pack.sh", ["*", "!src", "!deploy/entrypoint.sh"], False),
        ("deploy/spark/pack.sh", ["*", "!deploy/spark"], True),
        ("deploy/spark/pack.sh", ["*", "!deploy/spark", "deploy/*/*.sh"], False),
        ("src/a/__pycache__/b.pyc", ["*", "!src", "**/__pycache__"], False),
        ("__pycache__/b.pyc", ["**/__pycache__"], False),
        ("src/src.py", ["src.py"], True),
        ("src/a.py", ["# src", "", "*.py"], True),
        ("tests/a.py", ["/tests/"], False),
        ("a1.py", ["a?.py"], False),
        ("a12.py", ["a?.py"], True),
    ],
)
def test_rules_of_dockerignore_are_read_as_docker_reads_them(path: str, rules: list[str], found: bool) -> None:
    assert reaches_the_build(path, rules) is found


def test_there_is_one_base_image_with_the_oldest_python_that_is_supported() -> None:
    assert base_image(REPOSITORY / "Dockerfile") == "python:3.11-slim"


@pytest.mark.parametrize("script", ["deploy/entrypoint.sh", "deploy/spark/entrypoint.sh"])
def test_what_an_image_starts_can_be_executed(script: str) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--stage", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is not a checkout")
    assert listed.stdout.startswith("100755 ")
    copies = [shlex.split(line)[1:] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    placed = {target + script.removeprefix(source) for source, target in (c for c in copies if len(c) == 2)}
    begun = {
        ast.literal_eval(line.split(" ", 1)[1])[0] for line in DOCKERFILE.splitlines() if line.startswith("ENTRYPOINT ")
    }
    assert [path for path in placed for name in begun if path == name or path == f"/usr/local/bin/{name}"]


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_a_pod_starts_what_the_image_has(pod: Pod) -> None:
    text = ENTRYPOINT.read_text(encoding="utf-8")
    roles = re.findall(r"^  (\w+)\)$", text, re.MULTILINE)
    assert pod.image == "omnigraph-spark"
    assert pod.args[0] in roles
    known = OF_SPARK | {MASTER} | set(re.findall(r"\$\{(\w+):-", text))
    assert {*pod.environment, *pod.address_variables} <= known
    assert not pod.privileges
    assert (pod.user, bool(pod.memory)) == (10001, True)
    if pod.args[0] == "run":
        parse(list(pod.args[1:]))  # refuses what the command line does not have
    for argument in pod.args:
        for host in re.findall(r"spark://([\w-]+):7077", argument):
            assert host in {service.name for service in services(MANIFESTS)}


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_variables_of_kubernetes_are_none_that_the_entry_point_reads(pod: Pod) -> None:
    """A service `spark-connect` is `SPARK_CONNECT_PORT=tcp://…` in each pod, unless the pod says that it is not."""
    read = set(re.findall(r"\$\{(\w+):-", ENTRYPOINT.read_text(encoding="utf-8")))
    assert not read & link_variables(pod, services(MANIFESTS), {}).keys()


def test_services_with_an_address_are_variables_of_pods_that_do_not_refuse_them() -> None:
    pod = Pod("p", "i", ())
    linked = link_variables(pod, services(MANIFESTS), {"spark-connect": "10.0.0.7"})
    assert linked["SPARK_CONNECT_PORT"] == "tcp://10.0.0.7:15002"
    assert linked["SPARK_CONNECT_SERVICE_PORT_GRPC"] == "15002"
    assert not [name for name in linked if name.startswith("SPARK_MASTER")], "it has no address of its own"


def test_a_manifest_with_something_unknown_is_refused() -> None:
    spec = {"containers": [{"image": "i", "args": ["master"], "lifecycle": {}}]}
    document = {"kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": spec}}}
    with pytest.raises(NotUnderstoodError, match="lifecycle"):
        pods([document])
