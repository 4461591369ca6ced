"""Networks that fill blanks and know nothing of domains.

`Offset` is for everybody: `pdsketch.nets.Offset`. The others are made from the signatures of blanks.
"""

from pdsketch.nets.offset import Offset as Offset

__all__ = ["Offset"]
