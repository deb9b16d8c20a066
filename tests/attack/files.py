"""The rows of the table about files: uploads, what a mapping may reach, and the pages of the studio."""

from __future__ import annotations

import gzip
import io
import zipfile

import httpx

from tests.attack.table import Attack
from tests.attack.target import Target

_SCRIPT = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
_FIELDS = "sources: {{x: {{{0}}}}}\nnodes: {{Person: {{from: x, columns: {{name: a}}}}}}"


def _sent(
    target: Target, name: str, content: bytes, actor: str, kind: str = "application/octet-stream"
) -> httpx.Response:
    return target.ask("PUT", f"/graphs/people/uploads/{name}", actor, content=content, headers={"Content-Type": kind})


def _named(name: str, *must: str) -> Attack:
    return Attack(
        "file", f"a file called {name[:28]}", must, lambda t: str(_sent(t, name, b"a,b\n1,2\n", "root").status_code)
    )


def _mapped(what: str, members: str) -> Attack:
    """A mapping that names something other than an uploaded file of its sender; nothing of it may be told."""

    def attempt(target: Target) -> str:
        body = {"mapping": _FIELDS.format(members), "dry_run": True, "branch": "main"}
        found = target.ask("POST", "/graphs/people/load/files", "root", json=body)
        return f"{found.status_code}{' and tells' if 'root:' in found.text or 'daemon' in found.text else ''}"

    return Attack("file", f"a mapping of {what}", ("400", "404"), attempt)


def _inferred(what: str, name: str, content: bytes, *must: str) -> Attack:
    """A file that is not what its name says, or far larger inside: taken or not, looking at it stays within limits."""

    def attempt(target: Target) -> str:
        sent = _sent(target, name, content, "root")
        if sent.status_code >= 400:
            return str(sent.status_code)
        found = target.ask("POST", "/graphs/people/infer", "root", json={"files": [name], "branch": "main"})
        target.ask("DELETE", f"/graphs/people/uploads/{name}", "root")
        return str(found.status_code)

    return Attack("file", what, must, attempt)


def _workbook(rows: str) -> bytes:
    """A workbook whose one sheet says what it likes about its size."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook><sheets><sheet name='a' sheetId='1'/></sheets></workbook>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet><sheetData>{rows}</sheetData></worksheet>")
    return made.getvalue()


def _others(target: Target) -> str:
    """The file of another sender, by its name."""
    _sent(target, "mine.csv", b"name\nsomebody\n", "root")
    found = target.ask("GET", "/graphs/people/uploads", "writer")
    body = {"files": ["mine.csv"], "branch": "main"}
    looked = target.ask("POST", "/graphs/people/infer", "writer", json=body)
    target.ask("DELETE", "/graphs/people/uploads/mine.csv", "root")
    return f"{looked.status_code}{' and is listed' if 'mine.csv' in found.text else ''}"


def _asset(name: str) -> Attack:
    def attempt(target: Target) -> str:
        return str(target.ask("GET", f"/studio/assets/{name}", None).status_code)

    return Attack("studio", f"a file {name[:34]}", ("400", "404"), attempt)


def _guarded(target: Target) -> str:
    """Whether the page may be framed, or run a script that is not its own."""
    found = target.ask("GET", "/studio/", None).headers
    policy = found["content-security-policy"]
    framed = "frame-ancestors 'none'" not in policy or found["x-frame-options"] != "DENY"
    return "framed" if framed else "inline" if "unsafe" in policy else "refused"


ATTACKS = (
    _named("..%2F..%2Fetc%2Fcron.csv", "400", "404"),
    _named("%2e%2e%2fx.csv", "400", "404"),
    _named("%00.csv", "400", "404"),
    _named("a%0D%0AX-Evil%3A1.csv", "400", "404"),
    _named(f"{_SCRIPT}.csv", "400"),
    _named("x" * 4_000 + ".csv", "400", "414", "431"),
    _named("graph.duckdb", "400", "415"),
    _named("run.py", "400", "415"),
    Attack("file", "a file of a reader", ("403",), lambda t: str(_sent(t, "a.csv", b"a\n1\n", "reader").status_code)),
    Attack("file", "the file of another", ("400", "404"), _others),
    _mapped("a file of the machine", "path: /etc/passwd, format: csv"),
    _mapped("a path that leaves", "path: ../../../../etc/passwd"),
    _mapped("a pattern", "path: '/etc/*'"),
    _mapped("an object store", "path: 's3://bucket/x.csv'"),
    _mapped("an address", "path: 'http://127.0.0.1:1/x.csv'"),
    _mapped("a database", "jdbc: 'sqlite:////etc/passwd', table: x"),
    _inferred("128 MB that were compressed", "large.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 25), 1), "413"),
    _inferred(
        "a workbook of a trillion cells",
        "book.xlsx",
        _workbook("<row r='1048576'><c r='XFD1048576'/></row>"),
        "400",
        "413",
    ),
    _inferred("Parquet that is text", "text.parquet", b"PAR1 not really PAR1", "400"),
    _inferred("an unpacked bomb of JSON", "deep.json", b"[" * 200_000, "400"),
    _asset("..%2Ffiles.py"),
    _asset("%2e%2e%2f%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    Attack(
        "studio",
        "a one-time code where there is none",
        ("404",),
        lambda t: str(t.ask("POST", "/studio/session", None, json={"code": "x"}).status_code),
    ),
    Attack("studio", "a frame around the page", ("refused",), _guarded),
)
