"""The door of `kernels`: what other rooms may use, and where it stands."""

from pdsketch.kernels.arrays import Bools as Bools, Floats as Floats, Ints as Ints, Longs as Longs
from pdsketch.kernels.csr import (
    CSR as CSR,
    csr_of as csr_of,
    distinct as distinct,
    gather as gather,
    group as group,
    owners_of as owners_of,
    repeated as repeated,
    starts_of as starts_of,
)
