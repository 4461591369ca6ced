"""Syntax → checked domain and problem: one pass a module.

``names`` declares, ``definitions`` checks bodies and actions (``expressions``,
``applications``, ``numeric``, ``blanks`` and ``effects`` are its rules, ``knowledge`` what it
infers), ``reads`` gives roles, ``strata`` orders, ``signatures`` collects
blanks; ``domain`` and ``problem`` run them.
"""
