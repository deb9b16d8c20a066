"""What the manifests of deploy/ start, as plain values: pods of Kubernetes and services of Compose.

A key that is not understood is an error, so that a manifest cannot ask for more than the session gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
_UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
# What Kubernetes sets in every pod, whatever the manifest says.
_ALWAYS = "kubernetes"


class NotUnderstoodError(Exception):
    """A manifest has something that is not known here."""


@dataclass(frozen=True, slots=True)
class Volume:
    """What a container sees at a path: an empty directory, files of a config map, or a directory of the host."""

    path: str
    files: Mapping[str, str] | None = None
    host: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Pod:
    """One container with what it is given."""

    name: str
    image: str
    args: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    address_variables: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    volumes: tuple[Volume, ...] = ()
    user: int | None = None
    group_of_volumes: int | None = None
    memory: int | None = None
    privileges: bool = False
    service_links: bool = True
    read_only: bool = False
    ready_port: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """A name for pods, and their ports; a headless one has no address of its own."""

    name: str
    selector: Mapping[str, str]
    ports: Mapping[str, int]
    headless: bool

    def selects(self, pod: Pod) -> bool:
        return self.selector.items() <= pod.labels.items()


def documents(*paths: Path) -> list[dict[str, Any]]:
    """The documents of manifests, in order."""
    return [found for path in paths for found in yaml.safe_load_all(path.read_text(encoding="utf-8")) if found]


def services(found: Iterable[Mapping[str, Any]]) -> list[Service]:
    """The services among the documents."""
    made = []
    for document in found:
        if document["kind"] != "Service":
            continue
        spec = _only(document["spec"], "selector", "clusterIP", "ports")
        ports = {port["name"]: port["port"] for port in (_only(each, "name", "port") for each in spec["ports"])}
        headless = spec.get("clusterIP") == "None"
        made.append(Service(document["metadata"]["name"], spec["selector"], ports, headless))
    return made


def pods(found: Iterable[Mapping[str, Any]]) -> list[Pod]:
    """The pods that the documents start: each replica is one."""
    found = list(found)
    files = {each["metadata"]["name"]: each["data"] for each in found if each["kind"] == "ConfigMap"}
    made = []
    for document in found:
        name, kind = document["metadata"]["name"], document["kind"]
        if kind in ("ConfigMap", "Service", "ServiceAccount", "NetworkPolicy"):
            continue
        if kind not in ("Deployment", "StatefulSet", "Job"):
            raise NotUnderstoodError(f"a document of kind {kind}")
        for number in range(document["spec"].get("replicas", 1)):
            full = f"{name}-{number}" if kind == "StatefulSet" else f"{name}-pod"
            made.append(_pod(full, document["spec"]["template"], files))
    return made


def _pod(name: str, template: Mapping[str, Any], files: Mapping[str, Mapping[str, str]]) -> Pod:
    spec = _only(
        template["spec"],
        "serviceAccountName", "securityContext", "containers", "volumes", "restartPolicy", "enableServiceLinks",
    )  # fmt: skip
    as_pod = _only(spec.get("securityContext", {}), "runAsNonRoot", "runAsUser", "fsGroup")
    [given] = spec["containers"]
    container = _only(
        given,
        "name", "image", "args", "env", "envFrom", "ports", "readinessProbe", "resources", "securityContext",
        "volumeMounts",
    )  # fmt: skip
    as_container = _only(container.get("securityContext", {}), "allowPrivilegeEscalation", "capabilities")
    plain = {each["name"]: each["value"] for each in container.get("env", []) if "value" in each}
    held = {each["name"]: _volume(each, files) for each in spec.get("volumes", [])}
    return Pod(
        name,
        container["image"],
        tuple(container["args"]),
        template["metadata"]["labels"],
        environment=plain,
        address_variables=tuple(_address_variable(each) for each in container.get("env", []) if "value" not in each),
        secrets=tuple(_only(each, "secretRef")["secretRef"]["name"] for each in container.get("envFrom", [])),
        volumes=tuple(
            Volume(each["mountPath"], held[each["name"]], read_only=held[each["name"]] is not None)
            for each in (_only(mount, "name", "mountPath") for mount in container.get("volumeMounts", []))
        ),
        user=as_pod.get("runAsUser"),
        group_of_volumes=as_pod.get("fsGroup"),
        memory=_bytes(container["resources"]["limits"]["memory"]),
        privileges=as_container != {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        service_links=spec.get("enableServiceLinks", True),
        ready_port=container.get("readinessProbe", {}).get("tcpSocket", {}).get("port"),
    )


def _volume(found: Mapping[str, Any], files: Mapping[str, Mapping[str, str]]) -> Mapping[str, str] | None:
    _only(found, "name", "emptyDir", "configMap")
    return files[found["configMap"]["name"]] if "configMap" in found else None


def _address_variable(found: Mapping[str, Any]) -> str:
    if found.get("valueFrom") != {"fieldRef": {"fieldPath": "status.podIP"}}:
        raise NotUnderstoodError(f"where the variable {found['name']} comes from")
    return str(found["name"])


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)(|Ki|Mi|Gi)", text)
    if found is None:
        raise NotUnderstoodError(f"the amount {text}")
    return int(found[1]) * _UNITS[found[2]]


def _only(found: Mapping[str, Any], *known: str) -> Mapping[str, Any]:
    if unknown := sorted(found.keys() - set(known)):
        raise NotUnderstoodError(", ".join(unknown))
    return found


def link_variables(pod: Pod, known: Iterable[Service], addresses: Mapping[str, str]) -> dict[str, str]:
    """The variables by which Kubernetes tells a pod about services with an address: `SPARK_CONNECT_PORT=tcp://…`."""
    made: dict[str, str] = {}
    linked = [each for each in known if not each.headless] if pod.service_links else []
    for service in (Service(_ALWAYS, {}, {"https": 443}, headless=False), *linked):
        prefix, host = service.name.upper().replace("-", "_"), addresses.get(service.name, "192.0.2.1")
        first = next(iter(service.ports.values()))
        made |= {f"{prefix}_SERVICE_HOST": host, f"{prefix}_SERVICE_PORT": str(first)}
        made[f"{prefix}_PORT"] = f"tcp://{host}:{first}"
        for name, port in service.ports.items():
            made[f"{prefix}_SERVICE_PORT_{name.upper()}"] = str(port)
            each = f"{prefix}_PORT_{port}_TCP"
            made |= {each: f"tcp://{host}:{port}", f"{each}_PROTO": "tcp"}
            made |= {f"{each}_PORT": str(port), f"{each}_ADDR": host}
    return made


def composed(name: str, path: Path = ROOT / "deploy" / "compose.yaml") -> Pod:
    """A service of the compose file that is built from the Dockerfile."""
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))["services"][name]
    known = _only(spec, "build", "entrypoint", "environment", "volumes", "ports", "depends_on")
    if known["build"] != {"context": "..", "dockerfile": "Dockerfile"}:
        raise NotUnderstoodError(f"how the image of {name} is built")
    entrypoint = known.get("entrypoint")
    volumes = []
    for each in known.get("volumes", []):
        host, place, *mode = each.split(":")
        volumes.append(Volume(place, host=str((path.parent / host).resolve()), read_only=mode == ["ro"]))
    return Pod(
        name,
        "omnigraph",
        (),
        entrypoint=tuple(entrypoint) if entrypoint else None,
        environment=known["environment"],
        volumes=tuple(volumes),
        privileges=True,
        service_links=False,
    )
