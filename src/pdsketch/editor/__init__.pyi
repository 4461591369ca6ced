"""The door of `editor`: what other rooms may use, and where it stands."""

from pdsketch.editor.analysis import TextAnalysis as TextAnalysis, analyse as analyse
from pdsketch.editor.server import serve as serve
