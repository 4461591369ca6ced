"""Syntax → domain, one pass a module."""
