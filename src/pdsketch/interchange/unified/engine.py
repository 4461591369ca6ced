"""Engines that unified-planning can call.

They are registered by the name of this module:

    factory = unified_planning.shortcuts.get_environment().factory
    factory.add_engine("pdsketch", "pdsketch.interchange.unified.engine", "PlanningEngine")
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any, ClassVar

from unified_planning.engines import (
    Credits,
    Engine,
    FailedValidationReason,
    LogLevel,
    LogMessage,
    PlanGenerationResult,
    PlanGenerationResultStatus,
    SequentialPlanValidator,
    ValidationResult,
    ValidationResultStatus,
)
from unified_planning.engines.mixins import OneshotPlannerMixin, PlanValidatorMixin
from unified_planning.engines.mixins.oneshot_planner import OptimalityGuarantee
from unified_planning.model import ProblemKind
from unified_planning.model.problem_kind_versioning import LATEST_PROBLEM_KIND_VERSION
from unified_planning.plans import ActionInstance, PlanKind, SequentialPlan

from pdsketch.interchange.unified.formulas import CLASSICAL, NUMERIC
from pdsketch.interchange.unified.problems import Translation, translate
from pdsketch.lang import Error, Step, validate
from pdsketch.search import Result, Status, plan
from pdsketch.task import classify

_CREDITS = Credits(
    "pdsketch",
    "The PDSketch developers",
    "",
    "",
    "MIT",
    "Planning with sketches",
    "Plans for PDDL and for sketches with learned parts; here, classical and numeric planning.",
)

_STATUS: Mapping[Status, PlanGenerationResultStatus] = {
    "solved": PlanGenerationResultStatus.SOLVED_SATISFICING,
    "unsolvable": PlanGenerationResultStatus.UNSOLVABLE_PROVEN,
    "out-of-time": PlanGenerationResultStatus.TIMEOUT,
    "out-of-memory": PlanGenerationResultStatus.MEMOUT,
    "gave-up": PlanGenerationResultStatus.UNSOLVABLE_INCOMPLETELY,
}


class PlanningEngine(Engine, OneshotPlannerMixin, PlanValidatorMixin):  # type: ignore[misc]
    """Plans as `pdsketch.plan` does, whose options its ``params`` are, and validates sequential plans.

    Numbers that change are float32 in the search, and ``=`` holds within 0.001; a plan with such
    numbers is returned only if unified-planning's own validator, which computes exactly, accepts it.
    """

    _features: ClassVar[tuple[frozenset[str], ...]] = (NUMERIC, CLASSICAL)

    def __init__(self, **options: Any) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        PlanValidatorMixin.__init__(self)
        self._options = options

    @property
    def name(self) -> str:
        """What it is called in results."""
        return "pdsketch"

    @classmethod
    def supported_kind(cls) -> ProblemKind:
        """The larger of the kinds that are supported."""
        return _kind(cls._features[0])

    @classmethod
    def supports(cls, problem_kind: Any) -> bool:
        """Whether there is a search for every feature of a kind."""
        return any(problem_kind <= _kind(features) for features in cls._features)

    @staticmethod
    def supports_plan(plan_kind: Any) -> bool:
        """Sequential plans, which are what the language has."""
        return bool(plan_kind == PlanKind.SEQUENTIAL_PLAN)

    @staticmethod
    def get_credits(**_: Any) -> Any:
        """Who made it."""
        return _CREDITS

    def _solve(
        self,
        problem: Any,
        heuristic: Callable[[Any], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> Any:
        if heuristic is not None:
            warnings.warn("pdsketch has heuristics of its own; the one given is not used", stacklevel=3)
        try:
            translation = translate(problem)
            result = plan(translation.problem, time_limit=timeout, **self._options)
        except Error as refused:
            return self._generated(PlanGenerationResultStatus.UNSUPPORTED_PROBLEM, None, str(refused))
        if output_stream is not None:
            output_stream.write(f"{result!r}\n")
        return self._outcome(problem, translation, result)

    def _outcome(self, problem: Any, translation: Translation, result: Result) -> Any:
        exact = classify(translation.problem).classical and "OBJECT_FLUENTS" not in problem.kind.features
        status, said = _STATUS[result.status], "\n".join((*result.reasons, *result.warnings))
        found = None if result.plan is None else _sequential(problem, translation, result.plan)
        if found is None:
            if result.status == "unsolvable" and not exact:
                status = PlanGenerationResultStatus.UNSOLVABLE_INCOMPLETELY
        elif not exact and not (verdict := SequentialPlanValidator().validate(problem, found)):
            said = f"a plan was found that does not hold exactly: {'; '.join(map(str, verdict.log_messages))}"
            status, found = PlanGenerationResultStatus.UNSOLVABLE_INCOMPLETELY, None
        elif self.satisfies(OptimalityGuarantee.SOLVED_OPTIMALLY) and problem.quality_metrics:
            status = PlanGenerationResultStatus.SOLVED_OPTIMALLY
        return self._generated(status, found, said, result)

    def _generated(self, status: Any, found: Any, said: str, result: Result | None = None) -> Any:
        level = LogLevel.ERROR if status is PlanGenerationResultStatus.UNSUPPORTED_PROBLEM else LogLevel.INFO
        metrics = None
        if result is not None:
            metrics = {"engine_internal_time": f"{result.seconds:.6f}", "expanded": str(result.expanded)}
        messages = [LogMessage(level, said)] if said else []
        return PlanGenerationResult(status, found, self.name, metrics, messages)

    def _validate(self, problem: Any, plan: Any) -> Any:
        translation = translate(problem)
        steps = translation.steps(plan.actions)
        verdict = validate(translation.problem, steps)
        messages = []
        if not classify(translation.problem).classical:
            messages.append(LogMessage(LogLevel.WARNING, "numbers are equal here within 0.001"))
        if verdict.valid:
            metrics = dict.fromkeys(problem.quality_metrics, verdict.cost)
            return ValidationResult(ValidationResultStatus.VALID, self.name, messages, metrics or None)
        assert verdict.reason is not None
        messages.append(LogMessage(LogLevel.INFO, verdict.reason.message))
        failed = None if verdict.step is None else plan.actions[verdict.step]
        return ValidationResult(
            ValidationResultStatus.INVALID,
            self.name,
            messages,
            reason=FailedValidationReason.INAPPLICABLE_ACTION
            if failed is not None
            else FailedValidationReason.UNSATISFIED_GOALS,
            inapplicable_action=failed,
        )


class OptimalEngine(PlanningEngine):
    """A* with an admissible heuristic: its plans for classical problems cost as little as can be."""

    _features: ClassVar[tuple[frozenset[str], ...]] = (CLASSICAL - {"OBJECT_FLUENTS"},)

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "search": "astar", "heuristic": "max"})

    @property
    def name(self) -> str:
        """What it is called in results."""
        return "pdsketch-opt"

    @staticmethod
    def satisfies(optimality_guarantee: Any) -> bool:
        """Both guarantees that there are."""
        return True


def _kind(features: frozenset[str]) -> ProblemKind:
    return ProblemKind(features, version=LATEST_PROBLEM_KIND_VERSION)


def _sequential(problem: Any, translation: Translation, steps: list[Step]) -> Any:
    make = problem.environment.expression_manager.ObjectExp
    instances = translation.instances(steps)
    actions = [ActionInstance(action, tuple(map(make, objects))) for action, objects in instances]
    return SequentialPlan(actions, problem.environment)
