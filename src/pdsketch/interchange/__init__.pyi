"""The door of `interchange`: what other rooms may use, and where it stands."""

from pdsketch.interchange.agents import CallLimits as CallLimits, mcp_server as mcp_server
from pdsketch.interchange.gym import GymWorld as GymWorld
from pdsketch.interchange.minari import read_minari as read_minari, write_minari as write_minari
from pdsketch.interchange.traces import read_traces as read_traces
from pdsketch.interchange.unified.problems import from_unified_planning as from_unified_planning
from pdsketch.interchange.unified.writing import to_unified_planning as to_unified_planning
