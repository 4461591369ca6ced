"""``python -m pdsketch`` is ``pdsketch``."""

import signal
import sys


def run() -> int:
    """The command line as a process. Until it has been loaded, Ctrl-C ends that without a word."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pdsketch.cli.main import main

    signal.signal(signal.SIGINT, before)
    return main()


if __name__ == "__main__":
    sys.exit(run())
