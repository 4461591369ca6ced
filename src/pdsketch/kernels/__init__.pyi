"""The door of `kernels`: what other rooms may use, and where it stands."""

from pdsketch.kernels.arrays import (
    Bools as Bools,
    Floats as Floats,
    Indices as Indices,
    Ints as Ints,
    Longs as Longs,
)
from pdsketch.kernels.bits import (
    ONE as ONE,
    Words as Words,
    all_hold as all_hold,
    holds as holds,
    lowest as lowest,
    n_words as n_words,
    pack as pack,
    set_false as set_false,
    set_true as set_true,
)
from pdsketch.kernels.compiled import fixed as fixed, kernel as kernel
from pdsketch.kernels.csr import (
    CSR as CSR,
    csr_of as csr_of,
    distinct as distinct,
    emptied as emptied,
    filtered as filtered,
    gather as gather,
    group as group,
    invert as invert,
    owners_of as owners_of,
    repeated as repeated,
    stack as stack,
    starts_of as starts_of,
)
from pdsketch.kernels.growing import enlarged as enlarged, more_rows as more_rows, row_size as row_size
