"""What is to be said of a table beside its numbers: where the paper differs, or contradicts itself."""

from __future__ import annotations

from typing import Final

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
from 100). Simple functions take the places of networks here
([how networks are chosen](when-it-does-not-learn.md#how-networks-are-chosen)), which helps most where data
are few. **PDS-Base** from 1,000 is above the paper's 0.11, too.""",
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
chance, and a model fitted to them plans well enough to reach more ([on-policy learning](on-policy.md)). Why
the paper's PDS-Abs stays where it is cannot be seen from the paper. **PDS-Base** has fewer episodes and
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
