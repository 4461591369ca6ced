"""Search over grounded tasks, in compiled kernels."""
