"""The types of flat arrays that kernels read and write."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.uint32]
"""Without a sign, so that a kernel need not ask whether an index counts from the end."""
