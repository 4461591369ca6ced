"""The door of `serve`: what other rooms may use, and where it stands."""

from pdsketch.serve.exploration import Exploration as Exploration
from pdsketch.serve.search_debugger import SearchDebugger as SearchDebugger, address_of as address_of
from pdsketch.serve.server import PageServer as PageServer
from pdsketch.serve.subjects import ModelSubject as ModelSubject, subject_of as subject_of
