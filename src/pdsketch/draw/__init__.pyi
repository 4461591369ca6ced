"""The door of `draw`: what other rooms may use, and where it stands."""

from pdsketch.draw.cards import cards_picture as cards_picture
from pdsketch.draw.graph import graph_of as graph_of
from pdsketch.draw.svg import to_dot as to_dot, to_svg as to_svg
