"""One table from its runs: JSON, Markdown and a plot under one folder, and what is to be said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

from pdsketch.files import lock_file, make_folder, write_file, write_output
from pdsketch.lang import did_you_mean, error
from pdsketch_paper.experiments import babyai_tables, painting_tables
from pdsketch_paper.experiments.runs import ExperimentRun, count_finished, finished_runs, run_all
from pdsketch_paper.experiments.tables import Experiment, ResultTable
from pdsketch_paper.experiments.workers import Cluster

REMARKS: Final[dict[str, str]] = {
    "babyai-main": """\
Agents that act without a model (BC, DT, Dreamer) are described, with their networks, settings and training,
on the page about [baselines](baselines.md). They choose each action by what they see, so that their
figures, where a table has them, stand with the closed loop.

**BC and DT (S)** come within 0.03 of what the paper's main table has for them, or above it, and have more in
fuller rooms (0.79 and 0.82 there): the network sees where objects stand to each other, and its actions are
drawn, so that it gets away where it is stuck. **DT (S+F)** learns from failures, too, and is asked for a
return of 1; it is better than the paper's (0.32 / 0.19), and far below the others, as there. Half of the
demonstrations approach a wrong thing. **PDS-Base** is far above the paper's (0.82 / 0.62); ours rounds
predicted numbers to values that were seen while it searches, and which part of the difference that makes
was not measured. **PDS-Abs and PDS-Rob** agree with the paper. **Dreamer** has what the paper's has (0.96 /
0.79), and more in fuller rooms: from demonstrations alone, in three minutes of a GPU, once the encoder is
also told directly what was demonstrated ([what keeps it on the
plateau](baselines.md#what-keeps-it-on-the-plateau)). 3,000 environment steps of practice hardly change it.
How many steps in the environment the paper's has is not said.""",
    "babyai-data": """\
**Where the paper contradicts itself.** Its main table has 0.93 for BC and 0.91 for DT (S); its table by
numbers of demonstrations has 0.39 and 0.30 for them at 10,000, its largest number (in brackets above:
the main table). The models agree in both tables (Base 0.82 and 0.80, Abs 0.99, Rob 1.00 and 0.99). How
many demonstrations the main table is from is not said; more than 10,000 would explain the agents, and
nothing else in the paper does. Ours come within 0.03 of the main table's with 10,000. The paper's table by
numbers of demonstrations has no Dreamer; its settings here are those found at 10,000.

**Chance.** For 100 and for 1,000 demonstrations the paper has 0.24 and 0.23 for the agents, which is little
more than chance, and so are ours: an agent that draws each of its six actions with the same probability
succeeds in 0.196 of the 500 problems of seed 0 within 64 steps (8+6: 0.262).

**PDS-Abs and PDS-Rob need 100 demonstrations**, where the paper's PDS-Abs needs 1,000 (it has 0.04 and 0.72
from 100). How flexible each network may be is chosen by trial here
([how networks are chosen](../../docs/when-it-does-not-learn.md#how-networks-are-chosen)), which helps most
where data are few. **PDS-Base** from 1,000 is above the paper's 0.11, too.""",
    "babyai-nodes": """\
The paper shows these curves without numbers, and says that at a success of 0.8 its heuristic needs a
fifth of the expansions of the learned one. **Here the learned heuristic is nearly as good as AO**: it is
right to a quarter of a step on held-out states of demonstrations, from 10,000 of which it is learned, and
plans of missions are short. AO is read off the model and needs no
training of its own. Blind search needs eight to nine times the expansions of AO, and OPT six.""",
    "babyai-curves": """\
As in the paper, PDS-Abs is ahead of PDS-Base in the fuller room, and PDS-Rob ahead of both. With one object
the paper's curves of Base and Abs are alike, and ours are not: PDS-Base has to learn to predict every number
of a pose afresh, and a step is right here only if every variable is. Tables of success train it longer.""",
    "babyai-onpolicy": """\
**PDS-Rob and PDS-Abs learn from a few hundred episodes** of acting, where the paper's PDS-Rob needs 10,000
and its PDS-Abs stays at 0.06. Subgoals are not all of the difference: without them PDS-Abs needs half again
as many steps, and is a little worse. About a fifth of the random walks at the start reach their goals by
chance, and a model fitted to them plans well enough to reach more
([on-policy learning](../../docs/on-policy.md)). Why the paper's PDS-Abs stays where it is cannot be seen
from the paper. **PDS-Base** has fewer episodes and
shorter searches, as the note says. **PPO** has the same observation, and a network over the set of items
([baselines](baselines.md#ppo)); it needs 160 times the episodes of the models, and less than half of the
paper's PPO.""",
    "painting-main": """\
The paper's world and data are not public: ours has other geometry, a physics engine and pictures of its own,
so that figures can be compared only roughly. Relations begin at differences that occur in successes, and
poses are proposed by the relations themselves ([Painting Factory](painting.md)). What remains to be learned
from 100 demonstrations are eight colours and what bowls do.

**BC and DT** have the paper's parts: a graph network over crops, poses and the goal, a score for each block
and container, one for moving each block, and where to. How the paper's network reads a goal of two
blocks and gives a place is not said. Ours keeps what each variable of a goal wants apart, and gives places
relative to an object ([what each is worth](baselines.md#what-keeps-behaviour-cloning-from-painting)):
without that it fails, and with it, it is above the paper's from 100 demonstrations. On this task,
four actions that always come in the same order, there is little room left above such agents. They learn
this kind of goal alone; models are tried on others ([unseen goals](painting.md)).""",
    "painting-unseen": """\
Towers stand more often than in the paper (0.87): blocks are placed on the middle of what they stand on, which
the offset of `on` says to a few millimetres. Where goals are about all blocks, five have to share a bowl
that has room for five: one of a hundred fails in open loop, and a new plan after what was seen repairs
it.""",
    "painting-noise": """\
Blocks are 4 cm wide. With noise of 3 cm in x and in y, four of five placements are off by more than half a
block, and a block put on another rarely stays there: towers then succeed in two of five episodes of 24 steps,
where a single plan hardly ever does. New plans gain most where grips are lost and places are exact (towers:
0.54 and 0.98).""",
    "painting-light": """\
The networks see crops as they are, and nothing makes them independent of brightness: in the light of their
training, which differs by up to 10 % from table to table, every colour is named as it is; beyond it,
fewer are. Who expects other light trains with it: `pdsketch data painting --world-option light=0.3`.""",
    "babyai-unseen": """\
The paper reports no success by kind of goal. Where all doors are to be open, A* in the abstraction gives way
to weighted and greedy search, whose plans are a fifth longer than the shortest.""",
}
"""By table, in Markdown."""


EXPERIMENTS: dict[str, Experiment] = {**babyai_tables.EXPERIMENTS, **painting_tables.EXPERIMENTS}
"""What ``pdsketch reproduce`` knows."""


def experiment_of(table: str) -> Experiment:
    """The experiment of this name."""
    if table not in EXPERIMENTS:
        raise error(
            "unknown-table",
            f"there is no table `{table}`",
            help=did_you_mean(table, EXPERIMENTS) or f"the tables are {', '.join(EXPERIMENTS)}",
        )
    return EXPERIMENTS[table]


@final
@dataclass(frozen=True, slots=True)
class Request:
    """Which table, how thoroughly, where to, and options of the training world.

    ``jobs`` processes share the runs, of this machine or of a ``cluster``. With ``finished_only`` none are
    made: the table has what is finished, and says what is not.
    """

    table: str
    folder: Path = Path("results")
    seeds: int = 3
    quick: bool = False
    jobs: int = 1
    world: Mapping[str, Any] = field(default_factory=dict)
    cluster: Cluster | None = None
    finished_only: bool = False

    def all_runs(self) -> list[ExperimentRun[Any]]:
        """The runs of the table, trained in the world that is asked for."""
        runs = EXPERIMENTS[self.table].runs(self.seeds, self.quick)
        return [replace(run, config=run.config.in_world(**self.world)) for run in runs]

    @property
    def place(self) -> Path:
        """The folder of the table: smoke runs have one of their own."""
        return self.folder / "quick" if self.quick else self.folder

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return self.place / "runs"


def reproduce(request: Request, say: Callable[[str], None] | None = None) -> ResultTable:
    """Run what is not finished yet, then write the table."""
    experiment = experiment_of(request.table)
    folder = make_folder(request.place)
    # Other tables may be written into the same folder meanwhile.
    with lock_file(folder / f"{request.table}.json"):
        records, missing = _records(request, say)
        table = experiment.table(records)
        if missing:
            listed = f"**Not run yet**: {', '.join(missing)}."
            table = replace(table, note=f"{table.note} {listed}")
        write_file(folder / f"{request.table}.md", table.markdown())
        content = {**table.as_json(), "runs": records}
        write_file(folder / f"{request.table}.json", json.dumps(content, indent=1))
        if experiment.plot is not None:
            experiment.plot(records, folder / f"{request.table}.png")
    return table


def _records(request: Request, say: Callable[[str], None] | None) -> tuple[list[dict[str, Any]], list[str]]:
    """The measurements that the table is made of, and the names of runs that are not finished."""
    runs = request.all_runs()
    if not request.finished_only:
        return run_all(runs, request.runs, request.jobs, say, request.cluster), []
    found = finished_runs(runs, request.runs)
    records = [record for record in found if record is not None]
    if not records:
        raise error(
            "no-runs",
            f"none of the {len(runs)} runs of `{request.table}` is finished in {request.runs}",
            help="the command without --finished makes them",
        )
    return records, [run.name for run, record in zip(runs, found, strict=True) if record is None]


def finished(request: Request) -> tuple[int, int]:
    """How many runs of the table are finished, and how many it has."""
    runs = request.all_runs()
    return count_finished(runs, request.runs), len(runs)


def write_results(folder: Path, page: Path) -> list[str]:
    """Put the tables that stand in ``folder`` on one page; returns their names."""
    found = [name for name in EXPERIMENTS if (folder / f"{name}.md").exists()]
    parts = [
        "# Results",
        "",
        "Each table is what `pdsketch reproduce NAME` wrote; the command stands above it. Figures are the",
        "mean and the standard deviation over seeds. BabyAI happens in Minigrid, whose own verifiers say",
        "what is a success; the Painting Factory in MuJoCo, whose positions and colours are the judge.",
        "*Open loop*: one plan, carried out blindly. *Closed loop*: a new plan whenever the world is not as",
        "predicted. 4+4: rooms of 4 objects and 4 doors, as in training; 8+6: fuller rooms.",
        "",
    ]
    make_folder(page.parent)
    for name in found:
        parts += [f"`pdsketch reproduce {name}`", "", (folder / f"{name}.md").read_text(encoding="utf-8")]
        picture = folder / f"{name}.png"
        if picture.exists():
            target = page.parent / picture.name
            write_file(target, picture.read_bytes())
            parts += [f"![{name}]({picture.name})", ""]
        if name in REMARKS:
            parts += [REMARKS[name], ""]
    write_output(page, "\n".join(parts))
    return found
