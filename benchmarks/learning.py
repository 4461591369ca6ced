"""How fast models learn: transitions per second, and where the time goes.

    python benchmarks/learning.py                    # one CPU core
    python benchmarks/learning.py --device cuda      # one GPU, with the data resident there

The sketch is PDS-Abs with its default networks. The episodes come from a small
room simulated here, so that nothing but torch, numpy, safetensors and rich is
needed. A transition is a state with its action, its successor and its goal.

The first rows are large batches. The last is what a fit to few demonstrations does, 256 states a step: the
median step.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from pdsketch.lang.load import load_domain
from pdsketch.tensor.model import Model
from pdsketch.training.data.device_dataset import put_on_device
from pdsketch.training.data.recorder import Recorder
from pdsketch.training.fitting import open_training_set
from pdsketch.training.options import Options
from pdsketch.training.statistics import record_statistics
from pdsketch.training.trainer import Trainer
from pdsketch_paper.babyai.observation import SKETCHES

SKETCH = SKETCHES / "abs.pdsketch"
AIMS = {("cpu", 4, 0): 20_000, ("cpu", 4, 4): 10_000, ("cuda", 4, 4): 2_000_000}
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
KINDS = {"key": 5, "ball": 6, "box": 7, "door": 4}
AHEAD = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
ACTIONS = ("lturn", "rturn", "forward", "pickup", "drop", "toggle")


class Room:
    """A 7×7 room with the rules that PDS-Abs is about."""

    def __init__(self, rng, objects: int, doors: int, walls: int) -> None:
        cells = [(x, y) for x in range(1, 6) for y in range(1, 6) if (x, y) != (3, 3)]
        border = [(x, y) for x in range(7) for y in range(7) if x in (0, 6) or y in (0, 6)]
        inside = rng.permutation(len(cells))[:objects]
        outside = rng.permutation(len(border))[: doors + walls]
        self.item_pose = np.array(
            [cells[i] for i in inside] + [border[i] for i in outside[:doors]], dtype=np.float32
        ).reshape(-1, 2)
        codes = [(int(rng.integers(5, 8)), int(rng.integers(6)), 0) for _ in range(objects)]
        codes += [(4, int(rng.integers(6)), 1) for _ in range(doors)]
        self.item_code = np.array(codes, dtype=np.int64).reshape(-1, 3)
        self.wall_pose = np.array([border[i] for i in outside[doors:]], dtype=np.float32).reshape(-1, 2)
        self.robot, self.direction = np.array([3.0, 3.0], dtype=np.float32), int(rng.integers(4))

    def observe(self, walls: bool) -> dict:
        """What a state of PDS-Abs holds."""
        wall_code = np.tile([2, 5, 0], (len(self.wall_pose), 1)).reshape(-1, 3)
        return {
            "robot-pose": self.robot[None].copy(),
            "robot-direction": np.array([self.direction]),
            "item-pose": np.concatenate([self.item_pose, self.wall_pose]) if walls else self.item_pose.copy(),
            "item-feature": np.concatenate([self.item_code, wall_code]) if walls else self.item_code.copy(),
        }

    def faced(self) -> int | None:
        """The item ahead."""
        at = np.flatnonzero((self.item_pose == self.robot + AHEAD[self.direction]).all(1))
        return int(at[0]) if len(at) else None

    def act(self, action: str) -> None:
        """Take an action."""
        faced, ahead = self.faced(), self.robot + AHEAD[self.direction]
        held = np.flatnonzero((self.item_pose == -1).all(1))
        if action in ("lturn", "rturn"):
            self.direction = (self.direction + (3 if action == "lturn" else 1)) % 4
        elif action == "forward" and faced is None and ((ahead > 0) & (ahead < 6)).all():
            self.robot = ahead.astype(np.float32)
        elif action == "pickup" and faced is not None and self.item_code[faced, 0] != 4 and not len(held):
            self.item_pose[faced] = -1
        elif action == "drop" and len(held) and faced is None and ((ahead > 0) & (ahead < 6)).all():
            self.item_pose[held[0]] = ahead
        elif action == "toggle" and faced is not None and self.item_code[faced, 0] == 4:
            self.item_code[faced, 2] = 1 - self.item_code[faced, 2]


def record(episodes: int, objects: int, doors: int, walls: int, seed: int = 0):
    """Random walks, half of whose steps go on to what is faced."""
    domain = load_domain(SKETCH)
    rng = np.random.default_rng(seed)
    recorder = Recorder(domain)
    for _ in range(episodes):
        room = Room(rng, objects, doors, walls)
        kind, colour = list(KINDS)[int(rng.integers(4 if doors else 3))], COLOURS[int(rng.integers(6))]
        verb = (
            "(robot-facing agent ?o)" if rng.random() < 0.5 or kind == "door" else "(robot-holding agent ?o)"
        )
        goal = f"(exists (?o - item) (and {verb} (is-{colour} ?o) (is-{kind} ?o)))"
        states, success, actions = [], [], []
        for step in range(10):
            states.append(room.observe(walls > 0))
            faced = room.faced()
            wanted = (KINDS[kind], COLOURS.index(colour))
            success.append(int(faced is not None and tuple(room.item_code[faced, :2]) == wanted))
            if step < 9:
                chances = [0.2, 0.2, 0.4, 0.07, 0.06, 0.07]
                actions.append((ACTIONS[int(rng.choice(6, p=chances))], "agent"))
                room.act(actions[-1][0])
        listed = {"item": [f"item#{i}" for i in range(objects + doors)]}
        if walls:
            listed["wall"] = [f"wall#{i}" for i in range(walls)]
        values = {name: np.stack([s[name] for s in states]) for name in states[0]}
        recorder.add(listed, values, actions, goal, success)
    return recorder.arrays()


def measure(device: str, objects: int, doors: int, walls: int, batch: int, seconds: float) -> list[dict]:
    columns = record(400, objects, doors, walls)
    model = Model(columns.domain, seed=0).to(device)
    training = open_training_set(model, put_on_device(columns, torch.device(device)))
    states = np.arange(len(training.dataset))
    options = Options.of(steps=10_000, batch=batch)
    if batch > len(states):  # a GPU wants more than there is: the same states several times over
        states = np.tile(states, -(-batch // len(states)))
    trainer = Trainer(training, options, states, states[:0])
    record_statistics(trainer.losses, trainer.sampler)
    trainer.synchronise = True
    aim = AIMS.get((device, objects, doors)) if not walls else None
    row = {"device": device, "objects": objects, "doors": doors, "walls": walls}
    return [row | timed(trainer, seconds) | {"aim": aim}]


def timed(trainer: Trainer, seconds: float) -> dict:
    """Steps for so many seconds, after three that do not count."""
    for _ in range(3):
        trainer.advance()
    trainer.seconds = dict.fromkeys(trainer.seconds, 0.0)
    processor, clock, steps = time.process_time(), time.perf_counter(), 0
    while time.perf_counter() - clock < seconds or steps < 3:
        trainer.advance()
        steps += 1
    if trainer.training.dataset.device.type != "cpu":
        torch.cuda.synchronize()
    wall, busy = time.perf_counter() - clock, time.process_time() - processor
    seen, total = steps * trainer.sampler.batch, sum(trainer.seconds.values())
    return {
        "batch": trainer.sampler.batch,
        "ms_per_step": 1e3 * wall / steps,
        "transitions_per_second": seen / wall,
        "transitions_per_cpu_second": seen / busy,
        "split": {name: spent / total for name, spent in trainer.seconds.items()},
    }


def measure_small(device: str, steps: int) -> dict:
    """A whole fit in small steps: the median milliseconds of a step."""
    columns = record(100, 4, 4, 20)
    model = Model(columns.domain, seed=0).to(device)
    training = open_training_set(model, put_on_device(columns, torch.device(device)))
    states = np.arange(len(training.dataset))
    options = Options.of(steps=steps, batch=256, learning_rate=3e-3, evaluate_every=steps)
    trainer = Trainer(training, options, states, states[:0])
    trainer.synchronise = True
    spent: list[float] = []
    advance = trainer.advance

    def timed() -> None:
        clock = time.perf_counter()
        advance()
        spent.append(1e3 * (time.perf_counter() - clock))

    trainer.advance = timed  # type: ignore[method-assign]
    model.train()
    trainer.run()
    return {"device": device, "batch": trainer.sampler.batch, "ms_per_step": float(np.median(spent[3:]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--seconds", type=float, default=5.0, help="per line of the table")
    parser.add_argument("--steps", type=int, default=200, help="of the fit in small steps")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    cuda = args.device.startswith("cuda")
    batch = args.batch or (131_072 if cuda else 4096)
    rows = [
        row
        for objects, doors, walls in ((4, 0, 0), (4, 4, 0), (4, 4, 20))
        for row in measure(args.device, objects, doors, walls, batch, args.seconds)
    ]
    small = measure_small(args.device, args.steps)
    if args.json:
        print(json.dumps({"torch": torch.__version__, "rows": rows, "small": small}))
        return
    titles = f"{'items':>6} {'walls':>6} {'batch':>7} {'ms/step':>8} {'trans/s':>10}"
    print(f"{titles} {'per CPU s':>10} {'aim':>9}")
    for row in rows:
        items = row["objects"] + row["doors"]
        print(
            f"{items:>6} {row['walls']:>6} {row['batch']:>7} {row['ms_per_step']:8.1f}",
            f"{row['transitions_per_second']:10.0f} {row['transitions_per_cpu_second']:10.0f}",
            f"{row['aim'] or '':>9}",
        )
        print("       " + ", ".join(f"{name} {part:.0%}" for name, part in row["split"].items()))
    print(f"{8:>6} {20:>6} {small['batch']:>7} {small['ms_per_step']:8.1f}")


if __name__ == "__main__":
    main()
