"""Does a fit need memory for all of its pictures? Its peak, and the size of the data.

    python benchmarks/image_data.py                          # 10,000 episodes × 15 states × 10 boxes, 32×32×3
    python benchmarks/image_data.py --channels 1 --steps 20

Each state shows every box as a picture of bytes; an action turns a light box dark and
back. The episodes are made and saved by one process, and another one trains on the
folder, so that its peak is that of the fit alone (`ru_maxrss`, which counts pages of
mapped files, too). Exits with 1 where that is more than the aim.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import pdsketch as pds
from pdsketch.training.data.files import load_episodes, save_episodes
from pdsketch.training.data.recorder import Recorder

AIM = 4.0
"""GiB of resident memory."""

SKETCH = """
(define (domain lights)
  (:types box - object look - vector[float32, 4])
  (:predicates (picture [return_type=vector[float32, 32, 32, {channels}]] ?b - box))
  (:derived (look-of [return_type=look] ?b - box) (??e (picture ?b)))
  (:derived (dark ?b - box) (??f (look-of ?b)))
  (:action turn :parameters (?b - box) :effect (look-of::assign ?b (??g (look-of ?b)))))
"""


def make(args: argparse.Namespace, folder: Path) -> None:
    """Write the folder; the pictures go through a scratch file, and never lie in memory all at once."""
    domain = pds.parse_domain(SKETCH.format(channels=args.channels))
    rng = np.random.default_rng(0)
    names = [f"b{i}" for i in range(args.objects)]
    shape = (args.states, args.objects, 32, 32, args.channels)
    noise = rng.integers(0, 60, size=shape, dtype=np.uint8)
    recorder = Recorder(domain)
    with tempfile.NamedTemporaryFile(dir=folder.parent) as scratch:
        for _ in range(args.episodes):
            turned = rng.integers(args.objects, size=args.states - 1)
            dark = np.zeros((args.states, args.objects), dtype=np.bool_)
            dark[0] = rng.random(args.objects) < 0.5
            dark[1:, :] = dark[0]
            for step, at in enumerate(turned, start=1):
                dark[step:, at] ^= True
            light = np.where(dark, 20, 180).astype(np.uint8)[..., None, None, None]
            scratch.write((np.roll(noise, int(rng.integers(32)), axis=2) + light).tobytes())
            asked = int(rng.integers(args.objects))
            recorder.add(
                {"box": names},
                {},
                [("turn", names[at]) for at in turned],
                f"(dark {names[asked]})",
                dark[:, asked].astype(int),
            )
        scratch.flush()
        pictures = np.memmap(scratch.name, dtype=np.uint8, mode="r")
        arrays = replace(recorder.arrays(), values={"picture": pictures}, shapes={"picture": shape[2:]})
        save_episodes(arrays, folder)


def train(args: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Fit on the folder; what it took."""
    domain = pds.parse_domain(SKETCH.format(channels=args.channels))
    begin = time.perf_counter()
    episodes = load_episodes(folder, domain)
    loaded = time.perf_counter() - begin
    report = pds.fit(
        pds.Model(domain, seed=0), episodes, steps=args.steps, batch=args.batch, evaluate_every=args.steps
    )
    return {
        "data_gib": sum(values.nbytes for values in episodes.values.values()) / (1 << 30),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20),
        "load_seconds": loaded,
        "fit_seconds": report.seconds["total"],
        "seconds_per_step": sum(report.seconds[k] for k in ("data", "forward", "backward", "optimiser"))
        / max(1, args.steps),
    }


def main() -> int:
    """Make the data, train on it, and say what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--states", type=int, default=15)
    parser.add_argument("--objects", type=int, default=10)
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--folder", type=Path, help="where the data are, or are to be made")
    parser.add_argument("--phase", choices=["make", "train"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.phase == "make":
        make(args, args.folder)
        return 0
    if args.phase == "train":
        print(json.dumps(train(args, args.folder)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch) / "data"
        sizes = ("episodes", "states", "objects", "channels", "steps", "batch")
        same = [word for size in sizes for word in (f"--{size}", str(getattr(args, size)))]
        command = [sys.executable, __file__, *same, "--folder", str(folder), "--phase"]
        if not folder.exists():
            subprocess.run([*command, "make"], check=True)
        done = subprocess.run([*command, "train"], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    for name, value in found.items():
        print(f"{name:>18} {value:8.2f}")
    return int(found["peak_gib"] > AIM)


if __name__ == "__main__":
    sys.exit(main())
