"""Do the defaults learn what a plain network learns? Small tasks of every kind of signature, one table.

    python benchmarks/zoo.py                          # all tasks, three seeds: hours on one core
    python benchmarks/zoo.py --jobs 16 --out zoo.json
    python benchmarks/zoo.py --half tune --only near facing --seeds 1
    python benchmarks/zoo.py --quick                  # a few tasks, a few steps

Each task is learned three ways from the same examples: with the default
networks (`ours`), with a plain perceptron, convolutional network or DeepSets as
a module in the very same fit (`plain`), and, where the task gives its blank's
inputs and outputs away, by that plain network under an ordinary supervised loss
(`hand`). The score is the part of fresh examples that is right: the goal's
truth, or the variable that the action writes. `keep` is what "nothing changes"
or the more frequent answer would score. Splits: *test* is drawn as the training
examples were; *counts* has other numbers of objects, *range* other values,
*rare* mostly values that training seldom had.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import pdsketch as pds
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.episode_arrays import EpisodeArrays
from pdsketch.training.data.recorder import Recorder
from zoo_tasks import TASKS, Examples, Task

TESTED = 1000
WIDTH = 64
QUICK = ("colour", "near", "gated-next-mod-8", "step-by-direction")
AIM = 0.02


# -- the plain networks ---------------------------------------------------------------------------


class Plain(nn.Module):
    """What one would write by hand: flatten everything, two hidden layers; sets summed, images convolved."""

    def __init__(self, inputs: list, output: tuple[str, int, int]) -> None:
        """``inputs``: ("flat", size), ("set", size), ("image", h, w, c); ``output``: kind, size, choices."""
        super().__init__()
        self.kinds = [kind for kind, *_ in inputs]
        self.output = output
        self.parts = nn.ModuleList()
        width = 0
        for kind, *shape in inputs:
            if kind == "set":
                self.parts.append(
                    nn.Sequential(nn.Linear(shape[0], WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
                )
                width += WIDTH
            elif kind == "image":
                height, wide, channels = shape
                flat = 32 * ((height + 3) // 4) * ((wide + 3) // 4)
                self.parts.append(
                    nn.Sequential(
                        nn.Conv2d(channels, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                        nn.Flatten(), nn.Linear(flat, WIDTH), nn.ReLU(),
                    )
                )  # fmt: skip
                width += WIDTH
            else:
                self.parts.append(nn.Identity())
                width += shape[0]
        kind, size, choices = output
        self.body = nn.Sequential(
            nn.Linear(width, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, size * choices),
        )

    def raw(self, *args) -> Tensor:
        """Scores, logits or numbers ``[..., size · choices]``."""
        leading = _leading(self.kinds[0], args[0])
        features = []
        for kind, part, arg in zip(self.kinds, self.parts, args, strict=True):
            if kind == "set":
                values, weights = arg
                flat = values.reshape(*weights.shape, -1)
                features.append((part(flat) * weights.unsqueeze(-1)).sum(-2))
            elif kind == "image":
                pictures = arg.reshape(-1, *arg.shape[-3:]).permute(0, 3, 1, 2)
                features.append(part(pictures).reshape(*leading, -1))
            else:
                features.append(arg.reshape(*leading, -1))
        return self.body(torch.cat(features, -1))

    def forward(self, *args) -> Tensor:
        """As a blank's module returns it."""
        raw = self.raw(*args)
        kind, size, choices = self.output
        if kind == "bool":
            return torch.sigmoid(raw)
        if kind == "int":
            return raw.reshape(*raw.shape[:-1], *((size,) if size > 1 else ()), choices)
        return raw


def _leading(kind: str, arg) -> torch.Size:
    if kind == "set":
        return arg[1].shape[:-1]
    return arg.shape[:-3] if kind == "image" else arg.shape[: arg.dim() - getattr(arg, "own_axes", 1)]


class Fitted(nn.Module):
    """A plain module behind a blank: ints arrive one-hot, and are flattened."""

    def __init__(self, blank) -> None:
        super().__init__()
        self.own = []
        inputs = []
        for one in blank.inputs:
            shape = one.type.shape or ()
            if len(shape) == 3 and one.type.choices is None:
                inputs.append(("image", *shape))
                self.own.append(3)
                continue
            size = int(np.prod(shape, dtype=np.int64)) * (one.type.choices or 1)
            inputs.append(("flat" if one.over is None else "set", size))
            self.own.append(max(1, len(shape) + (one.type.choices is not None)))
        returns = blank.returns
        size = int(np.prod(returns.shape or (), dtype=np.int64))
        kind = {"bool": "bool", "int64": "int", "float32": "float"}[returns.prim]
        self.constant = None if inputs else nn.Parameter(torch.zeros(size * (returns.choices or 1)))
        self.plain = Plain(inputs, (kind, size, returns.choices or 1)) if inputs else None

    def forward(self, *args) -> Tensor:
        """Flatten each argument's own axes, then the plain network."""
        if self.plain is None:
            return self.constant
        flat = []
        for arg, own, kind in zip(args, self.own, self.plain.kinds, strict=True):
            flat.append(arg if kind in ("set", "image") else arg.flatten(-own) if own > 1 else arg)
        return self.plain(*flat)


# -- examples as episodes -------------------------------------------------------------------------


def episodes(task: Task, examples: list[Examples], domain) -> EpisodeArrays:
    """One episode an example: a state, or a step."""
    recorder = Recorder(domain)
    for some in examples:
        _record(task, some, recorder)
    return recorder.arrays()


def _record(task: Task, examples: Examples, recorder: Recorder) -> None:
    count = len(next(iter(examples.values.values())))
    after = {name: examples.after.get(name, values) for name, values in examples.values.items()}
    for at in range(count):
        moves = bool(task.action)
        values = {
            name: np.stack([table[at], after[name][at]]) if moves else table[at : at + 1]
            for name, table in examples.values.items()
        }
        success = [0] * (2 if moves else 1)
        if examples.truth is not None:
            success[0] = int(examples.truth[at])
            if moves:
                success[1] = int(examples.truth_after[at])
        known = {"goal": task.goal, "success": success} if task.goal else {}
        recorder.add(examples.objects, values, [task.action] if moves else [], **known)


@torch.no_grad()
def score(task: Task, model, examples: list[Examples]) -> float:
    """The part of the examples that the model gets right."""
    return float(np.mean([_score(task, model, some) for some in examples]))


def _score(task: Task, model, examples: Examples) -> float:
    columns = episodes(task, [examples], model.domain)
    states = put_on_device(columns, torch.device("cpu")).states
    every = torch.arange(states.size)
    first = states.select(every[::2] if task.action else every)
    if not task.action:
        truth = model.holds(first, task.goal, crisp=True).reshape(-1).numpy() > 0.5
        return float((truth == examples.truth).mean())
    found = model.step(first, task.action, crisp=True)
    right = np.ones(len(every) // 2, dtype=bool)
    for name, wanted in examples.after.items():
        got = found[name].numpy().astype(np.float64)
        right &= (np.abs(got - wanted) <= task.tolerance).reshape(len(right), -1).all(1)
    return float(right.mean())


def keep_rate(task: Task, examples: list[Examples]) -> float:
    """What the more frequent answer, or *no change*, would score."""
    return float(np.mean([_keep_rate(task, some) for some in examples]))


def _keep_rate(task: Task, examples: Examples) -> float:
    if not task.action:
        return float(max(examples.truth.mean(), 1 - examples.truth.mean()))
    same = [
        (np.abs(examples.values[n].astype(np.float64) - a) <= task.tolerance).reshape(len(a), -1).all(1)
        for n, a in examples.after.items()
    ]
    return float(np.all(same, 0).mean())


# -- the three ways ---------------------------------------------------------------------------------


def draw(task: Task, size: int, seed: int, split: str) -> list[Examples]:
    """Fresh examples; every split and seed has its own stream."""
    stream = {"train": 0, "test": 1, "counts": 2, "range": 3, "rare": 4}[split]
    rng = np.random.default_rng([seed, stream, sum(map(ord, task.name))])
    found = task.sample(rng, size, "test" if split == "train" else split)
    return found if isinstance(found, list) else [found]


def fitted(task: Task, train: list[Examples], seed: int, way: str, steps: int, options: dict):
    """A model fitted with default networks or with plain ones."""
    domain = pds.parse_domain(task.sketch)
    modules = {}
    if way == "plain":
        torch.manual_seed(seed)
        modules = {name: Fitted(blank) for name, blank in domain.blanks.items()}
    model = pds.Model(domain, modules=modules, seed=seed)
    pds.fit(model, episodes(task, train, domain), steps=steps, seed=seed, **options)
    return model


def by_hand(
    task: Task, train: list[Examples], tests: dict[str, list[Examples]], seed: int, steps: int
) -> dict[str, float]:
    """The plain network under an ordinary loss on the blank's own inputs and outputs."""
    domain = pds.parse_domain(task.sketch)
    (blank,) = domain.blanks.values()
    torch.manual_seed(seed)
    net = Fitted(blank)
    inputs, target = _supervised(task, blank, train[0])
    optimiser = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        rows = torch.from_numpy(rng.permutation(len(target))[:512])
        found = net(*[_rows(x, rows) for x in inputs])
        wanted = target[rows]
        if task.output == "bool" or blank.returns.prim == "bool":
            loss = nn.functional.binary_cross_entropy(
                found.reshape(-1).clamp(1e-6, 1 - 1e-6), wanted.reshape(-1).float()
            )
        elif blank.returns.prim == "int64":
            loss = nn.functional.cross_entropy(found.reshape(-1, found.shape[-1]), wanted.reshape(-1).long())
        else:
            loss = (found.reshape(wanted.shape) - wanted).abs().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    scores = {}
    with torch.no_grad():
        for split, examples in tests.items():
            given, wanted = _supervised(task, blank, examples[0])
            found = net(*given)
            if task.output == "bool" or blank.returns.prim == "bool":
                right = (found.reshape(-1) > 0.5) == wanted.reshape(-1).bool()
            elif blank.returns.prim == "int64":
                right = (found.argmax(-1).reshape(wanted.shape) == wanted).reshape(len(wanted), -1).all(1)
            else:
                right = (
                    ((found.reshape(wanted.shape) - wanted).abs() <= task.tolerance)
                    .reshape(len(wanted), -1)
                    .all(1)
                )
            scores[split] = float(right.float().mean())
    return scores


def _supervised(task: Task, blank, examples: Examples):
    inputs = []
    for given, one in zip(task.inputs(examples), blank.inputs, strict=True):
        is_set = isinstance(given, dict)
        values = torch.from_numpy(np.asarray(given["set"] if is_set else given))
        leading = 2 if is_set else 1
        if one.type.choices is not None:
            values = nn.functional.one_hot(values.long(), one.type.choices).float()
        values = values.float()
        if values.dim() == leading:
            values = values.unsqueeze(-1)
        inputs.append((values, torch.ones(values.shape[:2])) if is_set else values)
    target = examples.truth if task.output == "bool" else examples.after[task.output][:, 0]
    return inputs, torch.from_numpy(
        np.asarray(target, dtype=np.float32 if blank.returns.prim == "float32" else None)
    )


def _rows(x, rows):
    return (x[0][rows], x[1][rows]) if isinstance(x, tuple) else x[rows]


def run(job: tuple) -> dict:
    """One task, size and seed, in one way."""
    name, size, seed, way, steps, options = job
    torch.set_num_threads(1)
    task = TASKS[name]
    train = draw(task, size, seed, "train")
    tests = {split: draw(task, TESTED, seed, split) for split in task.tests}
    started = time.perf_counter()
    if way == "hand":
        scores = by_hand(task, train, tests, seed, steps)
    else:
        model = fitted(task, train, seed, way, steps, options)
        scores = {split: score(task, model, examples) for split, examples in tests.items()}
    keep = {split: keep_rate(task, examples) for split, examples in tests.items()}
    seconds = time.perf_counter() - started
    return {
        "task": name,
        "size": size,
        "seed": seed,
        "way": way,
        "scores": scores,
        "keep": keep,
        "seconds": seconds,
    }


def jobs_of(args) -> list[tuple]:
    """What is to be run."""
    found = []
    for task in TASKS.values():
        if (args.only and task.name not in args.only) or (args.half and task.half != args.half):
            continue
        for size in task.sizes:
            if args.size and size not in args.size:
                continue
            for seed in range(args.seeds):
                for way in args.ways:
                    if way == "hand" and task.inputs is None:
                        continue
                    found.append((task.name, size, seed, way, args.steps, dict(args.option)))
    return found


def table(results: list[dict]) -> str:
    """The scores as Markdown: a row per task, number of examples and split."""
    cells = defaultdict(lambda: defaultdict(list))
    for one in results:
        for split, found in one["scores"].items():
            cells[one["task"], one["size"], split][one["way"]].append(found)
            cells[one["task"], one["size"], split]["keep"].append(one["keep"][split])
    lines = [
        "| task | kind | half | examples | split | keep | ours | plain | hand | short by |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    short, means = [], defaultdict(list)
    for (name, size, split), ways in cells.items():
        task = TASKS[name]
        mean = {way: float(np.mean(found)) for way, found in ways.items()}
        best = max((mean[w] for w in ("plain", "hand") if w in mean), default=0.0)
        gap = best - mean.get("ours", 0.0)
        if "ours" in mean and gap > AIM:
            short.append((gap, name, size, split))
        for way, found in mean.items():
            means[size, split, way].append(found)
        texts = [f"{mean[w]:.3f}" if w in mean else "" for w in ("keep", "ours", "plain", "hand")]
        facts = [name, task.kind, task.half, str(size), split, *texts, f"**{gap:.3f}**" if gap > AIM else ""]
        lines.append(f"| {' | '.join(facts)} |")
    lines += [
        "",
        f"{len(short)} of {len(cells)} rows are more than {AIM} below the better of `plain` and `hand`.",
    ]
    for size, split in sorted({(s, p) for s, p, _ in means}):
        both = ", ".join(
            f"{way} {np.mean(means[size, split, way]):.3f}"
            for way in ("ours", "plain", "hand")
            if means[size, split, way]
        )
        lines.append(f"Mean at {size} examples, {split}: {both}.")
    return "\n".join(lines)


def main() -> None:
    """Run, print the table, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="these tasks alone")
    parser.add_argument("--half", choices=("tune", "check"))
    parser.add_argument("--size", nargs="*", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--ways", nargs="*", default=["ours", "plain", "hand"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--option", nargs="*", type=_option, default=[], help="settings of fit, name=value")
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--quick", action="store_true", help="four tasks, 100 examples, 150 steps")
    args = parser.parse_args()
    if args.quick:
        args.only, args.size, args.seeds, args.steps = list(QUICK), [100], 1, 150
    jobs = jobs_of(args)
    if args.jobs > 1:
        with ProcessPoolExecutor(args.jobs) as pool:
            results = list(pool.map(run, jobs, chunksize=1))
    else:
        results = [run(job) for job in jobs]
    if args.out:
        args.out.write_text(json.dumps(results, indent=1))
    print(table(results))
    spent = {way: sum(r["seconds"] for r in results if r["way"] == way) for way in args.ways}
    print("Seconds:", {way: round(total, 1) for way, total in spent.items()})


def _option(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    return name, json.loads(value)


if __name__ == "__main__":
    main()
