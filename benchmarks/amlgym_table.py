"""Action models from traces: ours beside SAM and OffLAM, by AMLGym's own measures.

    pip install --no-deps amlgym n-sam offlam …    # AMLGym requires more than is needed here
    python benchmarks/amlgym_table.py [DOMAIN …] [--traces 10] [--problems 5] [--only pdsketch,SAM]

Given are the signatures of each domain, and executed steps. For each learner, there are problems solved with
what was learned (by this package's planner, within seconds of the processor; the plans are valid in the true
domain), plans that are not, precision and recall of preconditions and effects, and CPU seconds of learning
(imports left out).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import tempfile
import time
import warnings
from pathlib import Path

from amlgym.algorithms import get_algorithm, registry
from amlgym.algorithms.PassiveAlgorithmAdapter import PassiveAlgorithmAdapter
from amlgym.benchmarks import get_domain_names, get_domain_path, get_problems_path, get_trajectories_path
from amlgym.metrics import syntactic_precision, syntactic_recall

import pdsketch as pds
import pdsketch.abstract
import pdsketch.training.fitting  # large, and imported here, so that the first domain is not charged for it
from pdsketch.budget import Budget


class PDSketch(PassiveAlgorithmAdapter):
    """pdsketch as an algorithm of AMLGym: everything but signatures is blank, and learned from the traces."""

    def learn(self, domain_path: str, trajectory_paths: list[str]) -> str:
        """The learned domain as PDDL."""
        sketch = pds.sketch_of(pds.load_domain(domain_path))
        model = pds.Model(sketch, seed=0)
        pds.fit(model, pds.read_traces(sketch, trajectory_paths), steps=20, seed=0)
        return pds.export(model).domain_text


registry["pdsketch"] = PDSketch

LEARNERS = ("pdsketch", "SAM", "OffLAM")

COLUMNS = ("domain", "learner", "solved", "false", "precision", "recall", "CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("domains", nargs="*")
    parser.add_argument("--traces", type=int, default=10)
    parser.add_argument("--problems", type=int, default=5)
    parser.add_argument(
        "--seconds", type=float, default=20, help="of the processor, to plan for each problem"
    )
    parser.add_argument("--only", type=lambda text: text.split(","), default=LEARNERS)
    args = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the other learners write files where they are
        for domain in args.domains or sorted(filter(_has_traces, get_domain_names())):
            for learner in args.only:
                print("| " + " | ".join([domain, learner, *_row(domain, learner, args)]) + " |", flush=True)


def _has_traces(domain: str) -> bool:
    with contextlib.suppress(ModuleNotFoundError, FileNotFoundError):
        return bool(get_trajectories_path(domain))
    return False


def _row(domain: str, learner: str, args: argparse.Namespace) -> list[str]:
    true = get_domain_path(domain)
    traces, problems = (
        get_trajectories_path(domain)[: args.traces],
        get_problems_path(domain)[: args.problems],
    )
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        learned = get_algorithm(learner).learn(true, traces)
        seconds = time.process_time() - begun
        Path("learned.pddl").write_text(learned, encoding="utf-8")
        precision = syntactic_precision("learned.pddl", true)["mean"]
        recall = syntactic_recall("learned.pddl", true)["mean"]
    valid = [_is_valid(problem, true, args.seconds) for problem in problems]
    return [
        f"{valid.count(True)}/{len(problems)}",
        str(valid.count(False)),
        f"{precision:.2f}",
        f"{recall:.2f}",
        f"{seconds:.2f}",
    ]


def _is_valid(path: str, true: str, seconds: float) -> bool | None:
    """Whether the plan by what was learned does what it should; None: there is no plan."""
    learned = _problem(path, "learned.pddl")
    with Budget(seconds, clock=time.process_time).running():
        plan = pds.plan(learned).plan
    return None if plan is None else pds.validate(_problem(path, true), plan).valid


def _problem(path: str, domain_path: str) -> pds.Problem:
    """A problem of a domain, whatever the files call that."""
    domain = pds.load_domain(domain_path)
    text = re.sub(r"\(:domain\s[^)]*\)", f"(:domain {domain.name})", Path(path).read_text(encoding="utf-8"))
    return pds.parse_problem(text, domain)


if __name__ == "__main__":
    main()
