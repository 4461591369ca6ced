"""A graph as an SVG picture, without any drawing program."""

from __future__ import annotations

from typing import Final

from pdsketch.draw.graph import LEGEND, Graph, GraphNode, Kind
from pdsketch.draw.layout import CHARACTER, LINE, Box, Route, lay_out

_MARGIN: Final = 20.0
_TITLE: Final = 34.0
_FONT: Final = "'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace"

# Fill, border, corner radius; predicates are rounded boxes, operators pills, actions have square corners.
LOOKS: Final[dict[Kind, tuple[str, str, float]]] = {
    "observed": ("#e3effb", "#3b78b5", 8),
    "raw": ("#f0f0f0", "#8a8a8a", 8),
    "external": ("#ffffff", "#3b78b5", 8),
    "encoded": ("#dff3e4", "#2f8a4c", 8),
    "derived": ("#ffffff", "#2f8a4c", 8),
    "cost": ("#f0f0f0", "#8a8a8a", 8),
    "blank": ("#ffd58a", "#c26a00", 8),
    "operator": ("#fafafa", "#777777", 14),
    "set": ("#f3e8fb", "#7d4ba8", 14),
    "value": ("#ffffff", "#bbbbbb", 14),
    "action": ("#fbe3e0", "#b5443b", 0),
    "next": ("#e3effb", "#1d4d7d", 8),
}


def to_svg(graph: Graph) -> str:
    """The picture as the text of an SVG file."""
    layout = lay_out(graph)
    kinds = [kind for kind in LEGEND if any(node.kind == kind for node in graph.nodes)]
    width = max(layout.width, _legend_width(kinds), len(graph.title) * 9.0) + 2 * _MARGIN
    height = layout.height + _TITLE + 2 * LINE + 2 * _MARGIN + 10
    title = _escape(graph.title)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" font-family="{_FONT}" font-size="12">',
        f"<title>{title}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555555"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_MARGIN + 10}" font-size="14" font-weight="bold">{title}</text>',
        f'<g transform="translate({_MARGIN} {_MARGIN + _TITLE})">',
        *(_arrow(route) for route in layout.routes),
        *(_node(node, box) for node, box in zip(graph.nodes, layout.boxes, strict=True)),
        *(_arrow_label(route) for route in layout.routes if route.arrow.label),
        "</g>",
        _legend(kinds, height - _MARGIN - 6),
        "</svg>\n",
    ]
    return "\n".join(part for part in parts if part)


def _node(node: GraphNode, box: Box) -> str:
    fill, border, radius = LOOKS[node.kind]
    dashed = ' stroke-dasharray="5 3"' if node.kind in ("external", "value") else ""
    stroke = 2.2 if node.kind in ("blank", "next") else 1.3
    middle = box.x + box.width / 2
    weight = ' font-weight="bold"' if node.kind in ("blank", "action") else ""
    base = box.middle + (4.3 if not node.detail else -2.5)
    lines = [
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
        f' rx="{radius}" fill="{fill}" stroke="{border}" stroke-width="{stroke}"{dashed}/>',
        f'<text x="{middle:.1f}" y="{base:.1f}" text-anchor="middle"{weight}>{_escape(node.label)}</text>',
    ]
    if node.detail:
        lines.append(
            f'<text x="{middle:.1f}" y="{base + LINE - 1:.1f}" text-anchor="middle" font-size="10.3"'
            f' fill="#555555">{_escape(node.detail)}</text>'
        )
    return "\n".join(lines)


def _arrow(route: Route) -> str:
    """A smooth line that leaves and enters level."""
    (x, y), *rest = route.points
    path = [f"M{x:.1f} {y:.1f}"]
    for next_x, next_y in rest:
        if abs(next_y - y) < 0.5:
            path.append(f"L{next_x:.1f} {next_y:.1f}")
        else:
            bend = (x + next_x) / 2
            path.append(f"C{bend:.1f} {y:.1f} {bend:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}")
        x, y = next_x, next_y
    dashed = ' stroke-dasharray="5 3"' if route.arrow.label.startswith(("when", "needs")) else ""
    return f'<path d="{" ".join(path)}" fill="none" stroke="#555555"{dashed} marker-end="url(#tip)"/>'


def _arrow_label(route: Route) -> str:
    """The label stands on the middle of the last bend, on a white ground."""
    (x, y), (next_x, next_y) = route.points[-3:-1]
    wide = len(route.arrow.label) * 6.2 + 4
    left, middle = (x + next_x - wide) / 2, (y + next_y) / 2
    return (
        f'<rect x="{left:.1f}" y="{middle - 7:.1f}" width="{wide:.1f}" height="14" fill="#ffffff"'
        ' fill-opacity="0.9"/>'
        f'<text x="{left + 2:.1f}" y="{middle + 3.5:.1f}" font-size="10.3" fill="#8a3a00">'
        f"{_escape(route.arrow.label)}</text>"
    )


def _legend(kinds: list[Kind], y: float) -> str:
    parts = []
    x = _MARGIN
    for kind in kinds:
        fill, border, radius = LOOKS[kind]
        dashed = ' stroke-dasharray="5 3"' if kind == "external" else ""
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 10:.1f}" width="18" height="12" rx="{min(radius, 4)}" fill="{fill}"'
            f' stroke="{border}"{dashed}/>'
            f'<text x="{x + 24:.1f}" y="{y:.1f}" font-size="10.3">{LEGEND[kind]}</text>'
        )
        x += _legend_width([kind])
    return "\n".join(parts)


def _legend_width(kinds: list[Kind]) -> float:
    return sum(24 + len(LEGEND[kind]) * CHARACTER * 0.88 + 18 for kind in kinds)


def _escape(text: str) -> str:
    """Text inside XML, which has no place for control characters."""
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# A graph in the language of Graphviz, for those who want to lay it out themselves.


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
