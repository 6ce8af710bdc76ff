# SPDX-License-Identifier: Apache-2.0
"""Small cards for notebooks: a title, a table and a chart as inline SVG. They need nothing but a browser."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

USED, HELD, FREE = "#4477aa", "#ddaa33", "#dddddd"
_WIDTH = 320


def card(title: str, rows: Iterable[tuple[str, str]], chart: str = "", notes: Iterable[str] = ()) -> str:
    """A card. All text is escaped, but for chart, which the functions below have made."""
    table = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td "
                    f"style='text-align:left'>{escape(value)}</td></tr>" for name, value in rows)
    below = "".join(f"<div>⚠ {escape(note)}</div>" for note in notes)
    return f"<div style='max-width:48em'><b>{escape(title)}</b><table>{table}</table>{chart}{below}</div>"


def bars(rows: Sequence[tuple[str, Sequence[tuple[float, str]], str]]) -> str:
    """Horizontal bars: a label, parts of the whole width as (share, colour), and what is written behind."""
    height, out = 18, []
    for i, (label, parts, text) in enumerate(rows):
        y, x = i * height, 0.0
        out.append(f"<text x='0' y='{y + 13}' font-size='12'>{escape(_cut(label))}</text>")
        for share, colour in parts:
            width = _WIDTH * min(1.0, max(0.0, share)) if math.isfinite(share) else _WIDTH
            width = min(width, _WIDTH - x)
            out.append(f"<rect x='{180 + x:.1f}' y='{y + 3}' width='{width:.1f}' height='12' fill='{colour}'/>")
            x += width
        out.append(f"<text x='{186 + _WIDTH}' y='{y + 13}' font-size='12'>{escape(text)}</text>")
    return _svg(_WIDTH + 340, height * len(rows), out)


def line(x: Sequence[float], y: Sequence[float], x_name: str, y_name: str) -> str:
    """y, on a logarithmic scale, against x."""
    points = [(a, math.log10(b)) for a, b in zip(x, y) if math.isfinite(a) and 0 < b < math.inf]
    if len(points) < 2:
        return ""
    left, right = min(a for a, _ in points), max(a for a, _ in points)
    low, high = min(b for _, b in points), max(b for _, b in points)
    height = 120
    across, up = _WIDTH / (right - left or 1), height / (high - low or 1)
    path = " ".join(f"{60 + across * (a - left):.1f},{10 + up * (high - b):.1f}" for a, b in points)
    return _svg(_WIDTH + 80, height + 45, [
        f"<rect x='60' y='10' width='{_WIDTH}' height='{height}' fill='none' stroke='{FREE}'/>",
        f"<polyline points='{path}' fill='none' stroke='{USED}' stroke-width='2'/>",
        f"<text x='0' y='20' font-size='12'>1e{high:.0f}</text><text x='0' y='{height + 10}' "
        f"font-size='12'>1e{low:.0f}</text>",
        f"<text x='60' y='{height + 26}' font-size='12'>{left:g}</text>",
        f"<text x='{60 + _WIDTH}' y='{height + 26}' font-size='12' text-anchor='end'>{right:g}</text>",
        f"<text x='{60 + _WIDTH / 2}' y='{height + 40}' font-size='12' text-anchor='middle'>{escape(y_name)} against "
        f"{escape(x_name)}</text>",
    ])


def _cut(text: str, most: int = 28) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _svg(width: int, height: int, parts: Iterable[str]) -> str:
    return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' fill='currentColor'>"
            f"{''.join(parts)}</svg>")
