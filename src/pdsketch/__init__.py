"""PDSketch: program what you know about a planning domain, learn the rest, plan for unseen goals.

Everything public stands here and is loaded on first use, so that importing the
package, or checking a file, does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
    "State": "pdsketch.tensor.state",
    "StateBatch": "pdsketch.tensor.state",
    "Model": "pdsketch.tensor.model",
    "load_model": "pdsketch.tensor.store",
    "Episode": "pdsketch.learn.episodes",
    "hindsight": "pdsketch.learn.hindsight",
    "fit": "pdsketch.learn.fit",
    "evaluate": "pdsketch.learn.fit",
    "Options": "pdsketch.learn.options",
    "Progress": "pdsketch.learn.progress",
    "Report": "pdsketch.learn.report",
    "Evaluation": "pdsketch.learn.report",
    "BlankReport": "pdsketch.learn.behaviour",
    "plan": "pdsketch.search.plan",
    "plan_many": "pdsketch.search.plan",
    "Result": "pdsketch.search.result",
    "World": "pdsketch.act.world",
    "Agent": "pdsketch.act.agent",
    "act_many": "pdsketch.act.agent",
    "Policy": "pdsketch.act.policy",
    "rollout": "pdsketch.act.rollout",
    "Rollouts": "pdsketch.act.rollout",
    "worlds": "pdsketch.envs.registry",
    "make_world": "pdsketch.envs.registry",
    "register_world": "pdsketch.envs.registry",
    "GymWorld": "pdsketch.envs.gym",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pdsketch' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
