"""``python -m pdsketch`` is ``pdsketch``."""

import signal
import sys


def run() -> int:
    """The command line as a process. Until a command has begun, Ctrl-C ends it without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pdsketch.cli.main import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
