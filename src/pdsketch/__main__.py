"""``python -m pdsketch`` is ``pdsketch``."""

import gc
import os
import signal
import sys


def run() -> int:
    """The command line as a process. Until a command has begun, Ctrl-C ends it without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # until the command runs: imports make many objects that live to the end
    from pdsketch.cli.main import main

    return _ended(main())


def _ended(code: int) -> int:
    """End the process at once, unless a thread still works: taking the interpreter apart takes a while."""
    import atexit
    import threading

    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
