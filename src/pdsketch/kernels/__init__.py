"""Compiled kernels and the flat arrays they work on: CSR rows, bit sets, arrays that grow."""
