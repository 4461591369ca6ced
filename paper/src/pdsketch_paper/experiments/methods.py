"""The paper's method and ours: a switch for each difference, and ladders from one to the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any, Final, cast, final

import torch
from torch import Tensor, nn

from pdsketch.lang import Blank, Domain
from pdsketch.tensor import Model
from pdsketch.training import FitOptions, Progress, Report, Source, fit

WIDTH: Final = 128
"""Of hidden layers: the paper's embeddings are as wide."""

MOST_STEPS: Final = 6000
"""Where a fit goes on until its held-out loss stops falling, it ends after so many steps at the latest."""

MEASURED: Final = 100
PATIENCE: Final = 8
"""Steps between looks at the held-out loss, and how many looks without a fall end a fit."""


@final
@dataclass(frozen=True, slots=True)
class Method:
    """How a model is made, fitted and searched: True where it is done our way, False where the paper's.

    - ``labels``: painting's demonstrations are judged by further formulas, too.
    - ``walls``: PDS-Abs sees the walls of a room, as objects.
    - ``schedule``: a fit takes a number of steps; else it goes on until its held-out loss stops falling.
    - ``networks``: the library makes networks from signatures; else `PlainNetwork`.
    - ``losses``: product logic, likelihoods, what changes weighs as much as what does not; else Gödel's
      logic and L1.
    - ``usage``: a loss asks that all codes of encoded ints are used.
    - ``forms``: simple functions take the places of networks.
    - ``snap``: predicted numbers are rounded to values that were seen (PDS-Base alone).
    """

    labels: bool = True
    walls: bool = True
    schedule: bool = True
    networks: bool = True
    losses: bool = True
    usage: bool = True
    forms: bool = True
    snap: bool = True


OURS: Final = Method()
PAPER: Final = Method(*[False] * 8)

CHANGES: Final = {
    "labels": "further formulas judged",
    "walls": "walls are objects",
    "schedule": "steps by schedule",
    "losses": "product logic, likelihoods, balance",
    "networks": "networks made from signatures",
    "usage": "all codes are to be used",
    "forms": "forms",
    "snap": "numbers rounded in search",
}
"""What is changed, in the order of the ladders."""


def ladder(*without: str) -> dict[str, Method]:
    """From the paper's method to ours, one change after the other; some changes do not concern a model."""
    method = replace(PAPER, **dict.fromkeys(without, True))
    found = {"paper's method": method}
    for change, title in CHANGES.items():
        if change not in without:
            method = replace(method, **{change: True})
            found[f"+ {title}"] = method
    return found


def modules_of(domain: Domain, method: Method, seed: int) -> dict[str, nn.Module]:
    """A plain network for each blank, where the library is not to make them."""
    if method.networks:
        return {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return {name: PlainNetwork(blank) for name, blank in domain.blanks.items()}


def fit_model(model: Model, episodes: Source, config: Any, **more: Any) -> tuple[Model, Report]:
    """The model, fitted as the config of a run says, and the report of its fit."""
    method: Method = config.method
    # A smoke run has no forms: networks that know nothing take the longest to be explained.
    own: FitOptions = {"paper": not method.losses, "forms": method.forms and config.steps >= MEASURED}
    if not method.usage:
        own |= {"usage": 0.0}
    steps = config.steps
    if not method.schedule:
        own |= {"validation": 0.1, "evaluate_every": MEASURED, "callback": Flat()}
        steps = MOST_STEPS if steps >= MEASURED else steps  # smoke runs stay small
    settings: Any = {"batch": config.batch, "learning_rate": config.learning_rate, **own, **more}
    return model, fit(model, episodes, steps=steps, seed=config.seed, **settings)


@final
class Flat:
    """Ends a fit whose held-out loss has stopped falling."""

    def __init__(self) -> None:
        self._least, self._since = inf, 0

    def __call__(self, progress: Progress) -> bool:
        """Whether the fit is to end; not where nothing is held out."""
        loss = progress.figures.get("held_out_loss")
        if loss is None:
            return False
        self._least, self._since = (loss, 0) if loss < self._least else (self._least, self._since + 1)
        return self._since >= PATIENCE


@final
class PlainNetwork(nn.Module):
    """What the paper has in a blank: two hidden layers on all arguments side by side.

    Each element of a set is seen beside the other arguments, and what is found is added up (one round of a
    graph network); pictures go through three convolutions.
    """

    def __init__(self, blank: Blank) -> None:
        super().__init__()
        self.axes = [(one.type.shape or (), one.type.choices, one.over is not None) for one in blank.inputs]
        returns = blank.returns
        self.kind, self.shape, self.choices = returns.prim, returns.shape or (), returns.choices
        size = prod(self.shape) * (self.choices or 1)
        widths = [prod(shape) * (choices or 1) for shape, choices, _ in self.axes]
        self.pictures = nn.ModuleDict()
        for i, (shape, choices, _) in enumerate(self.axes):
            if len(shape) == 3 and choices is None:
                self.pictures[str(i)], widths[i] = _convolutions(shape), WIDTH
        single = sum(width for width, (*_, many) in zip(widths, self.axes, strict=True) if not many)
        self.elements = nn.ModuleDict(
            {
                str(i): nn.Sequential(nn.Linear(single + width, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
                for i, (width, (*_, many)) in enumerate(zip(widths, self.axes, strict=True))
                if many
            }
        )
        wide = single + WIDTH * len(self.elements)
        self.constant = None if self.axes else nn.Parameter(torch.zeros(size))
        self.layers = nn.Sequential(
            *(nn.Linear(max(wide, 1), WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()),
            nn.Linear(WIDTH, size),
        )

    def forward(self, *args: Tensor | tuple[Tensor, Tensor]) -> Tensor:
        """Numbers, logits or a truth, as `pdsketch.nets` describes them."""
        raw = self.constant if self.constant is not None else self.layers(self._features(args))
        if self.kind == "bool":
            return torch.sigmoid(raw.squeeze(-1))
        own = (*self.shape, self.choices) if self.choices is not None else self.shape or (1,)
        return raw.reshape(*raw.shape[:-1], *own)

    def _features(self, args: tuple[Tensor | tuple[Tensor, Tensor], ...]) -> Tensor:
        parts = [self._flat(i, cast("Tensor", arg)) for i, arg in enumerate(args) if not self.axes[i][2]]
        sums = []
        for i, arg in enumerate(args):
            if self.axes[i][2]:
                values, weights = arg
                each = self._flat(i, values)
                around = [part.unsqueeze(-2).expand(*each.shape[:-1], -1) for part in parts]
                seen = self.elements[str(i)](torch.cat([*around, each], -1))
                sums.append((seen * weights.unsqueeze(-1)).sum(-2))
        return torch.cat([*parts, *sums], -1)

    def _flat(self, i: int, values: Tensor) -> Tensor:
        """An argument as vectors."""
        shape, choices, _ = self.axes[i]
        own = (*shape, choices) if choices is not None else shape or (1,)
        leading = values.shape[: values.dim() - len(own)]
        if str(i) not in self.pictures:
            return values.reshape(*leading, -1).float()
        flat = values.reshape(-1, *shape).permute(0, 3, 1, 2) / 255
        seen: Tensor = self.pictures[str(i)](flat)
        return seen.reshape(*leading, WIDTH)


def _convolutions(shape: tuple[int, ...]) -> nn.Module:
    layers: list[nn.Module] = []
    height, width, channels = shape
    for _ in range(3):
        layers += [nn.Conv2d(channels, 32, 3, 2, 1), nn.ReLU()]
        height, width, channels = (height + 1) // 2, (width + 1) // 2, 32
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(height * width * channels, WIDTH))
