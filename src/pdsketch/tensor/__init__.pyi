"""The door of `tensor`: what other rooms may use, and where it stands."""

from pdsketch.tensor.compile.blanks import (
    FORM as FORM,
    MLP as MLP,
    Callee as Callee,
    Functions as Functions,
    Given as Given,
    argument_names as argument_names,
    formed as formed,
    out_of_memory as out_of_memory,
)
from pdsketch.tensor.compile.effects import Assigned as Assigned
from pdsketch.tensor.compile.logic import CRISP as CRISP, FuzzyLogic as FuzzyLogic, logic_of as logic_of
from pdsketch.tensor.compile.node import (
    Axes as Axes,
    Node as Node,
    Run as Run,
    aligned as aligned,
    pardoning as pardoning,
    union as union,
)
from pdsketch.tensor.detached import HELD as HELD, Detached as Detached
from pdsketch.tensor.experience import (
    MOST_NUMBERS as MOST_NUMBERS,
    SHOWN as SHOWN,
    Doubt as Doubt,
    ExperienceRecorder as ExperienceRecorder,
    Watch as Watch,
    doubt_of as doubt_of,
    largest_set as largest_set,
    note_labels as note_labels,
    strange_labels as strange_labels,
)
from pdsketch.tensor.model import (
    SURE as SURE,
    Explanation as Explanation,
    Model as Model,
    explain as explain,
)
from pdsketch.tensor.notes import (
    EXAMPLES as EXAMPLES,
    TRAINED as TRAINED,
    VERDICTS as VERDICTS,
)
from pdsketch.tensor.states.codes import (
    CODEBOOKS as CODEBOOKS,
    CORRECTIONS as CORRECTIONS,
    COUNTS as COUNTS,
    DEFAULT_STEP as DEFAULT_STEP,
    ENTRIES as ENTRIES,
    SPREAD as SPREAD,
    WEIGHTS as WEIGHTS,
    Codes as Codes,
    Quantiser as Quantiser,
    codes_of as codes_of,
    note_codes as note_codes,
    note_rows as note_rows,
    note_samples as note_samples,
    rows_of as rows_of,
    samples_of as samples_of,
    spread_of as spread_of,
    tolerance_of as tolerance_of,
)
from pdsketch.tensor.states.state import (
    State as State,
    StateBatch as StateBatch,
    concat as concat,
    difference as difference,
    facts_of as facts_of,
    same_domain as same_domain,
    write_problem as write_problem,
)
from pdsketch.tensor.states.universe import (
    Universe as Universe,
    layout_of as layout_of,
    object_type as object_type,
)
from pdsketch.tensor.states.values import (
    every_choice as every_choice,
    fully_soft as fully_soft,
    harden as harden,
    is_categorical as is_categorical,
    is_sound as is_sound,
    numbers as numbers,
    presented as presented,
    unify as unify,
)
from pdsketch.tensor.store import (
    SKETCH as SKETCH,
    WEIGHTS_FILE as WEIGHTS_FILE,
    Folder as Folder,
    load_model as load_model,
)
