"""A client of the editor server: JSON-RPC over the pipes of a process, as editors speak it."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

LIMIT = 60
"""Seconds to wait for one answer."""


class Client:
    """Starts ``pdsketch lsp``, opens texts and asks."""

    def __init__(self, root: Path, encodings: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pdsketch", "lsp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self.notes: list[dict[str, Any]] = []
        self.number = 0
        self.versions: dict[str, int] = {}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        general = {"positionEncodings": encodings} if encodings else {}
        self.capabilities = self.ask(
            "initialize", processId=None, rootUri=root.as_uri(), capabilities={"general": general}
        )["capabilities"]
        self.tell("initialized")

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while line := stream.readline():
            size = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self.messages.put(json.loads(stream.read(size)))

    def _send(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._send(method=method, params=params)

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request; its result. A refusal is raised as a LookupError with its message."""
        self.number += 1
        self._send(method=method, params=params, id=self.number)
        while True:
            message = self.messages.get(timeout=LIMIT)
            if message.get("id") == self.number:
                if "error" in message:
                    raise LookupError(message["error"]["message"])
                return message["result"]
            self.notes.append(message)

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """The next diagnostics of a text."""
        while True:
            for at, note in enumerate(self.notes):
                if (
                    note["method"] == "textDocument/publishDiagnostics"
                    and note["params"]["uri"] == uri
                    and note["params"].get("version", 0) is not None
                ):
                    del self.notes[at]
                    return list(note["params"]["diagnostics"])
            self.notes.append(self.messages.get(timeout=LIMIT))

    def open(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Open a text; its diagnostics."""
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "pdsketch", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.diagnostics(uri)

    def change(self, uri: str, text: str) -> list[dict[str, Any]]:
        """Replace a text; its diagnostics."""
        self.versions[uri] += 1
        self.tell(
            "textDocument/didChange",
            textDocument={"uri": uri, "version": self.versions[uri]},
            contentChanges=[{"text": text}],
        )
        return self.diagnostics(uri)

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """Ask about a position."""
        position = {"line": line, "character": character}
        return self.ask(f"textDocument/{method}", textDocument={"uri": uri}, position=position, **more)

    def close(self) -> int:
        """Say goodbye; the exit code."""
        self.ask("shutdown")
        self.tell("exit")
        code = self.process.wait(timeout=LIMIT)
        self.reader.join(timeout=LIMIT)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        return code
