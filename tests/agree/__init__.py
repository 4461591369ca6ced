"""Random cases by the hundred thousand: every engine against the reference semantics.

``python -m tests.agree --cases 100000 --seed 0`` draws a random domain and problem for each
case, asks several engines the same question, and compares. A case that differs is made
small, written as files that `pdsketch` reads, and shown again by ``--show FOLDER``.

- `plain` reads and runs a domain from its text, sharing no code with the package;
- `graph` explores a problem through the reference semantics;
- `checks` has one function for each kind of question; `kinds` lists them;
- `shrink` makes a failing case small, `files` writes it and reads it back;
- `workers` runs many cases in parallel, and survives those that crash or hang;
- `faults` are errors planted on purpose: what the checks must notice.
"""
