"""The server: requests of the Language Server Protocol (3.17) → `Documents` → answers, by pygls."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from pdsketch import __version__
from pdsketch.editor.complete import completions
from pdsketch.editor.documents import Documents
from pdsketch.editor.navigate import Edit, Symbol, hover, outline
from pdsketch.lang import Diagnostic, Error, Source, Span, format_source

# Offsets of a text ↔ positions of the protocol: lines from 0, and columns in the units the client counts.

UNITS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""The encoding and the bytes of one unit, by the protocol's name."""


def to_position(source: Source, offset: int, encoding: str) -> tuple[int, int]:
    """The line and the column of an offset."""
    line, column = source.position(min(offset, len(source.text)))
    before = source.text[min(offset, len(source.text)) - column + 1 : offset]
    return line - 1, column - 1 if before.isascii() else _units(before, encoding)


def to_offset(source: Source, line: int, column: int, encoding: str) -> int:
    """The offset of a position; one behind the end of a line, or of the text, is that end.

    ``line`` and ``column`` of ``source`` count from 0; columns count units of ``encoding``, as the editor and
    the server agreed on: ``utf-8``, ``utf-16`` or ``utf-32``.
    """
    start = 0
    for _ in range(line):
        start = source.text.find("\n", start) + 1
        if start == 0:
            return len(source.text)
    end = source.text.find("\n", start)
    words = source.text[start : len(source.text) if end < 0 else end]
    if words.isascii():
        return start + min(column, len(words))
    codec, size = UNITS[encoding]
    data = words.encode(codec, errors="surrogatepass")[: column * size]
    return start + len(data.decode(codec, errors="ignore"))


def _units(text: str, encoding: str) -> int:
    codec, size = UNITS[encoding]
    return len(text.encode(codec, errors="surrogatepass")) // size


SYMBOLS: Final = {
    "domain": lsp.SymbolKind.Module,
    "problem": lsp.SymbolKind.Module,
    "type": lsp.SymbolKind.Class,
    "constant": lsp.SymbolKind.Constant,
    "object": lsp.SymbolKind.Object,
    "predicate": lsp.SymbolKind.Property,
    "function": lsp.SymbolKind.Function,
    "derived": lsp.SymbolKind.Method,
    "action": lsp.SymbolKind.Event,
    "parameter": lsp.SymbolKind.Variable,
    "variable": lsp.SymbolKind.Variable,
    "blank": lsp.SymbolKind.Interface,
}
ITEMS: Final = {
    "type": lsp.CompletionItemKind.Class,
    "object": lsp.CompletionItemKind.Constant,
    "predicate": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable,
    "blank": lsp.CompletionItemKind.Interface,
    "keyword": lsp.CompletionItemKind.Keyword,
    "operator": lsp.CompletionItemKind.Operator,
}
SEVERITIES: Final = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}
TRIGGERS: Final = ("(", "?", ":", "-", "=", " ")


def serve() -> None:
    """Serve one editor over stdin and stdout until it says goodbye."""
    server = LanguageServer("pdsketch", __version__)
    Session(server)
    # Streams of its own: pygls closes what it writes to, and the command flushes stdout in the end.
    with open(os.dup(sys.stdin.fileno()), "rb") as asked, open(os.dup(sys.stdout.fileno()), "wb") as answers:
        server.start_io(asked, answers)


@final
class Session:
    """The answers to one editor."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.documents = Documents()
        for name, answer in {
            lsp.TEXT_DOCUMENT_DID_OPEN: self.changed,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self.changed,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self.closed,
            lsp.TEXT_DOCUMENT_DEFINITION: self.definition,
            lsp.TEXT_DOCUMENT_REFERENCES: self.references,
            lsp.TEXT_DOCUMENT_HOVER: self.hover,
            lsp.TEXT_DOCUMENT_RENAME: self.rename,
            lsp.TEXT_DOCUMENT_FORMATTING: self.formatting,
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: self.symbols,
        }.items():
            server.feature(name)(_handler(answer))
        options = lsp.CompletionOptions(trigger_characters=list(TRIGGERS))
        server.feature(lsp.TEXT_DOCUMENT_COMPLETION, options)(_handler(self.completion))

    def changed(self, params: Any) -> None:
        """A text was opened or has changed: say what is wrong with it, and with the problems of a domain."""
        path = _path(params.text_document.uri)
        self.documents.put(path, self.server.workspace.get_text_document(params.text_document.uri).source)
        for each in [path, *self.documents.dependents(path)]:
            self._publish(each)

    def closed(self, params: Any) -> None:
        """A text was closed: nothing is wrong with it any more."""
        uri = params.text_document.uri
        self.documents.close(_path(uri))
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def definition(self, params: Any) -> Any:
        """Where the name at a position is declared."""
        found = self.documents.definition(*self._at(params))
        return None if found is None else self._location(found.span)

    def references(self, params: Any) -> Any:
        """Every mention of the name at a position."""
        found = self.documents.definition(*self._at(params))
        if found is None:
            return None
        spans = self.documents.occurrences(found)
        if not params.context.include_declaration:
            own = (found.span.source.name, found.span.start)
            spans = [span for span in spans if (span.source.name, span.start) != own]
        return [self._location(span) for span in spans]

    def hover(self, params: Any) -> Any:
        """The declaration or the type of what stands at a position."""
        path, offset = self._at(params)
        analysis = self.documents.analysis(path)
        found = None if analysis is None else hover(analysis, offset)
        if found is None:
            return None
        first, _, rest = found.text.partition("\n")
        value = f"```pdsketch\n{first}\n```" + (f"\n{rest}" if rest else "")
        content = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=value)
        return lsp.Hover(contents=content, range=self._range(found.span))

    def completion(self, params: Any) -> Any:
        """The words that fit at a position."""
        path, offset = self._at(params)
        analysis = self.documents.analysis(path)
        if analysis is None:
            return []
        found = completions(analysis, offset)
        place = self._range(Span(analysis.source, found.start, found.end))
        return [
            lsp.CompletionItem(
                label=item.label,
                kind=ITEMS[item.kind],
                detail=item.detail or None,
                text_edit=lsp.TextEdit(range=place, new_text=item.label),
            )
            for item in found.items
        ]

    def rename(self, params: Any) -> Any:
        """The edits that rename what stands at a position, in all files that name it."""
        found = self.documents.definition(*self._at(params))
        if found is None:
            raise JsonRpcInvalidParams("there is no name here that could be changed")
        try:
            edits = self.documents.rename(found, params.new_name)
        except Error as refusal:
            raise JsonRpcInvalidParams(refusal.diagnostics[0].message) from None
        return lsp.WorkspaceEdit(
            changes={_uri(path): [self._edit(path, edit) for edit in parts] for path, parts in edits.items()}
        )

    def formatting(self, params: Any) -> Any:
        """The edit that puts a text into canonical layout; none for a text that cannot be read."""
        path = _path(params.text_document.uri)
        source = Source(path, self.documents.text(path) or "")
        try:
            text = format_source(source)
        except Error:
            return None
        whole = self._range(Span(source, 0, len(source.text)))
        return [] if text == source.text else [lsp.TextEdit(range=whole, new_text=text)]

    def symbols(self, params: Any) -> Any:
        """The outline of a text."""
        analysis = self.documents.analysis(_path(params.text_document.uri))
        return [] if analysis is None else self._symbols(outline(analysis))

    def _symbols(self, symbols: Iterable[Symbol]) -> list[Any]:
        return [
            lsp.DocumentSymbol(
                name=symbol.declaration.name,
                detail=symbol.declaration.signature,
                kind=SYMBOLS[symbol.declaration.kind],
                range=self._range(symbol.declaration.form),
                selection_range=self._range(symbol.declaration.span),
                children=self._symbols(symbol.children),
            )
            for symbol in symbols
        ]

    def _publish(self, path: str) -> None:
        analysis = self.documents.analysis(path)
        found = [] if analysis is None else [self._diagnostic(d, path) for d in analysis.diagnostics]
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=_uri(path), diagnostics=found)
        )

    def _diagnostic(self, diagnostic: Diagnostic, path: str) -> Any:
        span = diagnostic.span or Span(Source(path, ""), 0, 0)
        lines = [diagnostic.message, diagnostic.label, f"help: {diagnostic.help}" if diagnostic.help else ""]
        related = [
            lsp.DiagnosticRelatedInformation(location=self._location(note.span), message=note.label)
            for note in diagnostic.notes
        ]
        return lsp.Diagnostic(
            range=self._range(span),
            message="\n".join(line for line in lines if line),
            severity=SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            source="pdsketch",
            related_information=related or None,
        )

    def _at(self, params: Any) -> tuple[str, int]:
        path = _path(params.text_document.uri)
        source = Source(path, self.documents.text(path) or "")
        position = params.position
        return path, to_offset(source, position.line, position.character, self._encoding)

    @property
    def _encoding(self) -> str:
        chosen = self.server.workspace.position_encoding
        return str(getattr(chosen, "value", chosen or "utf-16"))

    def _range(self, span: Span) -> Any:
        start = to_position(span.source, span.start, self._encoding)
        end = to_position(span.source, span.end, self._encoding)
        return lsp.Range(start=lsp.Position(*start), end=lsp.Position(*end))

    def _location(self, span: Span) -> Any:
        return lsp.Location(uri=_uri(span.source.name), range=self._range(span))

    def _edit(self, path: str, edit: Edit) -> Any:
        span = Span(Source(path, self.documents.text(path) or ""), edit.start, edit.end)
        return lsp.TextEdit(range=self._range(span), new_text=edit.text)


def _handler(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that pygls can mark as its own: it cannot mark a method."""

    def handle(params: Any) -> Any:
        return answer(params)

    return handle


def _path(uri: str) -> str:
    return to_fs_path(uri) or uri if uri.startswith("file:") else uri


def _uri(path: str) -> str:
    return path if "://" in path or path.startswith("untitled:") else from_fs_path(path) or path
