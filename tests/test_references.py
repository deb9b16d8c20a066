"""The generated pages say what the code says, and nothing public is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import omnigraph
from omnigraph.testing.pages.error_codes import CODES
from omnigraph.testing.pages.reference import pages

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCES = [path for path in (REPOSITORY / "src" / "omnigraph").rglob("*.py") if "testing" not in path.parts]
CODE = re.compile(r'"([SQTPWRL]\d{1,3})"')


@pytest.mark.parametrize(("name", "text"), [pytest.param(name, text, id=name) for name, text in pages().items()])
def test_generated_pages_are_up_to_date(name: str, text: str) -> None:
    written = (REPOSITORY / "docs" / name).read_text()
    assert written == text, "run: python -m omnigraph.testing.pages.reference docs"


def test_every_public_name_has_a_section_and_a_docstring() -> None:
    text = pages()["sdk.md"]
    for name in set(omnigraph.__all__) - {"errors"}:
        assert f"\n## {name}\n" in text, name
        assert getattr(omnigraph, name).__doc__, name


def test_every_public_method_has_a_docstring() -> None:
    for section in pages()["sdk.md"].split("\n### ")[1:]:
        heading, _, rest = section.partition("\n")
        said = re.sub(r"```py\n.*?\n```", "", rest, flags=re.DOTALL).split("\n## ")[0].strip()
        assert said, f"{heading} has no docstring"


def test_every_code_in_the_source_is_explained() -> None:
    # "L2" is a distance, not a code.
    used = {code for path in SOURCES for code in CODE.findall(path.read_text())} - {"L2"}
    assert used == set(CODES)
