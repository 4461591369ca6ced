"""A graph in the language of Graphviz, for those who want to lay it out themselves."""

from __future__ import annotations

from pdsketch.draw.graph import Graph
from pdsketch.draw.svg import LOOKS


def to_dot(graph: Graph) -> str:
    """The text of a ``.dot`` file."""
    lines = [
        f"digraph {_quote(graph.title)} {{",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        '  edge [fontname="monospace", fontsize=9];',
    ]
    for number, node in enumerate(graph.nodes):
        fill, border, radius = LOOKS[node.kind]
        style = ', style="filled"' if not radius else ""
        label = node.label + (f"\n{node.detail}" if node.detail else "")
        lines.append(f'  n{number} [label={_quote(label)}, fillcolor="{fill}", color="{border}"{style}];')
    for arrow in graph.arrows:
        label = f" [label={_quote(arrow.label)}]" if arrow.label else ""
        lines.append(f"  n{arrow.source} -> n{arrow.target}{label};")
    return "\n".join([*lines, "}", ""])


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
