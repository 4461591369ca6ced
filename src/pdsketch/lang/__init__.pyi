"""The door of `lang`: what other rooms may use, and where it stands."""

from pdsketch.lang.analysis import (
    action_reads as action_reads,
    closure as closure,
    components as components,
    effect_expressions as effect_expressions,
    names_in as names_in,
)
from pdsketch.lang.check.domain import SUPPORTED as SUPPORTED, check_domain as check_domain
from pdsketch.lang.check.expressions import EFFECT_WORDS as EFFECT_WORDS, RULES as RULES
from pdsketch.lang.check.problem import check_problem as check_problem
from pdsketch.lang.check.tables import UNKNOWN as UNKNOWN, Tables as Tables
from pdsketch.lang.check.typenames import PRIMITIVES as PRIMITIVES, RESERVED as RESERVED
from pdsketch.lang.data import (
    choices_of as choices_of,
    flat as flat,
    html_table as html_table,
    near as near,
    no_such_component as no_such_component,
    plain as plain,
    short as short,
    show_atom as show_atom,
    shown as shown,
)
from pdsketch.lang.diagnostics import (
    UNPLACED as UNPLACED,
    Diagnostic as Diagnostic,
    Error as Error,
    Note as Note,
    as_json as as_json,
    did_you_mean as did_you_mean,
    error as error,
    in_order as in_order,
    render as render,
)
from pdsketch.lang.domain import (
    LARGEST_COST as LARGEST_COST,
    Action as Action,
    Blank as Blank,
    BlankInput as BlankInput,
    Data as Data,
    Domain as Domain,
    Fact as Fact,
    Predicate as Predicate,
    Problem as Problem,
    Role as Role,
)
from pdsketch.lang.lists import (
    is_name as is_name,
    is_object_name as is_object_name,
    parse_typed as parse_typed,
)
from pdsketch.lang.load import (
    BOM as BOM,
    check_files as check_files,
    decode_source as decode_source,
    load_domain as load_domain,
    load_file as load_file,
    load_problem as load_problem,
    parse_domain as parse_domain,
    parse_goal as parse_goal,
    parse_problem as parse_problem,
    read_source as read_source,
)
from pdsketch.lang.parser import (
    Definition as Definition,
    parse_definition as parse_definition,
    parse_domain_syntax as parse_domain_syntax,
    parse_problem_syntax as parse_problem_syntax,
)
from pdsketch.lang.printer import format_source as format_source
from pdsketch.lang.reader import (
    MAX_DEPTH as MAX_DEPTH,
    MAX_TOKEN as MAX_TOKEN,
    PARTS as PARTS,
    SECTION_WORDS as SECTION_WORDS,
    SECTIONS as SECTIONS,
    TOKEN as TOKEN,
    Group as Group,
    Node as Node,
    Token as Token,
    is_word_of_its_own as is_word_of_its_own,
    lowered as lowered,
    read as read,
)
from pdsketch.lang.records import dataclass as dataclass
from pdsketch.lang.report import (
    CheckReport as CheckReport,
    Key as Key,
    Occurrences as Occurrences,
    Placed as Placed,
    count as count,
)
from pdsketch.lang.rewrite import (
    Form as Form,
    conjuncts as conjuncts,
    lift_objects as lift_objects,
    map_children as map_children,
    rename_bound as rename_bound,
    substitute as substitute,
    unfold as unfold,
    unfold_all as unfold_all,
)
from pdsketch.lang.semantics import (
    StaticContext as StaticContext,
    TNorm as TNorm,
    applicable as applicable,
    applicable_steps as applicable_steps,
    apply as apply,
    encode as encode,
    evaluate as evaluate,
    holds as holds,
)
from pdsketch.lang.sketching import sketch_of as sketch_of
from pdsketch.lang.source import Source as Source, Span as Span, located as located, quote as quote
from pdsketch.lang.steps import (
    Step as Step,
    action_of as action_of,
    argument_words as argument_words,
    check_number as check_number,
    check_value as check_value,
    is_step as is_step,
    object_of as object_of,
    out_of_range as out_of_range,
    read_plan as read_plan,
    resolve as resolve,
    span_of_step as span_of_step,
    wanted_shape as wanted_shape,
    write_plan as write_plan,
)
from pdsketch.lang.syntax import (
    DomainSyntax as DomainSyntax,
    PredicateSyntax as PredicateSyntax,
    ProblemSyntax as ProblemSyntax,
    Typed as Typed,
    TypeName as TypeName,
    TypeSyntax as TypeSyntax,
)
from pdsketch.lang.terms import (
    FALSE as FALSE,
    TRUE as TRUE,
    Apply as Apply,
    Arithmetic as Arithmetic,
    BlankCall as BlankCall,
    Compare as Compare,
    Component as Component,
    Each as Each,
    Equal as Equal,
    Expr as Expr,
    Logic as Logic,
    Object as Object,
    Quantified as Quantified,
    Update as Update,
    UpdateOp as UpdateOp,
    Value as Value,
    Variable as Variable,
    children as children,
    free_variables as free_variables,
    walk as walk,
)
from pdsketch.lang.traces import Trace as Trace, read_trace as read_trace
from pdsketch.lang.types import (
    BOOL as BOOL,
    DEFAULT_TOLERANCE as DEFAULT_TOLERANCE,
    FLOAT as FLOAT,
    INT as INT,
    OBJECT as OBJECT,
    Hierarchy as Hierarchy,
    ObjectType as ObjectType,
    Type as Type,
    ValueType as ValueType,
)
from pdsketch.lang.unparse import (
    GoalPart as GoalPart,
    Names as Names,
    domain_text as domain_text,
    formula_text as formula_text,
    legal as legal,
    parts_of as parts_of,
    problem_text as problem_text,
)
from pdsketch.lang.validator import Verdict as Verdict, validate as validate
