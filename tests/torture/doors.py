"""What listens: the local page and the editor server, asked by who knows what they answer, or not."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
from pathlib import Path
from typing import Any

from tests.torture import subject
from tests.torture.corruption import ODD, changed, damaged
from tests.torture.disks import BLOCKS
from tests.torture.losses import Loss

import pdsketch as pds

QUESTIONS = 25
"""Requests of one try."""
PATIENCE = 30
"""Seconds for one answer: two are promised, by the processor of a machine that does nothing else."""

DOMAIN, PROBLEM = str(BLOCKS / "domain.pddl"), str(BLOCKS / "p01.pddl")
PLACES = ("sketch", "graph", "state", "picture", "node", "search", "truth", "plan", "nothing", "")
GOALS = (
    *("(on a b)", "(hand-empty)", "(and)", "(on a nobody)", "(on a", "", "\0", "(" * 5000, "(not " * 2000),
    *("(forall (?x - block) (exists (?y - block) (on ?x ?y)))", "(imply (holding a) (= a b))"),
    f"(forall ({' '.join(f'?x{i}' for i in range(30))} - block) (not (on ?x0 ?x1)))",
)


def serve(seed: int, place: Path) -> list[Loss]:
    """The page: whatever is asked, it answers; no traceback, and afterwards it still knows what is true."""
    return subject.run(lambda: _asked(random.Random(seed)), place, patience=20 * PATIENCE).crashes()


def _asked(rng: random.Random) -> int:
    from pdsketch.serve.exploration import Exploration
    from pdsketch.serve.server import PageServer
    from pdsketch.serve.subjects import ModelSubject, ProblemSubject

    problem = pds.load_problem(PROBLEM, pds.load_domain(DOMAIN))
    model = ModelSubject(pds.Model(problem.domain), problem.state)
    exploration = Exploration(rng.choice([ProblemSubject(problem), model]), "(on a b)")
    with PageServer(exploration, 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        for _ in range(QUESTIONS):
            _answer(server.server_port, _question(rng, server.token, server.server_port))
        last = json.dumps({"goal": "(hand-empty)", "step": 0}).encode()
        answer = _answer(server.server_port, _post(server.token, server.server_port, "truth", last))
        server.shutdown()
    status, _, body = answer.partition(b"\r\n\r\n")
    assert status.split()[1] == b"200", answer[:300]
    assert "truth" in json.loads(body), body[:300]
    return 0


def _question(rng: random.Random, token: str, port: int) -> bytes:
    """A request: as it should be, with odd contents, or damaged."""
    token = token if rng.random() < 0.9 else rng.choice(["", "x", "é", token[:-1]])
    where = rng.choice(PLACES)
    if rng.random() < 0.4:
        given = {
            name: rng.choice(ODD) for name in rng.sample(["step", "number", "from", "of"], rng.randrange(3))
        }
        asked = "&".join(f"{name}={value}" for name, value in given.items()).replace(" ", "%20")
        found = f"GET /api/{where}?{asked} HTTP/1.0\r\nX-Token: {token}\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        data = found.encode("utf-8", "surrogatepass")
    else:
        said: Any = {"goal": rng.choice(GOALS), "step": rng.choice([0, 1, 10**6]), "time_limit": 0.2}
        said = changed(rng, said) if rng.random() < 0.5 else said
        body = rng.choice([json.dumps(said).encode(), b"[" * 200_000, b"", rng.randbytes(50)])
        data = _post(token, port, where, body)
    return damaged(rng, data) if rng.random() < 0.4 else data


def _post(token: str, port: int, where: str, body: bytes) -> bytes:
    head = f"POST /api/{where} HTTP/1.0\r\nX-Token: {token}\r\nHost: 127.0.0.1:{port}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _answer(port: int, said: bytes) -> bytes:
    """All that is answered before the end; somebody may hang up at any time."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as asking:
        try:
            asking.sendall(said)
            asking.shutdown(socket.SHUT_WR)
            while part := asking.recv(1 << 16):
                found += part
        except TimeoutError:
            raise
        except OSError:  # it was refused before it was read
            pass
    return found


OURS = "/pdsketch/editor/"
METHODS = (
    *("hover", "definition", "references", "completion", "documentSymbol", "formatting", "rename"),
    *("documentHighlight", "prepareRename", "semanticTokens/full", "nonsense"),
)


def lsp(seed: int, place: Path) -> list[Loss]:
    """The editor server, told a conversation in which texts, messages and frames are damaged."""
    rng = random.Random(seed)
    (place / "said").write_bytes(_conversation(rng, place))

    def before() -> None:
        os.dup2(os.open(place / "said", os.O_RDONLY), 0)

    ended = subject.run(subject.command("lsp"), place, before=before, patience=120)
    # pygls logs refusals, and what is no message, with tracebacks; others that lead into our code are ours.
    parts = ended.err.split("Traceback (most recent call last)")[1:]
    logged = [part for part in parts if OURS in part and "pygls.exceptions.JsonRpc" not in part]
    losses = ended.crashes() if ended.hung or ended.code < 0 or ended.code == subject.FAILED else []
    losses += [Loss("crash", part[-3500:]) for part in logged]
    return losses or _frames(ended.out)


def _conversation(rng: random.Random, place: Path) -> bytes:
    uri, text = (place / "text.pddl").as_uri(), (BLOCKS / "domain.pddl").read_bytes()
    root = {"processId": None, "rootUri": place.as_uri(), "capabilities": {}}
    messages: list[dict[str, Any]] = [
        {"method": "initialize", "params": root, "id": 0},
        {"method": "initialized", "params": {}},
    ]
    shown = damaged(rng, text).decode(errors="replace")
    document = {"uri": uri, "languageId": "pddl", "version": 1, "text": shown}
    messages.append({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    for number in range(1, QUESTIONS):
        where = {"line": rng.choice([0, 3, 8, 10**6, -1]), "character": rng.choice([0, 5, 30, 10**9])}
        asked: dict[str, Any] = {"textDocument": {"uri": uri}, "position": where, "newName": "other"}
        method = f"textDocument/{rng.choice(METHODS)}"
        if rng.random() < 0.3:
            method, asked = (
                "textDocument/didChange",
                {
                    "textDocument": {"uri": uri, "version": number + 1},
                    "contentChanges": [{"text": damaged(rng, text).decode(errors="replace")}],
                },
            )
        if rng.random() < 0.3:
            asked = changed(rng, asked)
        messages.append({"method": method, "params": asked, "id": number})
    frames = [_frame(json.dumps({"jsonrpc": "2.0", **message}).encode()) for message in messages]
    for at in range(3, len(frames)):
        if rng.random() < 0.05:
            frames[at] = damaged(rng, frames[at])
    ends = [{"method": "shutdown", "id": QUESTIONS}, {"method": "exit"}]
    return b"".join(frames + [_frame(json.dumps({"jsonrpc": "2.0", **end}).encode()) for end in ends])


def _frame(data: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def _frames(text: str) -> list[Loss]:
    """Whether what was answered is one frame after the other."""
    left = text.encode()
    while left:
        head, _, left = left.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line)
        size = int(fields.get(b"Content-Length", b"-1"))
        if size < 0:
            return [Loss("wrong", f"no frame: {head[:200]!r}")]
        json.loads(left[:size])
        left = left[size:]
    return []
