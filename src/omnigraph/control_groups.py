"""Control groups of Linux: directories whose files say what the group of this process and those around it may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple


def directories(controller: str, system: Path = Path("/")) -> Iterator[tuple[str, Path]]:
    """(type of the file system, directory) of the group of this process for a controller and of those around it.

    `system` is the directory below which /proc and /sys are found. The type is "cgroup2", or "cgroup" for version 1.
    """
    groups = _groups(controller, system)
    for mount in _mounts(controller, system):
        group = groups.get(mount.kind)
        for directory in () if group is None else _upwards(system, mount, group):
            yield mount.kind, directory


class _Mount(NamedTuple):
    kind: str
    root: str  # the group that is seen at `place`
    place: str


def _groups(controller: str, system: Path) -> dict[str, str]:
    """The group of this process for a controller, by version."""
    found = {}
    for line in lines(system / "proc/self/cgroup"):
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            found["cgroup2"] = path
        elif controller in controllers.split(","):
            found["cgroup"] = path
    return found


def _mounts(controller: str, system: Path) -> Iterator[_Mount]:
    """Where the control groups of a controller are mounted."""
    for line in lines(system / "proc/self/mountinfo"):
        before, found, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if not found or len(place) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and controller in kind[2].split(",")):
            yield _Mount(kind[0], place[3], place[4])


def _upwards(system: Path, mount: _Mount, group: str) -> Iterator[Path]:
    """The directory of a group and those of the groups around it, as far as they are mounted."""
    top = system / mount.place.lstrip("/")
    # A container often sees its own group as the top of the tree, whatever the path of its process says.
    inside = PurePosixPath(group)
    if inside.is_relative_to(mount.root):
        inside = PurePosixPath("/") / inside.relative_to(mount.root)
    for path in (inside, *inside.parents):
        if ".." not in path.parts:
            yield top.joinpath(*path.parts[1:])


def lines(path: Path) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def number(path: Path) -> int | None:
    """The limit that a file names; "max" is none."""
    text = "".join(lines(path)).strip()
    return int(text) if text.isdecimal() else None
