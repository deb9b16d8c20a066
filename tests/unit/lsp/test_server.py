"""`omnigraph lsp` speaks with a real client over its standard input and output."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

import omnigraph as og
from tests.cli_runner import COMMAND

SCHEMA = """\
node Hut @description("where people sleep") {
  name: String @key
  altitude: I32? @description("metres above the sea")
}

node Lake {
  name: String @key
}

edge Beside: Hut -> Lake
"""
QUERIES = """\
query high($least: I32) {
  match {
    $h: Hut
    $h.altitude >= $least
    $h beside $l
  }
  return { upper($h.name) as hut, $l.name }
}
"""


class Editor:
    """A client with one server; remembers what it was told about each document."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.client = LanguageClient("test", "1")
        self.reported: dict[str, list[types.Diagnostic]] = {}
        self._news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def report(params: types.PublishDiagnosticsParams) -> None:
            self.reported[Path(params.uri).name] = list(params.diagnostics)
            self._news.set()

    async def start(self, *args: str, options: object = None) -> types.InitializeResult:
        await self.client.start_io(*COMMAND, "lsp", *args, cwd=self.place)
        started = await self.client.initialize_async(
            types.InitializeParams(types.ClientCapabilities(), initialization_options=options)
        )
        self.client.initialized(types.InitializedParams())
        return started

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        server = self.client._server
        assert server is not None
        assert await asyncio.wait_for(server.wait(), 60) == 0, "a goodbye is no failure"
        await self.client.stop()

    def uri(self, name: str) -> str:
        return (self.place / name).as_uri()

    def document(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    async def open(self, name: str, text: str) -> list[types.Diagnostic]:
        self._news.clear()
        item = types.TextDocumentItem(self.uri(name), Path(name).suffix[1:], 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.told(name)

    async def change(self, name: str, text: str) -> list[types.Diagnostic]:
        self._news.clear()
        document = types.VersionedTextDocumentIdentifier(2, self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
        return await self.told(name)

    async def told(self, name: str) -> list[types.Diagnostic]:
        await asyncio.wait_for(self._news.wait(), 60)
        return self.reported[Path(name).name]


def talk(place: Path, conversation: Callable[[Editor], Awaitable[None]], *args: str, options: object = None) -> None:
    """Run a conversation with a server of its own."""

    async def run() -> None:
        editor = Editor(place)
        await editor.start(*args, options=options)
        try:
            await asyncio.wait_for(conversation(editor), 120)
        finally:
            await editor.stop()

    asyncio.run(run())


def at(text: str, piece: str, inside: int = 0) -> types.Position:
    """The position of a piece of text."""
    before = text[: text.index(piece) + inside]
    return types.Position(before.count("\n"), len(before.rpartition("\n")[2]))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "schema.pg").write_text(SCHEMA)
    return tmp_path


def test_a_conversation_about_a_query_file(place: Path) -> None:
    async def conversation(editor: Editor) -> None:
        name = "queries/a.gq"
        # Diagnostics with their range, against the schema.pg above the file.
        assert await editor.open(name, QUERIES) == []
        broken = QUERIES.replace("$h.altitude", "$h.altitud")
        (found,) = await editor.change(name, broken)
        assert (found.code, found.severity, found.source) == ("T6", types.DiagnosticSeverity.Error, "omnigraph")
        assert "did you mean 'altitude'?" in found.message
        assert found.range == types.Range(types.Position(3, 4), types.Position(3, 14))
        (found,) = await editor.change(name, "query a( {")
        assert (found.code, found.range.start) == ("Q000", types.Position(0, 9))
        # Columns count UTF-16 code units, of which an emoji has two.
        (found,) = await editor.change(name, 'query a() { match { $h: Hut { name: "🏔" } $h.x = 1 } return { $h } }')
        assert found.range.start.character == 43
        # A remark stands at what it is about.
        remarked = "query a($x: I64) {\n  match { $h: Hut }\n  return { count($h) }\n}"
        (unused, unnamed) = await editor.change(name, remarked)
        assert (unused.code, unused.range.start) == ("L203", at(remarked, "$x: I64"))
        assert (unnamed.code, unnamed.severity) == ("L206", types.DiagnosticSeverity.Information)
        assert unnamed.range == types.Range(at(remarked, "count($h)"), at(remarked, " }\n}"))
        assert await editor.change(name, QUERIES) == []
        await answers(editor, name)
        # Formatting.
        await editor.change(name, "query a(){match{$h:Hut} // all\n return{$h}}")
        options = types.FormattingOptions(tab_size=2, insert_spaces=True)
        edits = await editor.client.text_document_formatting_async(
            types.DocumentFormattingParams(editor.document(name), options)
        )
        assert edits is not None
        (edit,) = edits
        assert edit.new_text == "query a() {\n  match { $h: Hut } // all\n  return { $h }\n}\n"
        assert edit.range == types.Range(types.Position(0, 0), types.Position(1, 12))

    talk(place, conversation)


async def answers(editor: Editor, name: str) -> None:
    """Completion, hover and definitions."""
    document = editor.document(name)
    after_dot = at(QUERIES, "$h.altitude", 3)
    found = await editor.client.text_document_completion_async(types.CompletionParams(document, after_dot))
    assert isinstance(found, list)
    assert [item.label for item in found if item.kind == types.CompletionItemKind.Field] == ["altitude", "name", "id"]
    hovers = {}
    for piece, inside in (("$h.altitude", 4), ("upper", 1), ("Hut", 1), ("beside", 1), ("$least\n", 1)):
        seen = await editor.client.text_document_hover_async(types.HoverParams(document, at(QUERIES, piece, inside)))
        assert seen is not None
        assert isinstance(seen.contents, types.MarkupContent)
        hovers[piece] = seen.contents.value
    assert "altitude: I32?" in hovers["$h.altitude"]
    assert "metres above the sea" in hovers["$h.altitude"]
    assert "upper(text: String) -> String" in hovers["upper"]
    assert "where people sleep" in hovers["Hut"]
    assert "edge Beside: Hut -> Lake" in hovers["beside"]
    assert "$least: I32" in hovers["$least\n"]
    places = {}
    for piece, inside in (("Hut", 1), ("altitude", 1), ("beside", 1), ("$least\n", 1), ("$l.name", 1)):
        place = types.DefinitionParams(document, at(QUERIES, piece, inside))
        found_at = await editor.client.text_document_definition_async(place)
        assert isinstance(found_at, types.Location)
        places[piece] = (Path(found_at.uri).name, found_at.range.start)
    assert places["Hut"] == ("schema.pg", at(SCHEMA, "Hut"))
    assert places["altitude"] == ("schema.pg", at(SCHEMA, "altitude"))
    assert places["beside"] == ("schema.pg", at(SCHEMA, "Beside"))
    assert places["$least\n"] == ("a.gq", at(QUERIES, "$least"))
    assert places["$l.name"] == ("a.gq", at(QUERIES, "$l\n"))


def test_an_open_schema_counts_as_it_stands_in_the_editor(place: Path) -> None:
    async def conversation(editor: Editor) -> None:
        assert await editor.open("queries/a.gq", QUERIES) == []
        assert await editor.open("schema.pg", SCHEMA) == []
        await editor.change("schema.pg", SCHEMA.replace("altitude", "height"))
        while not editor.reported["a.gq"]:
            await asyncio.sleep(0.05)
        assert editor.reported["a.gq"][0].code == "T6"
        (found,) = await editor.change("schema.pg", "edge E: Hut -> Hut\n")
        assert (found.code, found.range.start.line) == ("S003", 0) or found.severity == types.DiagnosticSeverity.Error
        schema = SCHEMA + "edge Again: Hut -> Hut\n"
        await editor.change("schema.pg", schema)
        place_of = types.DefinitionParams(editor.document("schema.pg"), at(schema, "Hut -> Hut", 1))
        found_at = await editor.client.text_document_definition_async(place_of)
        assert isinstance(found_at, types.Location)
        assert found_at.range.start == at(schema, "Hut")

    talk(place, conversation)


def test_the_schema_of_a_graph_and_of_a_setting(place: Path) -> None:
    og.init(place / "g.omni", "node Lake { name: String @key }").close()
    (place / "other.pg").write_text("node Cave { name: String @key }")

    async def of_graph(editor: Editor) -> None:
        assert await editor.open("queries/a.gq", "query a() { match { $l: Lake } return { $l } }") == []
        (found,) = await editor.change("queries/a.gq", QUERIES)
        assert "there is no node type 'Hut'" in found.message

    async def of_setting(editor: Editor) -> None:
        assert await editor.open("queries/a.gq", "query a() { match { $c: Cave } return { $c } }") == []

    talk(place, of_graph, "--store", "g.omni")
    talk(place, of_setting, "--schema", "other.pg")
    talk(place, of_setting, options={"schema": str(place / "other.pg")})
