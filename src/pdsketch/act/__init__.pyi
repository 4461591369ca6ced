"""The door of `act`: what other rooms may use, and where it stands."""

from pdsketch.act.environment import (
    has_ended as has_ended,
    is_gymnasium as is_gymnasium,
    told_success as told_success,
)
from pdsketch.act.onpolicy.learning import Learned as Learned, learn as learn
from pdsketch.act.onpolicy.options import LearnOptions as LearnOptions
from pdsketch.act.policy import Policy as Policy
from pdsketch.act.recording import record as record
from pdsketch.act.rollouts import (
    Interrupted as Interrupted,
    Rollouts as Rollouts,
    Worlds as Worlds,
    rollout as rollout,
    rooms as rooms,
)
from pdsketch.act.settings import deviations as deviations, is_count as is_count
from pdsketch.act.world import (
    Agent as Agent,
    World as World,
    act_many as act_many,
    check_name as check_name,
    make_world as make_world,
    options_of as options_of,
    register_world as register_world,
    world_names as world_names,
    worlds as worlds,
)
