"""Networks that fill blanks and know nothing of domains.

`Offset` is for everybody: `pdsketch.nets.Offset`. The others are made from the signatures of blanks.
"""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
