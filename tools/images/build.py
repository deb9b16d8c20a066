"""Builds the images of the Dockerfile: `make image`. With Docker or Podman, or with buildah where no daemon can run.

buildah needs root. Where it cannot fetch the base image either, debootstrap makes one of Debian's packages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGES = {"omnigraph": (), "omnigraph-spark": ("--target", "spark")}
CERTIFICATES = Path("/etc/ssl/certs")
STAND_IN = "made from Debian packages"
# The release of Debian whose Python is 3.11.
_RELEASE = "bookworm"
_PACKAGES = "python3,python3-pip,python3-venv,ca-certificates,netbase,tzdata"
_PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


def main() -> None:
    """Build both images and print their sizes."""
    if not (ROOT / "src" / "omnigraph" / "server" / "studio" / "built" / "index.html").exists():
        run([sys.executable, str(ROOT / "tools" / "build_studio.py")])
    engine = chosen(os.environ.get("ENGINE"))
    with tempfile.TemporaryDirectory() as scratch:
        command = [engine, "build"] if engine != "buildah" else with_buildah(Path(scratch))
        for name, target in IMAGES.items():
            run([*command, *target, "--tag", name, str(ROOT)])
    for name in IMAGES:
        print(f"{engine}: {name}, {size(engine, name)}")


def chosen(wanted: str | None) -> str:
    """The engine to build with: the one that is asked for, else the first that works."""
    for name in (wanted,) if wanted else ("docker", "podman", "buildah"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    raise SystemExit(f"{wanted or 'no engine'} can be used: install Docker, Podman, or buildah and debootstrap")


def size(engine: str, name: str) -> str:
    """What the engine says about the size of an image."""
    listed = run([engine, "images", "--format", "{{.Size}}", name], quiet=True).splitlines()
    return listed[0] if listed else "not there"


def with_buildah(scratch: Path) -> list[str]:
    """The build command, after the base image is there.

    Steps run without a container runtime, in the network of this machine and with the certificates that it trusts.
    """
    base = base_image(ROOT / "Dockerfile")
    print(f"base image {base}: {fetched(base)}", flush=True)
    (scratch / "uv.toml").write_text("system-certs = true\n", encoding="utf-8")
    scratch.chmod(0o755)
    trusted = [f"--volume={CERTIFICATES}:{CERTIFICATES}:ro", f"--volume={scratch}:/etc/uv:ro"]
    return [
        "buildah",
        "bud",
        "--format=docker",
        "--isolation=chroot",
        "--network=host",
        "--pull-never",
        "--layers",
        *trusted,
    ]


def base_image(dockerfile: Path) -> str:
    """The one image that the Dockerfile begins with."""
    begun = re.findall(r"^FROM (\S+)(?: AS (\S+))?", dockerfile.read_text(encoding="utf-8"), re.MULTILINE)
    [base] = {image for image, _ in begun} - {stage for _, stage in begun}
    return str(base)


def fetched(base: str) -> str:
    """Where the base image comes from, after it is in buildah's storage."""
    stand_in = f"localhost/{base}"
    # Without the policy an earlier stand-in is taken for an image that has been fetched.
    fetch = ["buildah", "pull", "--quiet", "--policy=always", base]
    if subprocess.run(fetch, capture_output=True, check=False, timeout=600).returncode == 0:
        subprocess.run(["buildah", "rmi", stand_in], capture_output=True, check=False)
        return "from its registry"
    if not run(["buildah", "images", "--quiet", "--filter", f"reference={stand_in}"], quiet=True):
        make_stand_in(stand_in)
    return STAND_IN


def make_stand_in(name: str) -> None:
    """An image that has what the official one has: `python` and a `pip` that installs, on Debian without compilers."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        root = Path(place, "root")
        run(["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _RELEASE, str(root)], quiet=True)
        version = run(["chroot", str(root), "python3", "--version"], quiet=True).strip()
        if not name.endswith(f":{'.'.join(version.removeprefix('Python ').split('.')[:2])}-slim"):
            raise SystemExit(f"{name} is wanted, and the packages of {_RELEASE} have {version}")
        for kept in (
            "var/lib/apt/lists",
            "var/cache/apt",
            "var/log",
            "usr/share/doc",
            "usr/share/man",
            "usr/share/locale",
        ):
            shutil.rmtree(root / kept)
            (root / kept).mkdir()
        for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            marker.unlink()
        for command, target in {"python": "python3", "python3": "python3", "pip": "pip3"}.items():
            (root / "usr/local/bin" / command).symlink_to(f"/usr/bin/{target}")
        container = run(["buildah", "from", "scratch"], quiet=True).strip()
        run(["buildah", "add", "--quiet", container, str(root), "/"], quiet=True)
        run(["buildah", "config", "--cmd=python3", f"--env=PATH={_PATH}", "--env=LANG=C.UTF-8", container])
        run(["buildah", "commit", "--quiet", "--format=docker", "--rm", container, name], quiet=True)


def run(command: list[str], *, quiet: bool = False) -> str:
    """Run a command; what it prints is shown, or returned if `quiet`."""
    done = subprocess.run(command, stdout=subprocess.PIPE if quiet else None, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"`{' '.join(command)}` ended with {done.returncode}")
    return done.stdout or ""


if __name__ == "__main__":
    main()
