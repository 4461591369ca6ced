"""Agents that imitate: behaviour cloning, and transformers over the history of an episode."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import ClassVar, Final, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pdsketch.lang import Domain, Step
from pdsketch.tensor import State, StateBatch
from pdsketch.training import Array
from pdsketch_paper.baselines.actions import ActionScores, ValueArguments
from pdsketch_paper.baselines.formulas import GoalTree
from pdsketch_paper.baselines.graph import WIDTH, Shapes, nodes_at
from pdsketch_paper.baselines.network import AgentBaseline, Demonstrations


class Imitation(AgentBaseline):
    """An agent that scores actions, and is trained on those that were taken."""

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__(domain, shapes, types)
        self.scores = ActionScores(domain, WIDTH, self.encoder.input.node_type, with_values=True)
        self.values = ValueArguments(domain, shapes, WIDTH, self.scores)

    def standardise(self, demonstrations: Demonstrations) -> None:
        """Take the scale of all numbers from data."""
        super().standardise(demonstrations)
        self.values.standardise(demonstrations)

    def examples(self, demonstrations: Demonstrations) -> Array:
        """The steps that led to the goal."""
        return np.flatnonzero(demonstrations.taken & (demonstrations.to_go > 0))

    def loss(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """The cross-entropy of the actions that were taken, and how far off their values are."""
        scores, targets, errors = self._scored(demonstrations, examples)
        return cross_entropy(scores, targets) + errors.mean()

    def likelihood(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """The log-likelihood of the actions that were taken: actions may be drawn by it."""
        scores, targets, errors = self._scored(demonstrations, examples)
        return -cross_entropy(scores, targets, reduction="none") - errors

    def score(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """Whether the likeliest action is the one that was taken."""
        scores, targets, _ = self._scored(demonstrations, examples)
        return (scores.argmax(1) == targets).float()

    @abstractmethod
    def _scored(self, demonstrations: Demonstrations, examples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, the places of the actions that were taken, and how far their values are off."""


@final
class BehaviourCloning(Imitation):
    """An agent without a model of the world: the likeliest action of successful demonstrations."""

    KIND: ClassVar[str] = "bc"

    def forward(self, batch: StateBatch, trees: Sequence[GoalTree], goal: Tensor) -> Tensor:
        """A score for each ground action ``[s, a]``."""
        nodes, whole = self.encoder(batch, trees, goal)
        scores: Tensor = self.scores(batch, nodes, whole)
        return scores

    def act(self, state: State, goal: str) -> Step | None:
        """The action of one state."""
        return self.act_many([state], [goal])[0]

    @torch.inference_mode()
    def act_many(self, states: Sequence[State], goals: Sequence[str]) -> list[Step | None]:
        """An action for each state; None where there is no action at all."""
        batch, trees, goal = self.seen(states, goals)
        nodes, whole = self.encoder(batch, trees, goal)
        steps = self.decided(batch, self.scores(batch, nodes, whole), self.scores)
        return self.values.completed(batch, nodes, whole, steps)

    def _scored(self, demonstrations: Demonstrations, examples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, the places of the actions that were taken, and how far their values are off."""
        batch, trees, goal = demonstrations.states(examples)
        actions, arguments = demonstrations.actions(examples)
        nodes, whole = self.encoder(batch, trees, goal)
        taken = actions, arguments, demonstrations.numbers(examples)
        errors = self.values.errors(batch, nodes, whole, taken)
        return self.scores(batch, nodes, whole), self.scores.targets(batch, actions, arguments), errors


HEADS: Final = 4
HORIZON: Final = 8
"""Steps of the history that are attended to, the present one included: demonstrations have 7 on average."""


@final
class History(nn.Module):
    """A transformer layer over steps (Vaswani et al., 2017), which attend to themselves and to earlier ones.

    How far back a step lies is a bias on the attention (Shaw et al., 2018), so that a history that is
    longer than any demonstration is not new to it.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(width)
        self.queries = nn.Linear(width, 3 * width)
        self.back = nn.Parameter(torch.zeros(HEADS, HORIZON))
        self.joined = nn.Linear(width, width)
        self.inner = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, steps: Tensor, run: Tensor, at: Tensor) -> Tensor:
        """Steps ``[t, width]`` of any runs, with their run and their place in it, after the layer."""
        back = at[:, None] - at[None, :]
        seen = (run[:, None] == run[None, :]) & (back >= 0) & (back < HORIZON)
        parts = self.queries(self.before(steps)).unflatten(-1, (3, HEADS, -1)).permute(1, 2, 0, 3)
        query, key, value = parts
        weight = query @ key.transpose(1, 2) / sqrt(query.shape[-1])
        weight = weight + self.back[:, back.clamp(0, HORIZON - 1)]
        weight = weight.masked_fill(~seen, -torch.inf).softmax(-1)
        steps = steps + self.joined((weight @ value).permute(1, 0, 2).flatten(1))
        after: Tensor = steps + self.inner(steps)
        return after


class DecisionTransformer(Imitation):
    """An agent that is asked for success, and knows what it saw and did in the last steps.

    A step is the state with its goal, the return from here on (1 where the goal is reached later, else 0),
    and the action before it. The history scales the vectors of objects, so that it bears on arguments, too.
    """

    FAILURES: ClassVar[bool]

    def __init__(self, domain: Domain, shapes: Shapes, types: Sequence[str] | None = None) -> None:
        super().__init__(domain, shapes, types)
        self.returns = nn.Embedding(2, WIDTH)
        self.before = nn.Embedding(len(domain.actions) + 1, WIDTH)
        places = max((len(a.parameters) for a in domain.actions.values()), default=0)
        self.arguments = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(places))
        self.history = History(WIDTH)
        self.bearing = nn.Linear(WIDTH, WIDTH)
        for table in (self.returns, self.before):
            nn.init.normal_(table.weight, std=0.1)
        self.reset()

    def steps(
        self, batch: StateBatch, nodes: Tensor, whole: Tensor, wins: Tensor, before: Tensor, objects: Tensor
    ) -> Tensor:
        """Steps ``[t, width]``; ``before`` numbers the actions before (the last number: none)."""
        found: Tensor = whole + self.returns(wins) + self.before(before)
        for action, types in enumerate(self.scores.types):
            rows = (before == action).nonzero()[:, 0]
            if not len(rows):
                continue
            for place, type_ in zip(self.scores.places[action], types, strict=True):
                own = nodes_at(batch, nodes, rows, type_, objects[rows, place], self.scores.nodes)
                found = found.index_add(0, rows, self.arguments[place](own))
        return found

    def scaled(self, nodes: Tensor, context: Tensor) -> Tensor:
        """The vectors of objects in states whose history is known."""
        scaled: Tensor = nodes + nodes * self.bearing(context)[:, None, :]
        return scaled

    def reset(self) -> None:
        """Forget all episodes."""
        super().reset()
        self._steps: dict[int, list[Tensor]] = {}
        self._taken: dict[int, Step] = {}

    def act(self, state: State, goal: str) -> Step | None:
        """An action in the one episode since the reset."""
        return self.act_some({0: state}, {0: goal})[0]

    @torch.inference_mode()
    def act_some(self, states: Mapping[int, State], goals: Mapping[int, str]) -> dict[int, Step | None]:
        """An action for each episode; None where there is no action at all."""
        episodes = list(states)
        batch, trees, goal = self.seen([*states.values()], [goals[i] for i in episodes])
        nodes, whole = self.encoder(batch, trees, goal)
        before, objects = self._before(batch, episodes)
        wins = torch.ones_like(before)
        found = self.steps(batch, nodes, whole, wins, before, objects)
        for episode, step in zip(episodes, found, strict=True):
            self._steps[episode] = [*self._steps.get(episode, ()), step][-HORIZON:]
        lengths = [len(self._steps[i]) for i in episodes]
        run = torch.repeat_interleave(torch.arange(len(episodes)), torch.tensor(lengths)).to(self.device)
        at = torch.cat([torch.arange(n) for n in lengths]).to(self.device)
        together = torch.cat([torch.stack(self._steps[i]) for i in episodes])
        last = torch.tensor(np.cumsum(lengths) - 1, device=self.device)
        context = self.history(together, run, at)[last]
        nodes = self.scaled(nodes, context)
        steps = self.decided(batch, self.scores(batch, nodes, context), self.scores)
        chosen = self.values.completed(batch, nodes, context, steps)
        self._taken.update({i: step for i, step in zip(episodes, chosen, strict=True) if step is not None})
        return dict(zip(episodes, chosen, strict=True))

    def _before(self, batch: StateBatch, episodes: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The actions before, by number, and the places of their objects."""
        none = ("",)
        taken = [self._taken.get(i, none) for i in episodes]
        number = {name: i for i, name in enumerate(self.scores.names)}
        objects = torch.zeros((len(episodes), len(self.arguments)), dtype=torch.int64)
        for row, (name, *names) in enumerate(taken):
            if name in number:
                types, places = self.scores.types[number[name]], self.scores.places[number[name]]
                for type_, place in zip(types, places, strict=True):
                    objects[row, place] = batch.universe(row).members(type_).index(names[place])
        before = torch.tensor([number.get(step[0], len(number)) for step in taken])
        return before.to(self.device), objects.to(self.device)

    def examples(self, demonstrations: Demonstrations) -> Array:
        """The steps that led to the goal, or all that were taken."""
        return np.flatnonzero(demonstrations.taken) if self.FAILURES else super().examples(demonstrations)

    def shuffled(self, examples: Array, demonstrations: Demonstrations, draw: np.random.Generator) -> Array:
        """The runs in another order, each as a whole."""
        run = demonstrations.run[examples]
        return examples[
            np.lexsort((demonstrations.step[examples], draw.permutation(int(run.max()) + 1)[run]))
        ]

    def likelihood(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """The same where the goal is reached."""
        return super().likelihood(demonstrations, examples)[self._wins(demonstrations, examples)]

    def score(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        """The same where the goal is reached."""
        return super().score(demonstrations, examples)[self._wins(demonstrations, examples)]

    def _wins(self, demonstrations: Demonstrations, examples: Tensor) -> Tensor:
        return torch.from_numpy(demonstrations.to_go[examples.cpu().numpy()] > 0).to(examples.device)

    def _scored(self, demonstrations: Demonstrations, examples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, the places of the actions that were taken, and how far their values are off."""
        batch, trees, goal = demonstrations.states(examples)
        nodes, whole = self.encoder(batch, trees, goal)
        place = examples.cpu().numpy()
        run, at = demonstrations.run[place], demonstrations.step[place]
        wins = self._wins(demonstrations, examples).long()
        earlier = examples - torch.from_numpy((at > 0).astype(np.int64)).to(examples.device)
        actions, objects = demonstrations.actions(earlier)
        first = torch.from_numpy((at == 0) | (demonstrations.action[earlier.cpu().numpy()] < 0))
        before = actions.masked_fill(first.to(actions.device), len(self.scores.names))
        device = nodes.device
        found = self.steps(batch, nodes, whole, wins.to(device), before, objects)
        context = self.history(found, torch.from_numpy(run).to(device), torch.from_numpy(at).to(device))
        taken, arguments = demonstrations.actions(examples)
        nodes = self.scaled(nodes, context)
        done = taken, arguments, demonstrations.numbers(examples)
        errors = self.values.errors(batch, nodes, context, done)
        return self.scores(batch, nodes, context), self.scores.targets(batch, taken, arguments), errors


@final
class SuccessTransformer(DecisionTransformer):
    """Trained on the steps that led to goals."""

    KIND = "dt-s"
    FAILURES = False


@final
class MixedTransformer(DecisionTransformer):
    """Trained on all steps, those of failures included."""

    KIND = "dt-s+f"
    FAILURES = True
