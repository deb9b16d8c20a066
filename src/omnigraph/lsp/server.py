"""The language server over standard input and output, made of what `compiler/assist` knows."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from omnigraph.compiler.assist.complete import complete
from omnigraph.compiler.assist.diagnose import diagnose
from omnigraph.compiler.assist.explain import Meaning, explain, find_declaration
from omnigraph.compiler.diagnostics import CompileError
from omnigraph.compiler.formatter import Language, format_text
from omnigraph.compiler.source import Source
from omnigraph.lsp.positions import offset_of, range_of, whole
from omnigraph.lsp.schemas import KnownSchema, Schemas

_KINDS = {
    "type": types.CompletionItemKind.Class,
    "edge": types.CompletionItemKind.Reference,
    "property": types.CompletionItemKind.Field,
    "variable": types.CompletionItemKind.Variable,
    "parameter": types.CompletionItemKind.TypeParameter,
    "function": types.CompletionItemKind.Function,
    "keyword": types.CompletionItemKind.Keyword,
}
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


class Server(LanguageServer):
    """What the features share: the open documents and the schemas they are checked against."""

    def __init__(self, schemas: Schemas) -> None:
        super().__init__("omnigraph", version("omnigraph"))
        self.schemas = schemas

    def source(self, uri: str) -> Source:
        """The text of a document as it stands in the editor."""
        return Source(self.workspace.get_text_document(uri).source, to_fs_path(uri) or uri)

    def schema(self, uri: str) -> KnownSchema | None:
        """The schema for a document; a schema file is its own."""
        path = Path(to_fs_path(uri) or "/")
        return self.schemas.for_file(path, self._open_text)

    def _open_text(self, path: Path) -> str | None:
        document = self.workspace.text_documents.get(from_fs_path(str(path)) or "")
        return None if document is None else document.source

    def report(self, uri: str) -> None:
        """Publish everything that is wrong with a document."""
        source, language = self.source(uri), language_of(uri)
        known = self.schema(uri) if language == "gq" else None
        found = [
            types.Diagnostic(
                range_of(source, each.finding.span),
                each.finding.message + (f"\n{each.finding.help}" if each.finding.help else ""),
                _SEVERITIES[each.severity],
                each.finding.code,
                source="omnigraph",
            )
            for each in diagnose(source, language, None if known is None else known.catalog)
        ]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))

    def report_queries(self) -> None:
        """Check the open query files again: what they are checked against has changed."""
        for uri in list(self.workspace.text_documents):
            if language_of(uri) == "gq":
                self.report(uri)

    def meaning(self, uri: str, position: types.Position) -> tuple[Source, Meaning | None, KnownSchema | None]:
        """What stands at a position."""
        source, language = self.source(uri), language_of(uri)
        known = self.schema(uri)
        catalog = None if known is None else known.catalog
        return source, explain(source.text, offset_of(source.text, position), language, catalog), known


def language_of(uri: str) -> Language:
    """The language of a document, by its ending."""
    return "pg" if uri.endswith(".pg") else "gq"


def build(stored: Callable[[], str] | None = None, schema: str | None = None) -> Server:
    """A server with every feature; `stored` reads the schema of a graph, `schema` names a file."""
    server = Server(Schemas(stored))
    server.schemas.setting = schema
    _add_documents(server)
    _add_answers(server)
    return server


def _add_documents(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.schemas.setting = server.schemas.setting or _setting(params.initialization_options)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.report(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.report(uri)
        if language_of(uri) == "pg":
            server.report_queries()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(params: types.DidChangeConfigurationParams) -> None:
        server.schemas.setting = _setting(params.settings) or server.schemas.setting
        server.report_queries()


def _setting(settings: Any) -> str | None:
    """`omnigraph.schema` of the editor's settings."""
    found = _member(_member(settings, "omnigraph") or settings, "schema")
    return found if isinstance(found, str) and found else None


def _member(settings: Any, name: str) -> Any:
    return settings.get(name) if isinstance(settings, dict) else getattr(settings, name, None)


def _add_answers(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["$", ".", ":", "@"]))
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        uri = params.text_document.uri
        source, known = server.source(uri), server.schema(uri)
        offset = offset_of(source.text, params.position)
        catalog = None if known is None else known.catalog
        span, found = complete(source.text, offset, language_of(uri), catalog)
        place = range_of(source, span)
        return [
            types.CompletionItem(
                each.text,
                kind=_KINDS[each.kind],
                detail=each.detail or None,
                text_edit=types.TextEdit(place, each.text),
            )
            for each in found
        ]

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        source, found, _ = server.meaning(params.text_document.uri, params.position)
        if found is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found.text), range_of(source, found.span))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        uri = params.text_document.uri
        source, found, known = server.meaning(uri, params.position)
        return None if found is None else _location(uri, source, found, known)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        uri = params.text_document.uri
        source = server.source(uri)
        try:
            formatted = format_text(source, language_of(uri))
        except CompileError:
            return None  # what is wrong is reported already
        return [] if formatted == source.text else [types.TextEdit(whole(source), formatted)]


def _location(uri: str, source: Source, found: Meaning, known: KnownSchema | None) -> types.Location | None:
    if found.here is not None:
        return types.Location(uri, range_of(source, found.here))
    if found.in_schema is None or known is None or known.path is None:
        return None
    span = find_declaration(known.source, *found.in_schema)
    target = from_fs_path(str(known.path))
    return None if span is None or target is None else types.Location(target, range_of(known.source, span))
