"""The door of `nets`: what other rooms may use, and where it stands."""

from pdsketch.nets.clauses import (
    ClauseForm as ClauseForm,
    open_answers as open_answers,
    tempered as tempered,
)
from pdsketch.nets.default import (
    BooleanNet as BooleanNet,
    Constant as Constant,
    Network as Network,
    expect as expect,
    is_free as is_free,
    least_weights as least_weights,
    make as make,
    outline as outline,
)
from pdsketch.nets.features import Argument as Argument
from pdsketch.nets.form_data import form_of as form_of
from pdsketch.nets.forms import (
    NEAR as NEAR,
    Base as Base,
    BlankForm as BlankForm,
    ComponentForm as ComponentForm,
    Condition as Condition,
    CountForm as CountForm,
    LinearForm as LinearForm,
    Node as Node,
    Reads as Reads,
    TableForm as TableForm,
    TreeForm as TreeForm,
    always as always,
    component as component,
    design as design,
    element as element,
    elements as elements,
    held_elements as held_elements,
    plain as plain,
)
from pdsketch.nets.normalise import recording as recording
from pdsketch.nets.offset import Offset as Offset
from pdsketch.nets.readings import (
    InputReading as InputReading,
    can_read as can_read,
    readings_of as readings_of,
)
from pdsketch.nets.signature import Input as Input, Prim as Prim, Signature as Signature, Spec as Spec
