"""The engine in C++ (`core/` in the repository), called through ctypes: this room alone knows how.

The library lies beside this room, or where ``PDSKETCH_CORE`` says. Its functions
answer with a code, which becomes the `LimitError` of the budget that
was reached, or a `KeyboardInterrupt`: calls from the main thread are run in
a thread of their own, so that signals are heard meanwhile.
"""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
