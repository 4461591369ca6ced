"""What a fit has learned, what it has not, and on which evidence.

While a fit goes on, it asks `measure`; at its end, `examine`, which leaves notes on the model, too.
"""

from pdsketch.doors import open_door

__getattr__, __dir__ = open_door(__name__, __file__)
