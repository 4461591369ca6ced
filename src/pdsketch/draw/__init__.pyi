"""The door of `draw`: what other rooms may use, and where it stands."""

from pdsketch.draw.build import graph_of as graph_of
from pdsketch.draw.dot import to_dot as to_dot
from pdsketch.draw.svg import to_svg as to_svg
