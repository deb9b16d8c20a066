"""Runs pods without Kubernetes: each is a container of runc on an image of buildah, with an address of its own.

Nothing here reaches the network of the machine: the caller lives in a network namespace that only has its loopback, the
bridge that joins the pods, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.images.manifests import Pod, Service, Volume, link_variables

_BRIDGE = "pods"
_GATEWAY = "10.88.77.1"
_START_SECONDS = 300.0
_STOP_SECONDS = 30.0
# What Docker leaves to a container that is not told to drop anything, as far as a set-uid file could give it to a user.
_USUAL = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_NET_BIND_SERVICE")


class FailedError(Exception):
    """A container ended, did not answer, or answered something else than it had to."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a container that ran to its end has left."""

    code: int
    output: str
    log: str


class Network:
    """The bridge, the addresses on it, and the names of services."""

    def __init__(self, known: Sequence[Service] = ()) -> None:
        self.services = known
        self.addresses: dict[str, str] = {}
        self.names: dict[str, str] = {}
        # Names of namespaces are files: these are seen by nobody else.
        Path("/run/netns").mkdir(exist_ok=True)
        _run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "name", _BRIDGE, "type", "bridge")
        _run("ip", "address", "add", f"{_GATEWAY}/24", "dev", _BRIDGE)
        _run("ip", "link", "set", _BRIDGE, "up")

    def reserve(self, pods: Sequence[Pod]) -> None:
        """Give pods their addresses, so that services have theirs before any pod starts."""
        for pod in pods:
            self.addresses[pod.name] = f"10.88.77.{10 + len(self.addresses)}"
            for service in self.services:
                if service.selects(pod):
                    self.names.setdefault(service.name, self.addresses[pod.name])

    def publish(self, name: str, port: int, target: str) -> str:
        """Let pods reach a server that listens on the loopback of this namespace, by a name."""
        self.names[name] = _GATEWAY
        host, _, there = target.rpartition(":")
        _forward((_GATEWAY, port), (host, int(there)))
        return f"http://{name}:{port}"

    def plug(self, pod: Pod) -> str:
        """A namespace for a pod, with its address on the bridge; the path of it."""
        number = self.addresses[pod.name].rpartition(".")[2]
        outer, inner = f"pod{number}", f"in{number}"
        _run("ip", "netns", "add", outer)
        _run("ip", "link", "add", "name", outer, "type", "veth", "peer", "name", inner)
        _run("ip", "link", "set", outer, "master", _BRIDGE, "up")
        _run("ip", "link", "set", inner, "netns", outer, "name", "eth0")
        _run("ip", "-n", outer, "address", "add", f"{self.addresses[pod.name]}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _run("ip", "-n", outer, "link", "set", device, "up")
        return f"/run/netns/{outer}"

    def unplug(self, namespace: str) -> None:
        _run("ip", "netns", "delete", Path(namespace).name)

    def hosts(self, pod: Pod) -> str:
        lines = ["127.0.0.1 localhost", f"{self.addresses[pod.name]} {pod.name}"]
        return "\n".join([*lines, *(f"{address} {name}" for name, address in self.names.items())]) + "\n"


class Running:
    """A container that has been started."""

    def __init__(self, pod: Pod, address: str, place: Path, process: subprocess.Popen[bytes]) -> None:
        self.pod, self.address, self.place, self._process = pod, address, place, process

    @property
    def output(self) -> str:
        return (self.place / "output").read_text(errors="replace")

    @property
    def log(self) -> str:
        return (self.place / "log").read_text(errors="replace")

    @property
    def is_up(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, port: int) -> None:
        """Return when the container listens at its address."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection((self.address, port), timeout=1):
                return
            if not self.is_up:
                break
            time.sleep(0.2)
        raise FailedError(f"{self.pod.name} does not listen on {port}:\n{self.output[-1000:]}{self.log[-3000:]}")

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command beside what runs in the container, as its user."""
        return subprocess.run(["runc", "exec", self.pod.name, *command], capture_output=True, text=True, check=False)

    def memory(self) -> int | None:
        """The most bytes that the container has used, where the machine counts them."""
        found = Path("/sys/fs/cgroup/memory", _group(self.pod), "memory.max_usage_in_bytes")
        return int(found.read_text()) if found.exists() else None

    def end(self, seconds: float) -> Ended:
        """Wait for the container to end by itself."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise FailedError(f"{self.pod.name} is not done after {seconds:.0f} s:\n{self.log[-4000:]}") from None
        return Ended(code, self.output, self.log)

    def stop(self) -> int | None:
        """Ask the container to stop; the exit code, or None if it had to be killed."""
        subprocess.run(["runc", "kill", self.pod.name, "TERM"], capture_output=True, check=False)
        try:
            return self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            subprocess.run(["runc", "delete", "--force", self.pod.name], capture_output=True, check=False)
            self._process.wait()
            return None


@contextmanager
def started(pod: Pod, network: Network, place: Path, secret: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Start a pod; at the end it is gone, with the layer that it wrote to."""
    place.mkdir()
    if pod.name not in network.addresses:
        network.reserve([pod])
    with ExitStack() as cleanup:
        container = _run("buildah", "from", "--pull-never", pod.image)
        cleanup.callback(_run, "buildah", "rm", container)
        root = Path(_run("buildah", "mount", container))
        namespace = network.plug(pod)
        cleanup.callback(network.unplug, namespace)
        settings = _bundle(pod, network, place, root, dict(secret or {}))
        settings["linux"]["namespaces"].append({"type": "network", "path": namespace})
        (place / "config.json").write_text(json.dumps(settings))
        with (place / "output").open("wb") as output, (place / "log").open("wb") as log:
            run = ["runc", "run", f"--bundle={place}", pod.name]
            process = subprocess.Popen(run, stdout=output, stderr=log)
        cleanup.callback(process.wait)
        cleanup.callback(subprocess.run, ["runc", "delete", "--force", pod.name], capture_output=True, check=False)
        yield Running(pod, network.addresses[pod.name], place, process)


def image(name: str) -> dict[str, Any]:
    """What an image says about how it is run: its entry point, environment, user, health check."""
    found = json.loads(_run("buildah", "inspect", "--type=image", name))
    return dict(found["Docker"]["config"])


def _bundle(pod: Pod, network: Network, place: Path, root: Path, secret: Mapping[str, str]) -> dict[str, Any]:
    given = image(pod.image)
    user, group = _who(root, pod.user if pod.user is not None else int(given["User"]))
    environment = dict(each.split("=", 1) for each in given["Env"])
    environment |= {"HOSTNAME": pod.name, "HOME": "/home/omnigraph"}
    environment |= link_variables(pod, network.services, network.names)
    if pod.secrets:
        environment |= secret
    environment |= pod.environment | dict.fromkeys(pod.address_variables, network.addresses[pod.name])
    kept = list(_USUAL) if pod.privileges else []
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(root), "readonly": pod.read_only},
        "hostname": pod.name,
        "process": {
            "terminal": False,
            "cwd": given["WorkingDir"],
            "args": [*(pod.entrypoint or given["Entrypoint"]), *pod.args],
            "env": [f"{name}={value}" for name, value in environment.items()],
            "user": {
                "uid": user,
                "gid": group,
                "additionalGids": [] if pod.group_of_volumes is None else [pod.group_of_volumes],
            },
            "capabilities": {"bounding": kept},
            "noNewPrivileges": not pod.privileges,
        },
        "mounts": [*_system_mounts(), *_volumes(pod, network, place)],
        "linux": {
            "cgroupsPath": f"/{_group(pod)}",
            "resources": {"memory": {"limit": pod.memory}} if pod.memory else {},
            "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
        },
    }


def _who(root: Path, user: int) -> tuple[int, int]:
    """A user with the group that the image gives to it."""
    for line in (root / "etc/passwd").read_text().splitlines():
        fields = line.split(":")
        if fields[2] == str(user):
            return user, int(fields[3])
    return user, 0


def _group(pod: Pod) -> str:
    return f"omnigraph-session/{pod.name}"


def _system_mounts() -> list[dict[str, Any]]:
    quiet = ["nosuid", "noexec", "nodev"]
    return [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64m"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": [*quiet, "mode=1777", "size=64m"]},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": [*quiet, "ro"]},
        {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": [*quiet, "ro"]},
    ]


def _volumes(pod: Pod, network: Network, place: Path) -> list[dict[str, Any]]:
    (place / "hosts").write_text(network.hosts(pod))
    (place / "resolv.conf").touch()
    mounts = [_bound(f"/etc/{name}", place / name, read_only=True) for name in ("hosts", "resolv.conf")]
    for number, volume in enumerate(pod.volumes):
        host = Path(volume.host) if volume.host else _made(place / f"volume-{number}", volume, pod.group_of_volumes)
        mounts.append(_bound(volume.path, host, read_only=volume.read_only))
    return mounts


def _made(host: Path, volume: Volume, group: int | None) -> Path:
    """A directory as the kubelet makes it: anyone may write to an empty one, and its files get the group of the pod."""
    host.mkdir()
    for name, text in (volume.files or {}).items():
        (host / name).write_text(text)
    if volume.files is None:
        shutil.chown(host, group=group if group is not None else 0)
        host.chmod(0o2777)
    return host


def _bound(path: str, host: Path, *, read_only: bool) -> dict[str, Any]:
    options = ["rbind", "ro"] if read_only else ["rbind", "rw"]
    return {"destination": path, "type": "bind", "source": str(host), "options": options}


def _forward(here: tuple[str, int], there: tuple[str, int]) -> None:
    """Pass connections on, in threads that end with this process."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError), socket.create_connection(there) as other:
                back = threading.Thread(target=_copy, args=(other, self.request), daemon=True)
                back.start()
                _copy(self.request, other)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 128

    threading.Thread(target=Server(here, Handler).serve_forever, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()
