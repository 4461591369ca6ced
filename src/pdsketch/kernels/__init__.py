"""Flat arrays: their types, and CSR rows."""
