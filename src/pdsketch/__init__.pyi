"""The public door: every public name, and the room that it comes from."""

from pdsketch import nets as nets
from pdsketch.abstract import (
    ModelRules as ModelRules,
    Quantisation as Quantisation,
    export as export,
    quantise as quantise,
    read_abstract_plan as read_abstract_plan,
    rules as rules,
)
from pdsketch.act import (
    Agent as Agent,
    Interrupted as Interrupted,
    Learned as Learned,
    LearnOptions as LearnOptions,
    Policy as Policy,
    Rollouts as Rollouts,
    World as World,
    act_many as act_many,
    learn as learn,
    make_world as make_world,
    record as record,
    register_world as register_world,
    rollout as rollout,
    worlds as worlds,
)
from pdsketch.editor import TextAnalysis as TextAnalysis, analyse as analyse
from pdsketch.interchange import (
    GymWorld as GymWorld,
    from_unified_planning as from_unified_planning,
    read_minari as read_minari,
    read_traces as read_traces,
    to_unified_planning as to_unified_planning,
    write_minari as write_minari,
)
from pdsketch.lang import (
    Diagnostic as Diagnostic,
    Domain as Domain,
    Error as Error,
    Problem as Problem,
    Verdict as Verdict,
    load_domain as load_domain,
    load_problem as load_problem,
    parse_domain as parse_domain,
    parse_goal as parse_goal,
    parse_problem as parse_problem,
    sketch_of as sketch_of,
)
from pdsketch.search import Result as Result, plan as plan, plan_many as plan_many, validate as validate
from pdsketch.tensor import (
    Explanation as Explanation,
    Model as Model,
    State as State,
    StateBatch as StateBatch,
    explain as explain,
    load_model as load_model,
    write_problem as write_problem,
)
from pdsketch.training import (
    BlankReport as BlankReport,
    Episode as Episode,
    Evaluation as Evaluation,
    Options as Options,
    Progress as Progress,
    Report as Report,
    evaluate as evaluate,
    fit as fit,
)

__version__: str
