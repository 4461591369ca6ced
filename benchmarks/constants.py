"""How many numbers modules are set to: constants at the top of a module, room by room.

    python benchmarks/constants.py                   # all rooms
    python benchmarks/constants.py training nets     # these, and each constant by name

A constant is a name that a module assigns a value with numbers in it: `WIDTH = 64`, or a tuple or table of
them. *Numbers* counts each one: a schedule of three points is one constant and six numbers. Counted are the
texts (`ast`), so that nothing is imported; what a function holds is not counted.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "pdsketch"


def constants(text: str) -> Iterator[tuple[str, int]]:
    """The constants of a module with numbers in them, and how many each holds."""
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        numbers = sum(map(_is_number, ast.walk(value)))
        if numbers and not any(isinstance(part, ast.Lambda) for part in ast.walk(value)):
            yield name, numbers


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def main(rooms: list[str]) -> None:
    """Print a line a room, and for rooms that are named each constant."""
    print(f"{'room':14}{'constants':>10}{'numbers':>9}")
    for room in rooms or sorted(path.parent.name for path in SOURCES.glob("*/__init__.py")):
        found = [
            (path.relative_to(SOURCES), name, numbers)
            for path in sorted((SOURCES / room).rglob("*.py"))
            for name, numbers in constants(path.read_text(encoding="utf-8"))
        ]
        print(f"{room:14}{len(found):10}{sum(numbers for *_, numbers in found):9}")
        for path, name, numbers in found if rooms else ():
            print(f"    {path}: {name}{f' ({numbers})' if numbers > 1 else ''}")


if __name__ == "__main__":
    main(sys.argv[1:])
