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
    "analyse": "pdsketch.editor.analysis",
    "TextAnalysis": "pdsketch.editor.analysis",
    "State": "pdsketch.tensor.states.state",
    "StateBatch": "pdsketch.tensor.states.state",
    "write_problem": "pdsketch.tensor.states.problem",
    "Model": "pdsketch.tensor.model",
    "load_model": "pdsketch.tensor.store",
    "explain": "pdsketch.tensor.explanation",
    "Explanation": "pdsketch.tensor.explanation",
    "Episode": "pdsketch.training.data.episode",
    "hindsight": "pdsketch.training.data.hindsight",
    "read_minari": "pdsketch.interchange.minari",
    "write_minari": "pdsketch.interchange.minari",
    "fit": "pdsketch.training.fitting",
    "evaluate": "pdsketch.training.fitting",
    "Options": "pdsketch.training.options",
    "Progress": "pdsketch.training.progress",
    "Report": "pdsketch.training.diagnosis.report",
    "Evaluation": "pdsketch.training.diagnosis.report",
    "BlankReport": "pdsketch.training.diagnosis.behaviour",
    "rules": "pdsketch.abstract.andor.readout",
    "quantise": "pdsketch.abstract.andor.quantise",
    "Quantisation": "pdsketch.abstract.andor.quantise",
    "ModelRules": "pdsketch.abstract.andor.readout",
    "plan": "pdsketch.search.planning",
    "plan_many": "pdsketch.search.planning",
    "Result": "pdsketch.search.result",
    "validate": "pdsketch.search.planning",
    "Verdict": "pdsketch.lang.validator",
    "export": "pdsketch.abstract.pddl.folder",
    "read_abstract_plan": "pdsketch.abstract.pddl.folder",
    "World": "pdsketch.act.world",
    "Agent": "pdsketch.act.agent",
    "act_many": "pdsketch.act.agent",
    "Policy": "pdsketch.act.policy",
    "rollout": "pdsketch.act.rollouts",
    "Rollouts": "pdsketch.act.rollouts",
    "record": "pdsketch.act.recording",
    "train_baseline": "pdsketch_paper.baselines.training",
    "load_baseline": "pdsketch_paper.baselines.store",
    "learn": "pdsketch.act.onpolicy.learning",
    "Learned": "pdsketch.act.onpolicy.learning",
    "LearnOptions": "pdsketch.act.onpolicy.options",
    "worlds": "pdsketch.act.registry",
    "make_world": "pdsketch.act.registry",
    "register_world": "pdsketch.act.registry",
    "GymWorld": "pdsketch.interchange.gym",
    "from_unified_planning": "pdsketch.interchange.unified.problems",
    "to_unified_planning": "pdsketch.interchange.unified.writing",
}

_ROOMS = ("nets",)
"""Packages whose own ``__init__`` is public: what fills blanks."""

__all__ = ["__version__", *_HOMES, *_ROOMS]  # noqa: PLE0604


if TYPE_CHECKING:
    from pdsketch import nets as nets
    from pdsketch.abstract import (
        ModelRules as ModelRules,
        Quantisation as Quantisation,
        export as export,
        quantise as quantise,
        read_abstract_plan as read_abstract_plan,
        rules as rules,
    )
    from pdsketch.act import (
        Agent as Agent,
        Learned as Learned,
        LearnOptions as LearnOptions,
        Policy as Policy,
        Rollouts as Rollouts,
        World as World,
        act_many as act_many,
        learn as learn,
        make_world as make_world,
        record as record,
        register_world as register_world,
        rollout as rollout,
        worlds as worlds,
    )
    from pdsketch.editor import TextAnalysis as TextAnalysis, analyse as analyse
    from pdsketch.interchange import (
        GymWorld as GymWorld,
        from_unified_planning as from_unified_planning,
        read_minari as read_minari,
        to_unified_planning as to_unified_planning,
        write_minari as write_minari,
    )
    from pdsketch.lang import (
        Diagnostic as Diagnostic,
        Domain as Domain,
        Error as Error,
        Problem as Problem,
        Verdict as Verdict,
        load_domain as load_domain,
        load_problem as load_problem,
        parse_domain as parse_domain,
        parse_goal as parse_goal,
        parse_problem as parse_problem,
    )
    from pdsketch.search import Result as Result, plan as plan, plan_many as plan_many, validate as validate
    from pdsketch.tensor import (
        Explanation as Explanation,
        Model as Model,
        State as State,
        StateBatch as StateBatch,
        explain as explain,
        load_model as load_model,
        write_problem as write_problem,
    )
    from pdsketch.training import (
        BlankReport as BlankReport,
        Episode as Episode,
        Evaluation as Evaluation,
        Options as Options,
        Progress as Progress,
        Report as Report,
        evaluate as evaluate,
        fit as fit,
        hindsight as hindsight,
    )
    from pdsketch_paper.baselines.store import load_baseline as load_baseline
    from pdsketch_paper.baselines.training import train_baseline as train_baseline
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
