"""The door of `search`: what other rooms may use, and where it stands."""

from pdsketch.search.heuristics import (
    HeuristicSource as HeuristicSource,
    given_heuristic as given_heuristic,
    heuristics_help as heuristics_help,
    model_heuristics_help as model_heuristics_help,
)
from pdsketch.search.latent.candidates import Proposals as Proposals
from pdsketch.search.latent.heuristics import NeverInfinite as NeverInfinite, Searched as Searched
from pdsketch.search.latent.stage import likeliest_step as likeliest_step
from pdsketch.search.memory import Memory as Memory, SkillRates as SkillRates
from pdsketch.search.options import (
    MODEL_SEARCHES as MODEL_SEARCHES,
    SEARCHES as SEARCHES,
    Generator as Generator,
    ModelOptions as ModelOptions,
    ModelSearch as ModelSearch,
    PlanOptions as PlanOptions,
    Sampler as Sampler,
    model_searches_help as model_searches_help,
)
from pdsketch.search.packed.engine import search as search
from pdsketch.search.planning import plan as plan, plan_many as plan_many, validate as validate
from pdsketch.search.result import (
    Nodes as Nodes,
    Result as Result,
    SearchNode as SearchNode,
    SearchProgress as SearchProgress,
    Status as Status,
    UntrainedWarning as UntrainedWarning,
)
