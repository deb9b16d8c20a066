"""What a process may use: control groups of both versions from a directory that looks like a system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.memory import allowance
from omnigraph.memory.allowance import UNKNOWN, allowed_memory, cgroup_limits

MIB = 1 << 20
V2_MOUNT = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
OTHER_MOUNT = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"


def system(place: Path, *, cgroup: str, mounts: str, files: dict[str, str]) -> Path:
    """A directory with the files of /proc and /sys that matter."""
    for name, text in {"proc/self/cgroup": cgroup, "proc/self/mountinfo": mounts, **files}.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


def test_version_2_takes_the_smallest_limit_on_the_way_up(tmp_path: Path) -> None:
    root = system(
        tmp_path,
        cgroup="0::/kubepods/pod1/box\n",
        mounts=V2_MOUNT,
        files={
            "sys/fs/cgroup/kubepods/pod1/box/memory.max": "max\n",
            "sys/fs/cgroup/kubepods/pod1/memory.max": f"{512 * MIB}\n",
            "sys/fs/cgroup/kubepods/memory.max": f"{900 * MIB}\n",
            "sys/fs/cgroup/other/memory.max": "1\n",
        },
    )
    assert sorted(cgroup_limits(root)) == [512 * MIB, 900 * MIB]
    assert allowed_memory(root) == 512 * MIB


def test_version_2_counts_the_limit_at_which_the_kernel_slows_a_group_down(tmp_path: Path) -> None:
    root = system(
        tmp_path,
        cgroup="0::/\n",
        mounts=V2_MOUNT,
        files={"sys/fs/cgroup/memory.max": f"{512 * MIB}\n", "sys/fs/cgroup/memory.high": f"{400 * MIB}\n"},
    )
    assert allowed_memory(root) == 400 * MIB


def test_version_1_reads_the_memory_controller_only(tmp_path: Path) -> None:
    root = system(
        tmp_path,
        cgroup="4:memory:/docker/abc\n2:cpuset:/\n1:name=systemd:/x\n0::/\n",
        mounts=OTHER_MOUNT + V1_MOUNT,
        files={
            "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": f"{256 * MIB}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/cpu/memory.limit_in_bytes": "1\n",
        },
    )
    assert allowed_memory(root) == 256 * MIB


def test_a_container_whose_own_group_is_the_top_of_what_it_sees(tmp_path: Path) -> None:
    mounts = V1_MOUNT.replace(" / /sys", " /docker/abc /sys")
    limit = {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{128 * MIB}\n"}
    for number, group in enumerate(("/docker/abc", "/elsewhere/on/the/host")):
        root = system(tmp_path / str(number), cgroup=f"4:memory:{group}\n", mounts=mounts, files=limit)
        assert allowed_memory(root) == 128 * MIB


def test_a_group_without_a_limit_leaves_what_the_machine_has(tmp_path: Path) -> None:
    root = system(tmp_path, cgroup="0::/a\n", mounts=V2_MOUNT, files={"sys/fs/cgroup/a/memory.max": "max\n"})
    assert list(cgroup_limits(root)) == []
    assert allowed_memory(root) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize("text", ["", "nonsense\n", "::\n", "0::/../../up\n", "\0\xff\n"])
def test_files_of_another_shape_are_no_limit(tmp_path: Path, text: str) -> None:
    root = system(tmp_path, cgroup=text, mounts=text + V2_MOUNT, files={"sys/fs/cgroup/memory.max": "much\n"})
    assert list(cgroup_limits(root)) == []


def test_a_system_that_tells_nothing_gets_a_modest_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert allowed_memory(tmp_path) == UNKNOWN


def test_a_sysconf_without_the_number_of_pages_is_not_asked_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> int:
        raise ValueError(f"unrecognized configuration name {name}")

    monkeypatch.setattr(allowance.os, "sysconf", refuse)
    assert allowed_memory(tmp_path) == UNKNOWN


def test_this_process_may_use_something() -> None:
    assert allowed_memory() > 64 * MIB
