"""Posts the states of a search to a search debugger: that of the PDDL extension of VS Code.

Its protocol (github.com/jan-dolejsi/vscode-pddl/wiki/Search-tree-debugger-API) is HTTP with one state a
message: `/state/initial` and `/state` add states, `/state/heuristic` says what h is, or, without h, that a
state is a dead end, `/state/visitedOrWorse` that it was met before, and `/plan` ends the search. Messages are
sent by a thread of their own over one connection; the search only leaves copies of its nodes.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from math import inf, isfinite
from types import TracebackType
from typing import Any, Final, final
from urllib.parse import urlsplit

from pdsketch.budget import current
from pdsketch.lang import Diagnostic, Step, short, show_atom
from pdsketch.search import Nodes, SearchNode

MOST_STATES: Final = 10_000
"""Of one plan: the extension draws each of them, and is slow long before."""

PATIENCE: Final = 5.0
"""Seconds that an answer may take; a listener on the same machine needs thousandths."""
EPSILON: Final = 0.001
"""Time between two steps: the extension's default for actions without a duration."""


@final
class SearchDebugger:
    """A ``trace`` of `pdsketch.plan` that posts; within ``with``, and whatever happens, the plan goes on.

    ``warnings`` say afterwards what did not arrive.
    """

    def __init__(self, url: str, *, most: int = MOST_STATES) -> None:
        self.url = url
        self.warnings: tuple[Diagnostic, ...] = ()
        self._most = most
        self._posts: deque[tuple[str, Mapping[str, Any]] | None] = deque()
        self._ready = threading.Semaphore(0)
        self._failure = ""
        self._search: Nodes | None = None
        self._told: list[_Told] = []
        self._root = 0
        self._left_out = False
        self._thread = threading.Thread(target=self._send_all, daemon=True)

    def __enter__(self) -> SearchDebugger:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is not None:  # a search that was interrupted does not wait
            self._posts.clear()
        self._put(None)
        left = current().grace().left()  # a plan within its limits does not wait for pictures of the search
        self._thread.join(None if left == inf else max(left, 0.0))
        if self._thread.is_alive():
            unsent = len(self._posts)
            self._posts.clear()
            what = f"the search debugger at {self.url} is slow: {unsent:,} messages were not sent in time"
            self.warnings = (Diagnostic("search-debugger", what, severity="warning"),)
        elif self._failure:
            help_ = "start the search debugger (in VS Code: the command *PDDL: Start search debugger*)"
            what = f"the search debugger at {self.url} {self._failure}: the search went on without it"
            self.warnings = (Diagnostic("search-debugger", what, help=help_, severity="warning"),)
        elif self._left_out:
            what = f"the search debugger was sent the first {self._most:,} states of the search, and the plan"
            self.warnings = (Diagnostic("search-debugger", what, severity="warning"),)

    def __call__(self, nodes: Nodes) -> None:
        """Post what the search has met since the last time."""
        if self._failure:
            return
        if nodes != self._search:
            self._search, self._root = nodes, len(self._told)
        room = self._most - len(self._told)
        new = nodes(len(self._told) - self._root, len(self._told) - self._root + room + 1)
        self._left_out |= len(new) > room
        for node in new[:room]:
            self._tell(node)

    def found(self, plan: Sequence[Step]) -> None:
        """Post a plan: the state that it leads to, and those on the way that were not posted yet."""
        number = self._root
        if not self._told:
            self._tell(SearchNode(-1, None, 0.0, 0.0, 0.0, "open"))
        children = {(told.parent, told.name): at for at, told in enumerate(self._told)}
        for step in plan:
            at = children.get((number, _name(step)))
            if at is None:
                at, g = len(self._told), self._told[number].g + 1.0
                self._tell(SearchNode(number - self._root, step, g, float("nan"), g, "open"))
            number = at
        self._post("/plan", self._state(number))

    def _tell(self, node: SearchNode) -> None:
        """Post a state, and what is known of it."""
        number = len(self._told)
        parent = -1 if node.parent < 0 else self._root + node.parent
        self._told.append(_Told(parent, None if node.step is None else _name(node.step), node.g))
        self._post("/state/initial" if node.step is None else "/state", self._state(number))
        if node.fate == "visited":
            self._post("/state/visitedOrWorse", self._state(number))
        elif node.fate == "dead-end":
            self._post("/state/heuristic", {"id": str(number)})
        elif isfinite(node.h):
            depth = len(self._head(number))
            evaluated = {
                "id": str(number),
                "h": node.h,
                "totalMakespan": (depth + 1 + node.h) * EPSILON,
                "helpfulActions": [],
                "relaxedPlan": [],
            }
            self._post("/state/heuristic", evaluated)

    def _state(self, number: int) -> dict[str, Any]:
        """The message that adds a state."""
        told, head = self._told[number], self._head(number)
        return {
            "id": str(number),
            "parentId": None if told.parent < 0 else str(told.parent),
            "g": told.g,
            "earliestTime": (len(head) + 1) * EPSILON,
            "appliedAction": head[-1] if head else None,
            "planHead": head,
        }

    def _head(self, number: int) -> list[dict[str, Any]]:
        """The steps that lead to a state, as the protocol has them."""
        names = []
        while (told := self._told[number]).name is not None:
            names.append(told.name)
            number = told.parent
        met: dict[str, int] = {}
        head = []
        for place, name in enumerate(reversed(names)):
            met[name] = met.get(name, -1) + 1
            head.append(
                {
                    "actionName": name,
                    "shotCounter": met[name],
                    "earliestTime": (place + 2) * EPSILON,
                    "kind": "INSTANTANEOUS",
                }
            )
        return head

    def _post(self, path: str, message: Mapping[str, Any]) -> None:
        self._put((path, message))

    def _put(self, post: tuple[str, Mapping[str, Any]] | None) -> None:
        self._posts.append(post)
        self._ready.release()

    def _send_all(self) -> None:
        """What the thread does: send what is left there, up to the first failure."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=PATIENCE)
        try:
            while (post := self._next()) is not None:
                self._send(connection, parts.path.rstrip("/") + post[0], post[1])
        except (OSError, HTTPException) as why:
            said = getattr(why, "strerror", None) or str(why) or type(why).__name__
            self._failure = f"cannot be reached ({said.lower()})"
        except _RefusedError as refused:
            self._failure = str(refused)
        finally:
            connection.close()

    def _next(self) -> tuple[str, Mapping[str, Any]] | None:
        self._ready.acquire()
        return self._posts.popleft() if self._posts else None

    @staticmethod
    def _send(connection: HTTPConnection, path: str, message: Mapping[str, Any]) -> None:
        connection.request("POST", path, json.dumps(message), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status >= 400:
            raise _RefusedError(f"answered {answer.status} to {path}")


class _RefusedError(Exception):
    """The listener is there, and does not take a message."""


@final
class _Told:
    """A state that was posted."""

    __slots__ = ("g", "name", "parent")

    def __init__(self, parent: int, name: str | None, g: float) -> None:
        self.parent, self.name, self.g = parent, name, g


def _name(step: Step) -> str:
    """A step as the extension shows it: without the brackets around it."""
    return show_atom(short(tuple(step)))[1:-1]


def address_of(text: str) -> str | None:
    """The address of a listener that is given by its port on this machine, or by its URL; None: neither."""
    if text.isascii() and text.isdigit():
        return f"http://127.0.0.1:{int(text)}" if 0 < int(text) < 65536 else None
    try:
        parts = urlsplit(text)
        is_one = parts.scheme == "http" and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none
        return None
    return text if is_one else None
