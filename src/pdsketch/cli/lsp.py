"""``pdsketch lsp``: an editor's server for sketches, domains and problems, over stdin and stdout."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from pdsketch.cli import output
from pdsketch.extras import missing_extra

ENDLESS = True
EXAMPLE = "pdsketch lsp --stdio"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: editors speak over stdin and stdout; some say so."""
    parser.add_argument("--stdio", action="store_true", help="speak over stdin and stdout, as always")


def run(args: argparse.Namespace) -> int:
    """Exit code 0 when the editor has said goodbye."""
    if find_spec("pygls") is None:
        raise missing_extra("pygls", "lsp")
    from pdsketch.editor import serve

    serve()
    return output.OK
