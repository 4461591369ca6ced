"""The door of `abstract`: what other rooms may use, and where it stands."""

from pdsketch.abstract.abstraction import (
    Abstraction as Abstraction,
    Compile as Compile,
    FactReader as FactReader,
    NoAbstractionError as NoAbstractionError,
    Values as Values,
    object_places as object_places,
    step_named as step_named,
)
from pdsketch.abstract.andor.compile import (
    Compilations as Compilations,
    abstraction_of as abstraction_of,
    compile_and_or as compile_and_or,
)
from pdsketch.abstract.andor.quantise import Quantisation as Quantisation, quantise as quantise
from pdsketch.abstract.andor.readout import (
    ModelRules as ModelRules,
    keep_counts as keep_counts,
    rules as rules,
)
from pdsketch.abstract.andor.translate import is_guessed as is_guessed
from pdsketch.abstract.optimistic.compile import compile_optimistic as compile_optimistic
from pdsketch.abstract.pddl.folder import (
    check_folder as check_folder,
    export as export,
    is_file as is_file,
    read_abstract_plan as read_abstract_plan,
)
