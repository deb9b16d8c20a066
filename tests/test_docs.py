"""What the documentation claims to run is run; what it links to exists."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#]+)(?:#[^)]*)?\)")


def blocks(language: str) -> list[object]:
    found = []
    for page in PAGES:
        if page.parent.name == "learn" or page.name == "quickstart.md":
            continue  # those are run from top to bottom by test_tutorials.py
        for number, (tag, code) in enumerate(BLOCK.findall(page.read_text()), start=1):
            if tag == language:
                found.append(pytest.param(code, id=f"{page.relative_to(REPOSITORY)}-block-{number}"))
    return found


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(REPOSITORY / "examples" / "demo" / "schema.pg", tmp_path)
    (tmp_path / "people.jsonl").write_text(
        '{"type":"Person","data":{"handle":"ada","name":"Ada","role":"engineer"}}\n'
        '{"type":"Company","data":{"slug":"c","name":"Works"}}\n{"edge":"WorksAt","from":"ada","to":"c"}\n'
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<documentation>", "exec"), {"__name__": "__docs__"})


@pytest.mark.parametrize("code", blocks("gq"))
def test_query_blocks_parse(code: str) -> None:
    from omnigraph.compiler.query.parse import parse_queries

    assert parse_queries(code).queries


@pytest.mark.parametrize("code", blocks("pg"))
def test_schema_blocks_compile(code: str) -> None:
    from omnigraph.compiler.catalog import compile_schema

    assert compile_schema(code).nodes


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(REPOSITORY))) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_names_the_two_commands() -> None:
    text = (REPOSITORY / "README.md").read_text()
    assert "make demo" in text
    assert "make test" in text


def test_every_make_target_is_listed_by_help() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    declared = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert declared
    for target in set(declared.group(1).split()) - {"help"}:
        assert re.search(rf"^{target}:.*## ", text, re.MULTILINE), target


def test_every_decision_is_in_the_navigation() -> None:
    navigation = (REPOSITORY / "mkdocs.yml").read_text()
    for page in (REPOSITORY / "docs" / "decisions").glob("*.md"):
        assert f"decisions/{page.name}" in navigation, page.name
