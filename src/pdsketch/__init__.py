"""PDSketch: program what you know about a planning domain, learn the rest, plan for unseen goals.

Everything public stands here and is loaded on first use, so that importing the
package, or checking a file, does not import torch. Type checkers and editors read
the imports below, which name the same things.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "Error": "pdsketch.lang.diagnostics",
    "Diagnostic": "pdsketch.lang.diagnostics",
    "Domain": "pdsketch.lang.domain",
    "Problem": "pdsketch.lang.domain",
    "load_domain": "pdsketch.lang.load",
    "parse_domain": "pdsketch.lang.load",
    "load_problem": "pdsketch.lang.load",
    "parse_problem": "pdsketch.lang.load",
    "parse_goal": "pdsketch.lang.load",
    "analyse": "pdsketch.lang.analyse",
    "TextAnalysis": "pdsketch.lang.analyse",
    "State": "pdsketch.tensor.states.state",
    "StateBatch": "pdsketch.tensor.states.state",
    "write_problem": "pdsketch.tensor.states.problem",
    "Model": "pdsketch.tensor.model",
    "load_model": "pdsketch.tensor.store",
    "explain": "pdsketch.tensor.explain",
    "Explanation": "pdsketch.tensor.explain",
    "Episode": "pdsketch.learn.data.episode",
    "hindsight": "pdsketch.learn.data.hindsight",
    "read_minari": "pdsketch.learn.data.minari",
    "write_minari": "pdsketch.learn.data.minari",
    "fit": "pdsketch.learn.fit",
    "evaluate": "pdsketch.learn.fit",
    "Options": "pdsketch.learn.options",
    "Progress": "pdsketch.learn.progress",
    "Report": "pdsketch.learn.report",
    "Evaluation": "pdsketch.learn.report",
    "BlankReport": "pdsketch.learn.behaviour",
    "rules": "pdsketch.abstract.andor.readout",
    "quantise": "pdsketch.abstract.andor.quantise",
    "Quantisation": "pdsketch.abstract.andor.quantise",
    "ModelRules": "pdsketch.abstract.andor.readout",
    "plan": "pdsketch.search.plan",
    "plan_many": "pdsketch.search.plan",
    "Result": "pdsketch.search.result",
    "validate": "pdsketch.search.plan",
    "Verdict": "pdsketch.lang.validator",
    "export": "pdsketch.abstract.export.folder",
    "read_abstract_plan": "pdsketch.abstract.export.folder",
    "World": "pdsketch.act.world",
    "Agent": "pdsketch.act.agent",
    "act_many": "pdsketch.act.agent",
    "Policy": "pdsketch.act.policy",
    "rollout": "pdsketch.act.rollout",
    "Rollouts": "pdsketch.act.rollout",
    "record": "pdsketch.act.record",
    "train_baseline": "pdsketch.baselines.training",
    "load_baseline": "pdsketch.baselines.store",
    "learn": "pdsketch.onpolicy.learn",
    "Learned": "pdsketch.onpolicy.learn",
    "LearnOptions": "pdsketch.onpolicy.options",
    "worlds": "pdsketch.envs.registry",
    "make_world": "pdsketch.envs.registry",
    "register_world": "pdsketch.envs.registry",
    "GymWorld": "pdsketch.envs.gym",
    "from_unified_planning": "pdsketch.interchange.unified.problems",
    "to_unified_planning": "pdsketch.interchange.unified.writing",
}

_ROOMS = ("nets",)
"""Packages whose own ``__init__`` is public: what fills blanks."""

__all__ = ["__version__", *_HOMES, *_ROOMS]  # noqa: PLE0604


if TYPE_CHECKING:
    from pdsketch import nets as nets
    from pdsketch.abstract.andor.quantise import Quantisation as Quantisation
    from pdsketch.abstract.andor.quantise import quantise as quantise
    from pdsketch.abstract.andor.readout import ModelRules as ModelRules
    from pdsketch.abstract.andor.readout import rules as rules
    from pdsketch.abstract.export.folder import export as export
    from pdsketch.abstract.export.folder import read_abstract_plan as read_abstract_plan
    from pdsketch.act.agent import Agent as Agent
    from pdsketch.act.agent import act_many as act_many
    from pdsketch.act.policy import Policy as Policy
    from pdsketch.act.record import record as record
    from pdsketch.act.rollout import Rollouts as Rollouts
    from pdsketch.act.rollout import rollout as rollout
    from pdsketch.act.world import World as World
    from pdsketch.baselines.store import load_baseline as load_baseline
    from pdsketch.baselines.training import train_baseline as train_baseline
    from pdsketch.envs.gym import GymWorld as GymWorld
    from pdsketch.envs.registry import make_world as make_world
    from pdsketch.envs.registry import register_world as register_world
    from pdsketch.envs.registry import worlds as worlds
    from pdsketch.interchange.unified.problems import from_unified_planning as from_unified_planning
    from pdsketch.interchange.unified.writing import to_unified_planning as to_unified_planning
    from pdsketch.lang.analyse import TextAnalysis as TextAnalysis
    from pdsketch.lang.analyse import analyse as analyse
    from pdsketch.lang.diagnostics import Diagnostic as Diagnostic
    from pdsketch.lang.diagnostics import Error as Error
    from pdsketch.lang.domain import Domain as Domain
    from pdsketch.lang.domain import Problem as Problem
    from pdsketch.lang.load import load_domain as load_domain
    from pdsketch.lang.load import load_problem as load_problem
    from pdsketch.lang.load import parse_domain as parse_domain
    from pdsketch.lang.load import parse_goal as parse_goal
    from pdsketch.lang.load import parse_problem as parse_problem
    from pdsketch.lang.validator import Verdict as Verdict
    from pdsketch.learn.behaviour import BlankReport as BlankReport
    from pdsketch.learn.data.episode import Episode as Episode
    from pdsketch.learn.data.hindsight import hindsight as hindsight
    from pdsketch.learn.data.minari import read_minari as read_minari
    from pdsketch.learn.data.minari import write_minari as write_minari
    from pdsketch.learn.fit import evaluate as evaluate
    from pdsketch.learn.fit import fit as fit
    from pdsketch.learn.options import Options as Options
    from pdsketch.learn.progress import Progress as Progress
    from pdsketch.learn.report import Evaluation as Evaluation
    from pdsketch.learn.report import Report as Report
    from pdsketch.onpolicy.learn import Learned as Learned
    from pdsketch.onpolicy.learn import learn as learn
    from pdsketch.onpolicy.options import LearnOptions as LearnOptions
    from pdsketch.search.plan import plan as plan
    from pdsketch.search.plan import plan_many as plan_many
    from pdsketch.search.plan import validate as validate
    from pdsketch.search.result import Result as Result
    from pdsketch.tensor.explain import Explanation as Explanation
    from pdsketch.tensor.explain import explain as explain
    from pdsketch.tensor.model import Model as Model
    from pdsketch.tensor.states.problem import write_problem as write_problem
    from pdsketch.tensor.states.state import State as State
    from pdsketch.tensor.states.state import StateBatch as StateBatch
    from pdsketch.tensor.store import load_model as load_model
else:

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return import_module(f"pdsketch.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'pdsketch' has no attribute {name!r}")
        if name == "learn":  # the package of that name, which can be called as the function
            return import_module("pdsketch.learn")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
