"""The page's server: this machine alone, and only for who knows the token.

It binds to 127.0.0.1. Another user of the machine does not know the token; a page of another site that
makes a name of its own point here (DNS rebinding) sends that name as ``Host``, and is refused, too.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final, final
from urllib.parse import SplitResult, parse_qs, urlsplit

from pdsketch.budget import DEFAULT_MEGABYTES, Budget, LimitError
from pdsketch.lang import Error, as_json, error
from pdsketch.serve.exploration import Exploration

LARGEST_BODY: Final = 1 << 20
"""Bytes of a question: goals are short."""

ANSWER_SECONDS: Final = 2.0
"""Seconds that an answer may take: the page asks at every keystroke. Searches have limits of their own."""

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGE: Final = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}


@final
class PageServer(ThreadingHTTPServer):
    """A server for one exploration; ``url`` opens its page."""

    daemon_threads = True

    def __init__(self, exploration: Exploration, port: int = 0) -> None:
        self.exploration = exploration
        self.token = secrets.token_urlsafe(24)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def url(self) -> str:
        """Where the page is, token included."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def is_host(self, host: str) -> bool:
        """Whether a ``Host`` header names this server."""
        return host in (f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}")


@final
class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "pdsketch"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """A part of the page, or the answer to a question."""
        exploration = self.server.exploration
        asked = self._asked()
        self._answer(
            {
                "/api/sketch": exploration.describe,
                "/api/graph": lambda: (exploration.graph(asked.get("of")), "image/svg+xml"),
                "/api/state": lambda: exploration.state(_whole(asked, "step")),
                "/api/picture": lambda: (exploration.picture(_whole(asked, "step")), "image/png"),
                "/api/node": lambda: exploration.node(_whole(asked, "number")),
                "/api/search": lambda: exploration.searched(_whole(asked, "from")),
                **{path: partial(self._part, *file) for path, file in _PAGE.items()},
            }
        )

    def do_POST(self) -> None:
        """A goal to look at, or to plan for."""
        exploration = self.server.exploration

        def truths() -> Any:
            given = self._body()
            return exploration.truths(_text(given, "goal"), _whole(given, "step"))

        def plan() -> Any:
            given = self._body()
            return exploration.plan(_text(given, "goal"), given)

        self._answer({"/api/truth": truths, "/api/plan": plan})

    def _answer(self, known: dict[str, Callable[[], Any]]) -> None:
        path = self._address().path
        if not self._is_welcome():
            self._send(HTTPStatus.FORBIDDEN, {"error": "the token is missing or wrong"})
        elif path not in known:
            self._send(HTTPStatus.NOT_FOUND, {"error": f"there is nothing at {path}"})
        else:
            try:
                with Budget(ANSWER_SECONDS, DEFAULT_MEGABYTES).running():
                    found = known[path]()
            except LimitError:
                limit = f"{ANSWER_SECONDS:g} s and {DEFAULT_MEGABYTES:g} MB"
                self._refuse(error("answer-too-large", f"this takes more than {limit} to answer"))
            except Error as refused:
                self._refuse(refused)
            else:
                self._send(HTTPStatus.OK, found)

    def _refuse(self, why: Error) -> None:
        told = {"diagnostics": [as_json(diagnostic) for diagnostic in why.diagnostics]}
        self._send(HTTPStatus.UNPROCESSABLE_ENTITY, told)

    def _is_welcome(self) -> bool:
        given = self.headers.get("X-Token") or self._asked().get("token", "")
        is_known = compare_digest(given.encode(), self.server.token.encode())
        return is_known and self.server.is_host(self.headers.get("Host", ""))

    def _asked(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(self._address().query).items()}

    def _address(self) -> SplitResult:
        """What was asked for; nothing that is here, where it is no address."""
        try:
            return urlsplit(self.path)
        except ValueError:
            return urlsplit("//")

    def _body(self) -> dict[str, Any]:
        length = _whole({"Content-Length": self.headers.get("Content-Length", "")}, "Content-Length")
        if length > LARGEST_BODY:
            raise error(
                "bad-request", f"a question has at most {LARGEST_BODY:,} bytes; this one has {length:,}"
            )
        try:
            found = json.loads(self.rfile.read(length))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise error("bad-request", "a question is a JSON object")
        return found

    def _part(self, name: str, kind: str) -> tuple[str, str]:
        text = files("pdsketch.serve").joinpath(name).read_text("utf-8")
        return text.replace("{{token}}", self.server.token), kind

    def _send(self, status: HTTPStatus, content: Any) -> None:
        if isinstance(content, tuple):
            body, kind = content
        else:
            body, kind = json.dumps(content), "application/json"
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing: the token stands in every address."""


def _whole(given: dict[str, Any], name: str) -> int:
    value = str(given.get(name, 0))
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise error("bad-request", f"`{name}` is a whole number; {value!r:.40} is given")
    return int(value)


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise error("bad-request", f"`{name}` is a text; {value!r:.40} is given")
    return value
